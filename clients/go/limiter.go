package weir

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// A Limit is a rate, in events a second. It is that of golang.org/x/time/rate, as are Inf, InfDuration, Every and the
// methods of Limiter, so that a program for that package needs another import and constructor, and no more.
type Limit float64

// Inf lets everything pass, whatever the burst.
const Inf = Limit(math.MaxFloat64)

// InfDuration is the Delay of a Booking that is not OK.
const InfDuration = time.Duration(math.MaxInt64)

// Every is one event for each d.
func Every(d time.Duration) Limit {
	if d <= 0 {
		return Inf
	}
	return 1 / Limit(d.Seconds())
}

// A Limiter is one key and its rate. All processes that make one of the same key share it. The server's clock decides,
// so every time that is given to a method is ignored.
type Limiter struct {
	client *Client
	key    string

	mu    sync.Mutex
	limit Limit
	burst int
	rule  string
}

// NewLimiter makes a limiter of key: r events a second, b at once.
func (c *Client) NewLimiter(key string, r Limit, b int) *Limiter {
	l := &Limiter{client: c, key: key}
	l.set(r, b)
	return l
}

const (
	longestWait     = time.Duration(math.MaxInt64) // as long as the server takes
	shortestMaxWait = time.Minute                  // the --max-wait of a server whose HELLO does not say it
)

func (l *Limiter) set(r Limit, b int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.burst, l.rule = r, b, ruleText(r, b)
}

// ruleText is what the server understands; a rate of 0 is as slow as it can count.
func ruleText(r Limit, b int) string {
	if b < 1 {
		b = 1
	}
	if r >= 1 && r <= 1e6 && r == Limit(int64(r)) {
		return fmt.Sprintf("%d/s burst %d", int64(r), b)
	}
	slowest := math.Max(1, math.Floor(4e9/float64(b))*1e9) // 126 years until the burst is whole again
	interval := slowest
	if r > 0 {
		interval = math.Min(slowest, math.Max(1, math.Round(1e9/float64(r))))
	}
	switch ns := int64(interval); {
	case ns%int64(time.Second) == 0:
		return fmt.Sprintf("1/%ds burst %d", ns/int64(time.Second), b)
	case ns%int64(time.Millisecond) == 0:
		return fmt.Sprintf("1/%dms burst %d", ns/int64(time.Millisecond), b)
	default:
		return fmt.Sprintf("1/%dns burst %d", ns, b)
	}
}

// asked is the question for n events, or that nobody need be asked: then whether they pass.
func (l *Limiter) asked(n int) (q Question, passes, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == Inf || n <= 0 {
		return q, true, true
	}
	if n > l.burst {
		return q, false, true
	}
	return Question{Key: l.key, Rule: l.rule, Cost: int64(n)}, false, false
}

// Limit is the rate.
func (l *Limiter) Limit() Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// Burst is the number of events at once.
func (l *Limiter) Burst() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.burst
}

// SetLimit changes the rate, from the next question on, of this Limiter.
func (l *Limiter) SetLimit(r Limit) { l.set(r, l.Burst()) }

// SetLimitAt is SetLimit.
func (l *Limiter) SetLimitAt(_ time.Time, r Limit) { l.SetLimit(r) }

// SetBurst changes the burst, from the next question on, of this Limiter.
func (l *Limiter) SetBurst(b int) { l.set(l.Limit(), b) }

// SetBurstAt is SetBurst.
func (l *Limiter) SetBurstAt(_ time.Time, b int) { l.SetBurst(b) }

// Tokens is how many events would pass at once now.
func (l *Limiter) Tokens() float64 {
	q, _, known := l.asked(1)
	if known {
		return float64(l.Burst())
	}
	q.Cost = 0
	d, err := l.client.Look(context.Background(), q)
	d, err = l.client.decideAlways(d, err, &q)
	switch {
	case err != nil || !d.Decided && !d.Allowed:
		return 0
	case !d.Decided:
		return float64(l.Burst())
	}
	return float64(d.Remaining)
}

// TokensAt is Tokens.
func (l *Limiter) TokensAt(time.Time) float64 { return l.Tokens() }

// Allow says whether an event may happen now. While no weir decides, or none can be asked, OnError does; under Fail it
// may not.
func (l *Limiter) Allow() bool { return l.AllowN(time.Time{}, 1) }

// AllowN is Allow for n events.
func (l *Limiter) AllowN(_ time.Time, n int) bool {
	q, passes, known := l.asked(n)
	if known {
		return passes
	}
	d, err := l.client.Check(context.Background(), q)
	d, err = l.client.decideAlways(d, err, &q)
	return err == nil && d.Allowed
}

// decideAlways has OnError decide about every error, for methods that have none to return.
func (c *Client) decideAlways(d Decision, err error, q *Question) (Decision, error) {
	if err == nil {
		return d, nil
	}
	if _, away := isUnavailable(err); away {
		return Decision{}, err // it has decided already
	}
	c.outage.misconfigured(err)
	return c.decideWithout(&Unavailable{Reason: err.Error(), cause: err}, q)
}

// Wait returns when an event may happen, or at once with an error where that cannot be before ctx ends, or within the
// server's --max-wait.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN is Wait for n events.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q, passes, known := l.asked(n)
	if known && !passes {
		return fmt.Errorf("weir: Wait(n=%d) exceeds the limiter's burst %d", n, l.Burst())
	}
	if known {
		return nil
	}
	most := longestWait
	if end, ok := ctx.Deadline(); ok {
		most = time.Until(end)
	}
	return l.client.withinMaxWait(&q, most, func(most time.Duration) error {
		if most <= 0 {
			most = -1 // 0 is the usual one
		}
		_, err := l.client.Acquire(ctx, q, Waiting{MaxWait: most})
		return err
	})
}

// withinMaxWait tries with most, cut to what the server is known to take, and again when the answer says that it is less.
// What is so refused was not charged.
func (c *Client) withinMaxWait(q *Question, most time.Duration, try func(most time.Duration) error) error {
	known := time.Duration(c.maxWait.Load())
	if known == 0 {
		known = shortestMaxWait
	}
	most = min(most, known)
	err := try(most)
	refused, ok := err.(*Refused)
	if !ok || !strings.HasPrefix(refused.Text, "MAXWAIT: ") {
		return err
	}
	var ms int64
	_, after, _ := strings.Cut(refused.Text, "is not an integer from 0 to ")
	if _, scanned := fmt.Sscan(after, &ms); scanned != nil || ms < 1 || fromMilliseconds(ms) >= most {
		return err
	}
	if q.byRules() { // else it may be a limit's own
		c.maxWait.Store(int64(fromMilliseconds(ms)))
	}
	return try(fromMilliseconds(ms))
}

// A Booking is what x/time/rate calls a Reservation.
type Booking struct {
	ok bool
	r  *Reservation
}

// Reserve charges one event now and says when it may happen. It is not OK where that is beyond the server's --max-wait.
func (l *Limiter) Reserve() *Booking { return l.ReserveN(time.Time{}, 1) }

// ReserveN is Reserve for n events.
func (l *Limiter) ReserveN(_ time.Time, n int) *Booking {
	q, passes, known := l.asked(n)
	if known {
		return &Booking{ok: passes, r: &Reservation{client: l.client}}
	}
	var r *Reservation
	err := l.client.withinMaxWait(&q, longestWait, func(most time.Duration) (err error) {
		r, err = l.client.TryReserve(context.Background(), q, Waiting{MaxWait: most})
		return err
	})
	if err != nil {
		d, err := l.client.decideAlways(Decision{}, err, &q)
		return &Booking{ok: err == nil && d.Allowed, r: &Reservation{client: l.client}}
	}
	return &Booking{ok: r.Decision.Allowed, r: r}
}

// OK says whether it was granted.
func (b *Booking) OK() bool { return b.ok }

// Delay is how long to wait until it may happen; 0 is now. It is InfDuration where it is not OK.
func (b *Booking) Delay() time.Duration {
	if !b.ok {
		return InfDuration
	}
	if left := time.Until(b.r.At); left > 0 {
		return left
	}
	return 0
}

// DelayFrom is Delay.
func (b *Booking) DelayFrom(time.Time) time.Duration { return b.Delay() }

// Cancel gives it back, if its moment has not come.
func (b *Booking) Cancel() {
	if b.ok {
		b.r.Cancel(context.Background()) // one that cannot be told is lost, as one that nobody uses
	}
}

// CancelAt is Cancel.
func (b *Booking) CancelAt(time.Time) { b.Cancel() }
