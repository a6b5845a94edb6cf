package weir

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// An outage is told in two lines, however many calls meet it: when a server goes away, and when one is back.
type outage struct {
	log     *slog.Logger
	on      atomic.Bool
	without atomic.Int64

	mu       sync.Mutex
	heeded   bool
	accursed time.Time // when an error that OnError does not decide about was logged last
}

func (o *outage) logger() *slog.Logger {
	if o.log != nil {
		return o.log
	}
	return slog.Default().With("logger", "weir")
}

// began is told of each failure to reach a weir.
func (o *outage) began(away error) {
	if o.on.Load() || !o.on.CompareAndSwap(false, true) {
		return
	}
	o.logger().Warn("weir is away; calls go on without it", "error", away.Error())
}

// ended is told of each sign of life.
func (o *outage) ended(server string) {
	if !o.on.Load() || !o.on.CompareAndSwap(true, false) {
		return
	}
	o.logger().Warn("weir is back", "server", server, "calls_without_it", o.without.Swap(0))
}

// misconfigured logs what nobody but a person can mend: at once, and then once a minute.
func (o *outage) misconfigured(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.accursed.IsZero() && time.Since(o.accursed) < time.Minute {
		return
	}
	o.accursed = time.Now()
	o.logger().Error("weir cannot be asked", "error", err.Error())
}

// heed says once that our timeout is too short for the server's own fallback to answer.
func (o *outage) heed(g greeting, timeout time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.heeded || g.storeDeadline == 0 || timeout > g.storeDeadline {
		return
	}
	o.heeded = true
	o.logger().Warn("the timeout is not above the server's --store-deadline, so its fallback will not be heard",
		"timeout", timeout.String(), "store_deadline", g.storeDeadline.String())
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
