package weir

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// far is the URL at which the weir of the run is so far away, each way.
func (r *run) far(each time.Duration) string {
	r.Helper()
	if r.proxy == nil {
		r.proxy = startProxy(r.T)
	}
	r.proxy.say(r.T, "to "+r.url)
	r.proxy.say(r.T, fmt.Sprint("delay ", each.Milliseconds()))
	return r.proxy.Unix
}

var delays = []time.Duration{0, 3 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond}

// tagged is a run at a weir that knows tags.
func tagged(t *testing.T) *run {
	r := &run{T: t}
	r.startWeir(weirProgram(t))
	if told, err := ask(r.side, "HELLO", "2"); err != nil || !strings.Contains(fmt.Sprint(told), "max_waiters") {
		t.Skip("this weir has no tags")
	}
	return r
}

// connections are those that the weir has, without ours.
func (r *run) connections() int {
	told, err := ask(r.side, "CLIENT", "LIST")
	if err != nil {
		r.Error(err)
	}
	return strings.Count(told.text, "\n") - 1
}

// advance has a time pass at the weir.
func (r *run) advance(d time.Duration) {
	r.Helper()
	if told, err := ask(r.side, "WEIR.TIME", "ADVANCE", fmt.Sprint(d.Milliseconds())); err != nil || told.kind != '*' {
		r.Fatalf("%+v, %v", told, err)
	}
}

// fromEachDistance runs the test with a weir of its own and a client of that, so far away.
func fromEachDistance(t *testing.T, test func(t *testing.T, r *run, c *Client)) {
	proxy := startProxy(t)
	for _, delay := range delays {
		t.Run(delay.String(), func(t *testing.T) {
			r := tagged(t)
			r.proxy = proxy
			test(t, r, connected(t, r.far(delay), WithOnError(Fail)))
		})
	}
}

// However far weir is: of those who ask at once each acts in its turn, and nobody for want of a connection.
func TestOfThoseWhoAcquireAtOnceEachActsInItsTurn(t *testing.T) {
	fromEachDistance(t, func(t *testing.T, r *run, c *Client) {
		const all, burst = 15, 5
		done := make(chan outcome, all)
		for i := 0; i < all; i++ {
			go func() { done <- <-acquiring(background, c, "a") }()
		}
		act := func() {
			t.Helper()
			if one := <-done; one.err != nil || !one.r.Decision.Decided {
				t.Errorf("%+v, %v", one.r, one.err)
			}
		}
		for i := 0; i < burst; i++ {
			act()
		}
		until(t, "the others are in line", func() bool { return r.waiting() == all-burst })
		for left := all - burst - 1; left >= 0; left-- {
			r.advance(12 * time.Second)
			if n := r.waiting(); n != left {
				t.Errorf("%d wait, expected %d", n, left)
			}
			act()
		}
		if n := r.connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestTwoThousandAcquiresAtOnceAreOneConnection(t *testing.T) {
	fromEachDistance(t, func(t *testing.T, r *run, c *Client) {
		const all = 2000
		done := make(chan outcome, all)
		acquire := func() {
			got, err := c.Acquire(background, Question{Key: "a", Rule: "10/s burst 1"}, Waiting{MaxWait: time.Hour})
			done <- outcome{got, err}
		}
		for i := 0; i < all; i++ {
			go acquire()
		}
		until(t, "all but one are in line", func() bool { return r.waiting() == all-1 })
		if d, err := c.Check(background, rule("b")); err != nil || !d.Decided {
			t.Errorf("%+v, %v", d, err)
		}
		if n := r.connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		r.advance(time.Duration(all-1) * 100 * time.Millisecond)
		for i := 0; i < all; i++ {
			if one := <-done; one.err != nil || !one.r.Decision.Decided {
				t.Fatalf("%+v, %v", one.r, one.err)
			}
		}
		quiet(t, c)
	})
}

// Those who give up are out of line at the server too, and a slot that one of them is granted meanwhile is free.
func TestThoseWhoGiveUpHoldNothing(t *testing.T) {
	r := tagged(t)
	c := connected(t, r.far(5*time.Millisecond), WithOnError(Fail))
	slot := Question{Key: "s", Rule: "in_flight=1"}
	held, err := c.Acquire(background, slot, Waiting{Hold: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for round := 0; round < 20; round++ {
		ctx, cancel := context.WithCancel(background)
		done := make(chan *Reservation, 1)
		go func() {
			r, _ := c.Acquire(ctx, slot, Waiting{MaxWait: time.Hour, Hold: time.Hour})
			done <- r
		}()
		until(t, "it is in line", func() bool { return r.waiting() == 1 })
		go cancel()
		if _, err := held.Settle(background); err != nil { // so it is granted as it gives up
			t.Fatal(err)
		}
		if won := <-done; won != nil { // its grant came first
			won.Settle(background)
		}
		quiet(t, c)
		if held, err = c.Acquire(background, slot, Waiting{MaxWait: -1, Hold: time.Hour}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
