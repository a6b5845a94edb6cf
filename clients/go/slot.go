package weir

import (
	"context"
	"time"
)

// Slot takes one of the slots of an API, whose limits meet the attribute api: it waits for the moment, runs body, and
// gives the slot back when body returns. While body runs the hold is extended by w.Hold (30 s unless given), so the slot
// of a program that dies is free after that. MaxWait is Acquire's.
func (c *Client) Slot(ctx context.Context, api string, w Waiting, body func(context.Context, *Reservation) error) error {
	return c.SlotFor(ctx, Question{Attributes: map[string]string{"api": api}}, w, body)
}

// SlotFor is Slot for any question: by other attributes, or by rules such as in_flight=5.
func (c *Client) SlotFor(ctx context.Context, q Question, w Waiting, body func(context.Context, *Reservation) error) error {
	hold := w.Hold
	if hold == 0 {
		hold = 30 * time.Second
	}
	if w.Hold = hold; !q.byRules() {
		w.Hold = 0 // the limits file says what a hold may be; the first Extend makes it ours
	}
	r, err := c.Acquire(ctx, q, w)
	if err != nil {
		return err
	}
	if !c.hold(r) {
		r.end(context.WithoutCancel(ctx))
		return errClosed
	}
	inside, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		c.keep(inside, r, hold)
	}()
	defer func() {
		stop()
		<-kept
		r.end(context.WithoutCancel(ctx))
		c.release(r)
	}()
	return body(inside, r)
}

// hold notes what Close has to settle; false if that is over.
func (c *Client) hold(r *Reservation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.held[r] = struct{}{}
	return true
}

func (c *Client) release(r *Reservation) {
	c.mu.Lock()
	delete(c.held, r)
	c.mu.Unlock()
}

// keep extends the hold at once, and again after each third of what it has, until ctx ends.
func (c *Client) keep(ctx context.Context, r *Reservation, hold time.Duration) {
	if r.ID == "" {
		return
	}
	for !r.over.Load() {
		told, err := c.barely(ctx, extendPending(r.ID, hold), "extend", &Question{})
		if ctx.Err() != nil || r.over.Load() {
			return
		}
		has := fromMilliseconds(told.number)
		if err == nil && has == 0 {
			c.outage.logger().Warn("weir: the hold of a slot is over while its call goes on", "by", r.Decision.By)
			return
		}
		if err != nil {
			has = hold / 3 // most of the last is left
		}
		timer := time.NewTimer(has / 3)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
