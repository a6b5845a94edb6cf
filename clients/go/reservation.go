package weir

import (
	"context"
	"sync/atomic"
	"time"
)

// A Reservation is charged, and acts when its moment has come.
type Reservation struct {
	ID       string    // empty where there is nothing to cancel or to settle
	At       time.Time // the moment, by this machine's clock; zero where it was denied
	Decision Decision

	wait   time.Duration
	client *Client
	over   atomic.Bool // it was cancelled or settled
	lane   *conn       // of a Bound hold that was acquired by one
}

// Wait is how long it was, when it was answered, until the moment at which to act. It is false where the request was
// denied, as TryReserve's may be: there is no such moment.
func (r *Reservation) Wait() (time.Duration, bool) { return r.wait, r.Decision.Allowed }

// Cancel gives the moment back before it has come, and says how many units went back.
func (r *Reservation) Cancel(ctx context.Context) (int64, error) {
	units, err := r.client.Cancel(ctx, r.ID)
	if units > 0 {
		r.finish() // else its moment has come, and what it holds is still to be settled
	}
	return units, err
}

// Settle says what it has cost, or that it cost what was charged, and ends its hold: see Client.Settle.
func (r *Reservation) Settle(ctx context.Context, actual ...Actual) (time.Duration, error) {
	defer r.finish()
	return r.client.Settle(ctx, r.ID, actual...)
}

// Extend has its hold end that long from now: see Client.Extend.
func (r *Reservation) Extend(ctx context.Context, d time.Duration) (time.Duration, error) {
	return r.client.Extend(ctx, r.ID, d)
}

// Moment answers how long it is until its moment, by now: see Client.Moment.
func (r *Reservation) Moment(ctx context.Context) (time.Duration, bool, error) {
	return r.client.Moment(ctx, r.ID)
}

// finish notes that it is over. The connection that a Bound hold ended with is free for others.
func (r *Reservation) finish() {
	if !r.over.Swap(true) && r.lane != nil {
		r.client.lanes.giveBack(r.lane)
		r.client.lanes.leave()
	}
}

// end settles it at what was charged, unless that is done: what acted has cost.
func (r *Reservation) end(ctx context.Context) {
	if r.ID != "" && !r.over.Load() {
		r.Settle(ctx) // one that cannot be told ends with its hold
	}
}

// reservePending is a RESERVE or an ACQUIRE, which has a tag unless that is 0.
func reservePending(verb string, q *Question, w Waiting, tag int64) *pending {
	p := newPending(verb)
	if w.MaxWait > 0 || verb == "WEIR.ACQUIRE" {
		p.word("MAXWAIT")
		p.number(milliseconds(w.MaxWait))
	}
	if p.tag = tag; tag != 0 {
		p.word("TAG")
		p.number(tag)
	}
	q.waitingTo(&p.command, w)
	return p
}

// waitingTo adds the words of RESERVE and ACQUIRE.
func (q *Question) waitingTo(p *command, w Waiting) {
	q.costTo(p)
	if w.Hold > 0 {
		p.word("HOLD")
		p.number(milliseconds(w.Hold))
	}
	if w.Bound {
		p.word("BOUND")
	}
	q.optionsTo(p)
	q.subjectTo(p, "AS")
}

// Reserve asks for a moment within MaxWait, and returns at once: act when Wait is over. Without a MaxWait the moment is
// now. Denied is an error, *Denied.
func (c *Client) Reserve(ctx context.Context, q Question, w Waiting) (*Reservation, error) {
	r, err := c.TryReserve(ctx, q, w)
	return r.orDenied(err)
}

// TryReserve is Reserve where a denial is no error: look at Wait's second result before you act.
func (c *Client) TryReserve(ctx context.Context, q Question, w Waiting) (*Reservation, error) {
	if err := q.checkWaiting(w); err != nil {
		return nil, err
	}
	began := time.Now()
	p := reservePending("WEIR.RESERVE", &q, w, 0)
	err := c.call(ctx, p)
	r, err := c.granted(p, &q, err)
	p.recycle()
	c.toldReservation(ctx, "reserve", &q, r, began, err)
	return r, err
}

// orDenied makes a denial the error that it is.
func (r *Reservation) orDenied(err error) (*Reservation, error) {
	switch {
	case err != nil:
		return nil, err
	case !r.Decision.Allowed:
		return nil, &Denied{r.Decision}
	}
	return r, nil
}

func (q *Question) checkWaiting(w Waiting) error {
	switch {
	case q.AtLeast != 0:
		return refuse("AtLeast is for Check and Look; a reservation has its whole cost or none of it")
	case w.Hold < 0:
		return refuse("Hold: %s is below 0", w.Hold)
	}
	return q.check()
}

// granted is the reservation that p's reply tells, or the one of OnError.
func (c *Client) granted(p *pending, q *Question, err error) (*Reservation, error) {
	r := &Reservation{client: c}
	if err == nil {
		r.Decision, r.wait, r.ID, err = grantOf(&p.reply, q, max1(q.Cost))
	}
	if err != nil {
		r.Decision, err = c.decideWithout(err, q)
		if err != nil {
			return nil, err
		}
	}
	if r.Decision.Allowed {
		r.At = time.Now().Add(r.wait)
	}
	return r, nil
}

func (c *Client) toldReservation(ctx context.Context, verb string, q *Question, r *Reservation, began time.Time, err error) {
	if c.set.onCall == nil {
		return
	}
	var d Decision
	if r != nil {
		d = r.Decision
	}
	c.told(ctx, Call{verb, q.ruleOf(d.By), d.Allowed, d.Decided, time.Since(began), err})
}
