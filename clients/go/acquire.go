package weir

import (
	"context"
	"time"
)

// usualWait is the MaxWait of an Acquire and of a Slot that say none.
const usualWait = time.Minute

// Acquire returns when the moment has come, within MaxWait: 60 s unless given, cut to what the limit and the server
// allow. Denied is an error, *Denied. If ctx ends, it leaves the line.
func (c *Client) Acquire(ctx context.Context, q Question, w Waiting) (*Reservation, error) {
	if err := q.checkWaiting(w); err != nil {
		return nil, err
	}
	began := time.Now()
	var r *Reservation
	ask := func(most time.Duration) (err error) {
		w.MaxWait = most
		r, err = c.acquire(ctx, &q, w)
		return err
	}
	var err error
	if w.MaxWait == 0 {
		err = c.withinMaxWait(&q, usualWait, ask)
	} else {
		err = ask(max(0, w.MaxWait))
	}
	c.toldReservation(ctx, "acquire", &q, r, began, err)
	return r.orDenied(err)
}

// acquire stands in line on the connection that all share, by a tag. It is not bounded as calls that are unanswered are:
// what is QUEUED has an answer, and one more that waits is never let through for want of room.
func (c *Client) acquire(ctx context.Context, q *Question, w Waiting) (*Reservation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		return c.granted(nil, q, c.without(err))
	}
	tag := c.tags.Add(1)
	due := clock() + c.set.timeout
	for {
		made, err := c.connection(ctx, due, min(w.MaxWait, c.set.connectTimeout))
		if err != nil {
			return c.granted(nil, q, c.without(err))
		}
		if !made.greeting.tags {
			return c.acquireAlone(ctx, q, w)
		}
		p := reservePending("WEIR.ACQUIRE", q, w, tag)
		p.asked = clock()
		p.deadline = p.asked + c.set.timeout
		p.patience = w.MaxWait + c.set.timeout
		c.waits.Add(1)
		p.counted = &c.waits
		if !made.send(p) {
			c.waits.Add(-1)
			c.dropped(made)
			continue
		}
		if err := made.await(ctx, p); err != nil {
			made.leave(tag)
			return nil, err
		}
		switch p.state.Load() {
		case unsent:
			c.waits.Add(-1)
			continue
		case failed: // where the connection has not, its time is over
			made.leave(tag)
		}
		r, err := c.granted(p, q, c.ended(made, p))
		p.recycle()
		return r, err
	}
}

// line has p, which is QUEUED, wait for its push, unless its caller has gone. Called with mu held.
func (c *conn) line(p *pending) bool {
	if p.state.Load() != waiting {
		return false
	}
	if c.lined == nil {
		c.lined, c.due = map[int64]*pending{}, never
	}
	c.lined[p.tag] = p
	p.deadline = clock() + p.patience
	c.due = min(c.due, p.deadline)
	c.wakeBy(p.deadline)
	return true
}

// unline takes the one of this tag, or nil. Called with mu held.
func (c *conn) unline(tag int64) *pending {
	p := c.lined[tag]
	if delete(c.lined, tag); len(c.lined) == 0 {
		c.lined = nil // a map keeps the memory of the most that it had
	}
	return p
}

// endLine ends those whose time is over, and says when the next one's may be. Called with mu held.
func (c *conn) endLine(now time.Duration, end func(*pending)) time.Duration {
	if c.lined == nil {
		return never
	}
	if now < c.due {
		return c.due
	}
	c.due = never
	for tag, p := range c.lined {
		if p.deadline > now {
			c.due = min(c.due, p.deadline)
			continue
		}
		c.unline(tag)
		p.counted.Add(-1)
		end(p)
	}
	return c.due
}

// leave takes one out of line whose caller has gone. A grant that is on its way comes before the answer, and finds nobody.
func (c *conn) leave(tag int64) {
	c.mu.Lock()
	p := c.unline(tag)
	c.mu.Unlock()
	if p != nil {
		p.counted.Add(-1)
	}
	leaving := c.telling("WEIR.LEAVE")
	leaving.number(tag)
	c.tell(leaving)
}

// readPush reads what comes unasked: the answer of one that is QUEUED.
func (c *conn) readPush() error {
	var push reply
	if err := push.read(c.reader); err != nil {
		return err
	}
	a := push.array
	if len(a) != 3 || a[0].text != "weir.acquire" {
		return nil // something that this version does not know
	}
	tag, err := parseNumber([]byte(a[1].text))
	if err != nil {
		return err
	}
	c.mu.Lock()
	p := c.unline(tag)
	c.mu.Unlock()
	if p == nil {
		c.giveBack(&a[2])
		return nil
	}
	p.reply = a[2]
	c.answer(p)
	return nil
}

// giveBack settles at 0 the grant of one that has gone. It cost nothing: nobody has acted by it.
func (c *conn) giveBack(r *reply) {
	if _, _, id, err := grantOf(r, &Question{}, 1); err == nil && id != "" {
		settling := c.telling("WEIR.SETTLE")
		settling.word(id)
		settling.word("0")
		go c.tell(settling) // whoever reads does not write
	}
}

// telling begins what tell says. It counts from now on, so that Close does not come before it.
func (c *conn) telling(verb string) *pending {
	p := newPending(verb)
	c.waits.Add(1)
	p.counted = c.waits
	return p
}

// tell says what nobody waits to be answered.
func (c *conn) tell(p *pending) {
	p.asked = clock()
	p.deadline = p.asked + c.patience
	if !c.send(p) {
		c.waits.Add(-1)
		return
	}
	go func() {
		c.await(context.Background(), p)
		if p.state.Load() == unsent {
			c.waits.Add(-1)
		}
		p.recycle()
	}()
}

func (p *pending) isQueued() bool {
	return p.tag != 0 && p.reply.kind == '+' && p.reply.text == "QUEUED"
}
