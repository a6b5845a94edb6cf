package weir

import (
	"context"
	"sync"
	"time"
)

// An ACQUIRE without a tag holds up its connection until its moment has come, so where the server knows no tags it has
// one of its own: a lane. To give up is to close it: that leaves the line.
type lanes struct {
	client *Client
	places chan struct{}

	mu     sync.Mutex
	idle   []*conn
	used   map[*conn]struct{}
	closed bool
}

func newLanes(c *Client, most int) *lanes {
	return &lanes{client: c, places: make(chan struct{}, most), used: map[*conn]struct{}{}}
}

func (c *Client) acquireAlone(ctx context.Context, q *Question, w Waiting) (*Reservation, error) {
	waited, entered, err := c.lanes.enter(ctx, w.MaxWait)
	if err != nil {
		return c.granted(nil, q, c.without(err))
	}
	if !entered { // its time is over: what can be had now needs no lane
		w.MaxWait = 0
		p := reservePending("WEIR.RESERVE", q, w, 0)
		defer p.recycle()
		return c.granted(p, q, c.call(ctx, p))
	}
	w.MaxWait = max(0, w.MaxWait-waited)
	r, lane, err := c.acquireBy(ctx, q, w)
	switch {
	case lane == nil:
		c.lanes.leave()
	case err == nil && w.Bound && r.ID != "":
		r.lane = lane // nobody else may have it: to give up would end this hold
	default:
		c.lanes.giveBack(lane)
		c.lanes.leave()
	}
	return r, err
}

// acquireBy asks by a lane, and returns it if it can be used again.
func (c *Client) acquireBy(ctx context.Context, q *Question, w Waiting) (*Reservation, *conn, error) {
	for {
		made, err := c.lanes.take(ctx, c.set.timeout+min(w.MaxWait, c.set.connectTimeout))
		if err != nil {
			r, err := c.granted(nil, q, c.without(err))
			return r, nil, err
		}
		p := reservePending("WEIR.ACQUIRE", q, w, 0)
		p.asked = clock()
		p.deadline = p.asked + w.MaxWait + c.set.timeout
		c.waits.Add(1)
		p.counted = &c.waits
		if !made.send(p) {
			c.waits.Add(-1)
			c.lanes.drop(made)
			continue
		}
		if err := made.await(ctx, p); err != nil {
			c.lanes.drop(made)
			return nil, nil, err
		}
		if p.state.Load() == unsent {
			c.waits.Add(-1)
			c.lanes.drop(made)
			continue
		}
		err = c.ended(made, p)
		if p.state.Load() != answered {
			c.lanes.drop(made)
			made = nil
		}
		r, err := c.granted(p, q, err)
		p.recycle()
		return r, made, err
	}
}

// enter waits for a place, no longer than most, and says for how long: false if there was none.
func (l *lanes) enter(ctx context.Context, most time.Duration) (time.Duration, bool, error) {
	select {
	case l.places <- struct{}{}:
		return 0, true, nil
	default:
	}
	began := clock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case l.places <- struct{}{}:
		return clock() - began, true, nil
	case <-ctx.Done():
		return 0, false, ctx.Err()
	case <-l.client.life.Done():
		return 0, false, errClosed
	case <-timer.C:
		return most, false, nil
	}
}

func (l *lanes) leave() { <-l.places }

// take is an idle lane, or a new one, which may take as long as it takes to connect.
func (l *lanes) take(ctx context.Context, most time.Duration) (*conn, error) {
	l.mu.Lock()
	for n := len(l.idle); n > 0; n = len(l.idle) {
		made := l.idle[n-1]
		l.idle = l.idle[:n-1]
		if !made.broken() {
			l.used[made] = struct{}{}
			l.mu.Unlock()
			return made, nil
		}
	}
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	made, err := l.client.dialer.dial(bounded)
	if ctx.Err() != nil {
		if err == nil {
			made.net.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, awayOf("", err)
	}
	made.start()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		made.fail(errClosed)
		return nil, errClosed
	}
	l.used[made] = struct{}{}
	return made, nil
}

func (l *lanes) giveBack(made *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.used, made)
	if l.closed {
		made.fail(errClosed)
		return
	}
	l.idle = append(l.idle, made)
}

func (l *lanes) drop(made *conn) {
	l.mu.Lock()
	delete(l.used, made)
	l.mu.Unlock()
	made.fail(errClosed)
}

func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	open := l.idle
	l.idle = nil
	for made := range l.used {
		open = append(open, made)
	}
	l.mu.Unlock()
	for _, made := range open {
		made.fail(errClosed)
	}
}
