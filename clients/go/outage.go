package weir

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An outage is told in two lines, however many calls meet it: when a call finds no server, and when one is answered
// again.
type outage struct {
	log   *slog.Logger
	where string // all that the URL names
	on    atomic.Bool

	mu      sync.Mutex
	began   time.Duration
	without int64
	heeded  bool
	cursed  time.Time // when an error that OnError does not decide about was logged last
}

func (o *outage) logger() *slog.Logger {
	if o.log != nil {
		return o.log
	}
	return slog.Default().With("logger", "weir")
}

func (o *outage) place(where place) {
	o.mu.Lock()
	o.where = where.String()
	o.mu.Unlock()
}

// missed is told of each call that no weir has decided.
func (o *outage) missed(away *Unavailable) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.without++
	if o.on.Load() {
		return
	}
	o.began = clock()
	o.on.Store(true)
	o.logger().Warn(fmt.Sprintf("weir at %s does not answer: %s", o.where, away.Reason))
}

// answered is told of each answer, with when its call was asked: one from before the outage ends none.
func (o *outage) answered(asked time.Duration) {
	if !o.on.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.on.Load() || asked < o.began {
		return
	}
	o.on.Store(false)
	o.logger().Warn(fmt.Sprintf("weir at %s answers again; %d calls went without it", o.where, o.without))
	o.without = 0
}

// misconfigured logs what nobody but a person can mend: at once, and then once a minute.
func (o *outage) misconfigured(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.cursed.IsZero() && time.Since(o.cursed) < time.Minute {
		return
	}
	o.cursed = time.Now()
	o.logger().Error(fmt.Sprintf("weir at %s cannot be asked: %s", o.where, strings.TrimPrefix(err.Error(), "weir: ")))
}

// heed says once that our timeout is too short for the server's own fallback to answer.
func (o *outage) heed(c *conn, timeout time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.heeded || timeout > c.greeting.storeDeadline {
		return
	}
	o.heeded = true
	o.logger().Warn(fmt.Sprintf("weir at %s: the timeout of %s is not above the server's --store-deadline of %s, so this client gives "+
		"up before the server's fallback answers", c.server, timeout, c.greeting.storeDeadline))
}

// watched calls the user's function; what it throws is logged.
func (o *outage) watched(ctx context.Context, watch func(context.Context, Call), call Call) {
	defer func() {
		if thrown := recover(); thrown != nil {
			o.logger().Error("weir: WithOnCall's function panicked", "panic", thrown)
		}
	}()
	watch(ctx, call)
}
