package weir

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Client asks a weir; it never decides. All its methods may be called by any goroutines at once: their calls share one
// connection, those that wait too, and what is asked at one moment is one write.
type Client struct {
	set     settings
	url     string
	dialer  *dialer // nil until it is known where the weir is
	outage  outage
	memory  *memory // nil unless denials are remembered
	lanes   *lanes
	counted atomic.Int64 // calls that are unanswered
	waits   atomic.Int64 // those that stand in line, or leave it, which do not count as unanswered
	tags    atomic.Int64 // the last one's that stood in line
	maxWait atomic.Int64 // the server's --max-wait; 0: not known
	shared  atomic.Pointer[conn]
	named   sync.Once // sets app
	app     string

	assumed   bool // nobody has said where
	begun     atomic.Bool
	beginning chan struct{} // of one: the goroutine that has it begins

	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed when an attempt to connect has ended, and then another
	dialing bool
	first   error // of the first attempt, until Connect has read it
	closed  bool
	held    map[*Reservation]struct{} // by slots
}

// Connect makes a client of the weir at url:
//
//	weir://[[user]:password@]host[:6390][,host2...]   one of several that share a --store
//	weirs://...                                       by TLS
//	unix:/path                                        by a Unix socket
//	weir+local:                                       one on this machine, which is started where none runs
//
// Where url is empty it is WEIR_URL, or else weir+local: the first question looks, so that a client which a package makes
// starts nothing. A weir that does not answer is not an error, since OnError decides while it does not; what only a person
// can mend is an error, here or of the first question: a wrong password, a certificate, a Redis in its place, a limits file
// with errors.
func Connect(ctx context.Context, url string, options ...Option) (*Client, error) {
	set := defaults()
	for _, each := range options {
		each(&set)
	}
	if err := set.check(); err != nil {
		return nil, err
	}
	c := &Client{set: set, url: url, changed: make(chan struct{}), held: map[*Reservation]struct{}{}, beginning: make(chan struct{}, 1)}
	c.outage.log = set.log
	c.life, c.end = context.WithCancel(context.Background())
	c.lanes = newLanes(c, set.maxConnections-1)
	if set.remember {
		c.memory = &memory{}
	}
	if url == "" {
		return c, nil
	}
	if err := c.ready(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// ready finds out where the weir is, and waits for the first attempt to connect, once.
func (c *Client) ready(ctx context.Context) error {
	if c.begun.Load() {
		return nil
	}
	select {
	case c.beginning <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.beginning }()
	if c.begun.Load() {
		return nil
	}
	if err := c.find(); err != nil {
		return err
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	c.begun.Store(true)
	if made := c.shared.Load(); c.assumed && made != nil {
		c.outage.logger().Warn(fmt.Sprintf("no URL and no WEIR_URL: counting in a local weir at %s, for this machine alone", made.server))
	}
	return nil
}

// find looks where the weir is, unless that is known.
func (c *Client) find() error {
	if c.dialer != nil {
		return nil
	}
	where, assumed, err := findPlace(c.url)
	if err != nil {
		return err
	}
	if err := c.set.complete(where); err != nil {
		return err
	}
	c.findLimits(where)
	c.assumed = assumed
	c.outage.place(where)
	c.dialer = newDialer(&c.set, where, &c.outage)
	return nil
}

// complete is what the URL and the environment say, where the options do not.
func (s *settings) complete(where place) error {
	if where.user != "" {
		s.user = where.user
	}
	if where.password != "" {
		s.password = where.password
	}
	if s.password == "" && !where.local {
		s.password = os.Getenv("WEIR_PASSWORD")
	}
	if s.tls != nil && !where.tls {
		return refuse("WithTLS is for weirs://")
	}
	return nil
}

// findLimits is the limits file of a weir of this machine; another has its own.
func (c *Client) findLimits(where place) {
	if c.set.limits == "" {
		c.set.limits = os.Getenv("WEIR_LIMITS")
	}
	if c.set.limits != "" && !where.local {
		c.Logger().Warn(fmt.Sprintf("weir: the limits file %s is for a weir of this machine; the one at %s has its own", c.set.limits, where))
		c.set.limits = ""
	}
}

// begin waits for the first attempt to connect. For want of a server it does not fail.
func (c *Client) begin(ctx context.Context) error {
	c.mu.Lock()
	c.reconnect()
	changed, closed := c.changed, c.closed
	c.mu.Unlock()
	if c.shared.Load() != nil {
		return nil
	} else if closed {
		return errClosed
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if away, ok := isUnavailable(c.first); ok && !c.dialer.place.local {
		c.outage.missed(away)
		return nil
	}
	return c.first
}

// reconnect is called with mu held.
func (c *Client) reconnect() {
	if c.dialing || c.closed || c.shared.Load() != nil {
		return
	}
	c.dialing = true
	go c.dialUntilConnected()
}

func (c *Client) dialUntilConnected() {
	for {
		made, err := c.dialer.dial(c.life)
		c.mu.Lock()
		c.first = err
		over := err == nil || c.closed || c.dialer.place.local // which a call tries again
		if over {
			c.dialing = false
		}
		if err == nil && c.closed {
			made.net.Close()
		} else if err == nil {
			made.lost, made.waits = c.dropped, &c.waits
			made.start()
			c.maxWait.Store(int64(made.greeting.maxWait))
			c.shared.Store(made)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if over {
			return
		}
	}
}

// dropped takes a connection that has failed out of use. A weir of this machine is started again only by a call.
func (c *Client) dropped(old *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared.CompareAndSwap(old, nil) && !c.dialer.place.local {
		c.reconnect()
	}
}

// connection is the one that all share; while there is none, what comes of it until due, and of the attempt that is under way
// for so much longer.
func (c *Client) connection(ctx context.Context, due, longer time.Duration) (*conn, error) {
	for {
		if made := c.shared.Load(); made != nil {
			return made, nil
		}
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		c.reconnect()
		changed := c.changed
		c.mu.Unlock()
		if c.shared.Load() != nil {
			continue
		}
		left := due - clock()
		next, last := c.dialer.waitsUntil()
		if last != nil {
			if _, away := isUnavailable(last); !away || time.Until(next) > left {
				return nil, last
			}
		}
		if left += longer; left <= 0 {
			return nil, &Unavailable{Reason: "no connection in time", cause: os.ErrDeadlineExceeded}
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// call sends p and waits for its reply. What was written is never sent again; what was not goes to another connection.
func (c *Client) call(ctx context.Context, p *pending) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return c.without(err)
	}
	if n := c.counted.Add(1); n > int64(c.set.inFlight) {
		c.counted.Add(-1)
		return c.without(&Unavailable{Reason: fmt.Sprintf("%d calls are unanswered", c.set.inFlight)})
	}
	p.counted = &c.counted
	p.asked = clock()
	p.deadline = p.asked + c.set.timeout
	for {
		made, err := c.connection(ctx, p.deadline, 0)
		if err != nil {
			c.counted.Add(-1)
			return c.without(err)
		}
		if !made.send(p) {
			c.dropped(made)
			continue
		}
		if err := made.await(ctx, p); err != nil {
			return err
		}
		if p.state.Load() != unsent {
			return c.ended(made, p)
		}
		p.state.Store(waiting)
	}
}

// ended is the outcome of a call that a connection had.
func (c *Client) ended(made *conn, p *pending) error {
	if p.state.Load() == failed {
		return c.without(p.err)
	}
	var err error
	if p.reply.kind == '-' {
		err = c.lacks(made, errorOf(made.server, p.reply.text))
	}
	if _, away := isUnavailable(err); !away {
		c.outage.answered(p.asked)
	}
	return c.without(err)
}

// lacks says which version knows a verb that an older weir does not.
func (c *Client) lacks(made *conn, err error) error {
	refused, ok := err.(*Refused)
	if !ok || !strings.HasPrefix(refused.Text, "unknown command 'WEIR.") {
		return err
	}
	verb, _, _ := strings.Cut(strings.TrimPrefix(refused.Text, "unknown command '"), "'")
	return refuse("%s is weir %s, which has no %s; weir %s has it", made.server, made.greeting.version, verb, Version)
}

// without counts a call that no weir has decided.
func (c *Client) without(err error) error {
	if away, ok := isUnavailable(err); ok && away != errClosed {
		c.outage.missed(away)
	}
	return err
}

// Close ends the client: what is under way is answered within the timeout, or Unavailable; slots that are held are
// settled. Closing twice is nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	held := make([]*Reservation, 0, len(c.held))
	for each := range c.held {
		held = append(held, each)
	}
	c.mu.Unlock()
	for _, each := range held {
		each.end(c.life)
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	for end := clock() + c.set.timeout; c.counted.Load()+c.waits.Load() > 0 && clock() < end; {
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	c.end()
	if last := c.shared.Swap(nil); last != nil {
		last.fail(errClosed)
	}
	c.lanes.close()
	c.releaseNames()
	return nil
}

// Logger is where the client says what it has to say: for middleware.
func (c *Client) Logger() *slog.Logger { return c.outage.logger() }

// Misconfigured logs an error that OnError does not decide about, at once and then once a minute: for middleware, which
// answers it to somebody who cannot mend it.
func (c *Client) Misconfigured(err error) { c.outage.misconfigured(err) }
