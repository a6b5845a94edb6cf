package weir

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// How a call ended, or that it has not.
const (
	waiting  = iota
	answered // reply holds it
	failed   // it was written, and its connection broke or its time is over: err says so
	unsent   // nothing of it was written: another connection may take it
	left     // its caller has gone
)

// A pending is one call on its way. It belongs to its caller and to the connection that has it; it is used again only
// when both are done with it.
type pending struct {
	command
	reply    reply
	err      error
	state    atomic.Int32
	done     chan struct{}
	asked    time.Duration // since epoch, as the deadline is
	deadline time.Duration
	counted  *atomic.Int64 // those that have no answer, of which it is one
	tag      int64         // of an ACQUIRE that may be QUEUED: its word; else 0
	patience time.Duration // with its answer, once it is QUEUED
}

var (
	epoch    = time.Now()
	pendings = sync.Pool{New: func() any { return &pending{done: make(chan struct{}, 1)} }}
)

func clock() time.Duration { return time.Since(epoch) }

func newPending(verb string) *pending {
	p := pendings.Get().(*pending)
	p.err, p.tag = nil, 0
	p.state.Store(waiting)
	p.begin(verb)
	return p
}

// recycle takes it back, if no connection still has it.
func (p *pending) recycle() {
	if s := p.state.Load(); s == answered || s == unsent || s == waiting {
		pendings.Put(p)
	}
}

// finish ends it, once: false if it has ended before.
func (p *pending) finish(how int32, err error) bool {
	if !p.state.CompareAndSwap(waiting, how) {
		return false
	}
	p.err = err
	p.done <- struct{}{}
	return true
}

// wait returns when it has ended, or when its caller gives up: then with the error of ctx.
func (p *pending) wait(ctx context.Context) error {
	if ctx.Done() == nil {
		<-p.done
		return nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		<-p.done
	}
	return nil
}

// A conn is one connection to a weir, pipelined: any goroutine sends, one at a time reads. A caller that finds no other writing
// writes for all that come meanwhile, so what is asked at one moment is one write.
type conn struct {
	net      net.Conn
	server   string // for people: host and port, or the path
	greeting greeting
	reader   *bufio.Reader
	patience time.Duration // with a write
	silence  time.Duration // it is given up so long after a call's deadline, if that has no answer still
	lost     func(*conn)   // called once, when it has failed
	waits    *atomic.Int64 // those that stand in line or leave it

	mu      sync.Mutex
	out     []byte
	batch   []placed // what is in out
	spare   []byte
	spares  []placed
	queue   queue
	lined   map[int64]*pending // by their tags, those that are QUEUED
	due     time.Duration      // none of them is, before
	writing bool
	since   time.Duration // when the write began
	timer   *time.Timer
	used    time.Duration // when it was asked last
	wake    time.Duration // when it fires; 0: not
	err     error

	reading     bool     // somebody reads: a caller, or a goroutine
	forWhom     *pending // the caller's that reads
	peeking     bool     // it waits for a reply to begin
	begun       time.Duration
	interrupted bool
}

// lookTime is after how long without a call a goroutine waits for the connection's end, and the longest that half a reply
// holds up the caller that reads it when its own time is over.
const lookTime = 20 * time.Millisecond

// idleTime is after how long without a question it is looked whether the other side has closed the connection: a word
// that is written to it then would be lost, and could not be sent again.
const idleTime = time.Millisecond

// never is when nothing is due.
const never = time.Duration(1<<63 - 1)

type placed struct {
	call  *pending
	start int
}

func (c *conn) start() {
	c.mu.Lock()
	c.timer = time.AfterFunc(lookTime, c.watch)
	c.mu.Unlock()
}

// send takes p, or says that the connection is broken: then nothing of it was written.
func (c *conn) send(p *pending) bool {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	if c.queue.peek() == nil && p.asked-c.used > idleTime && (!c.reading && c.reader.Buffered() > 0 || endOf(c.net, len(c.lined) == 0)) {
		c.breakOff(io.EOF)
		if !c.writing {
			c.endAll()
		}
		c.mu.Unlock()
		return false
	}
	c.used = p.asked
	c.batch = append(c.batch, placed{p, len(c.out)})
	c.out = append(c.out, p.encoded()...)
	c.queue.push(p)
	c.wakeBy(p.deadline)
	mine := !c.writing
	c.writing = true
	c.mu.Unlock()
	if mine {
		if p.counted.Load() > 1 {
			runtime.Gosched() // others are at it: what they ask goes into the same write
		}
		c.flush(true)
	}
	return true
}

// wakeBy has watch look when it is due. Called with mu held.
func (c *conn) wakeBy(due time.Duration) {
	if c.wake == 0 || due < c.wake {
		c.wake = due
		c.timer.Reset(due - clock())
	}
}

// flush writes what is there. A caller writes once; what has come meanwhile is written by a goroutine of its own, for
// the caller has an answer to wait for.
func (c *conn) flush(caller bool) {
	for first := true; ; first = false {
		c.mu.Lock()
		if c.err != nil || len(c.out) == 0 {
			c.writing = false
			if c.err != nil {
				c.endAll()
			}
			c.mu.Unlock()
			return
		}
		if caller && !first {
			c.mu.Unlock()
			go c.flush(false)
			return
		}
		out, batch := c.out, c.batch
		c.out, c.batch = c.spare[:0], c.spares[:0]
		c.since = clock()
		c.mu.Unlock()

		n, err := c.net.Write(out)

		c.mu.Lock()
		if err != nil {
			c.breakOff(err)
			for _, each := range batch {
				if each.start >= n {
					c.batch = append(c.batch, each) // not one byte of it was written
				}
			}
		}
		c.spare, c.spares = out, batch
		if cap(out) > 256<<10 {
			c.spare = nil
		}
		c.mu.Unlock()
	}
}

// fail ends the connection and all that it has.
func (c *conn) fail(err error) {
	c.mu.Lock()
	c.breakOff(err)
	if !c.writing {
		c.endAll()
	}
	c.mu.Unlock()
}

// breakOff notes why; what it has is ended by endAll, when nobody writes any more.
func (c *conn) breakOff(err error) {
	if c.err == nil {
		c.err = err
		c.net.Close()
	}
}

func (c *conn) endAll() {
	lost := awayOf(c.server, c.err)
	fresh := len(c.batch) // those at the end of the line
	for p := c.queue.pop(); p != nil; p = c.queue.pop() {
		if c.queue.length() < fresh {
			if !p.finish(unsent, nil) {
				p.counted.Add(-1)
			}
			continue
		}
		p.counted.Add(-1)
		p.finish(failed, lost)
	}
	for _, p := range c.lined {
		p.counted.Add(-1)
		p.finish(failed, lost)
	}
	c.batch, c.lined = nil, nil
	c.timer.Stop()
	if c.lost != nil {
		go c.lost(c)
		c.lost = nil
	}
}

func (c *conn) broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// await returns when p has ended, or its caller gives up: then with the error of ctx. Whoever waits first reads, for
// all until its own reply has come: so that a call which is alone wakes nobody. (A goroutine that reads for it costs as much
// as the call.) Then a goroutine reads for those who still wait.
func (c *conn) await(ctx context.Context, p *pending) error {
	c.mu.Lock()
	mine := !c.reading && c.err == nil
	if mine {
		c.reading, c.forWhom = true, p
	}
	c.mu.Unlock()
	if !mine {
		return p.wait(ctx)
	}
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() {
			c.mu.Lock()
			c.interrupt(p)
			c.mu.Unlock()
		})
	}
	for p.state.Load() == waiting && ctx.Err() == nil && c.readOne() {
	}
	stop()
	c.mu.Lock()
	c.forWhom = nil
	if c.err == nil && c.owes() {
		go c.read()
	} else {
		c.rest()
	}
	c.mu.Unlock()
	return p.wait(ctx)
}

// owes says whether somebody has to read. Called with mu held.
func (c *conn) owes() bool { return c.queue.peek() != nil || len(c.lined) > 0 }

// rest is for when nobody has to read: soon the connection's end is waited for. Called with mu held.
func (c *conn) rest() {
	c.reading = false
	if c.err == nil {
		c.wakeBy(clock() + lookTime)
	}
}

// interrupt has the caller that reads look at its call again, if it waits for a reply to begin. Called with mu held.
func (c *conn) interrupt(p *pending) {
	if c.forWhom == p && c.peeking {
		c.interrupted = true
		c.net.SetReadDeadline(time.Unix(1, 0))
	}
}

// read gives replies to those who wait, until nobody does.
func (c *conn) read() {
	for c.readOne() {
		c.mu.Lock()
		if !c.owes() {
			c.rest()
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// readOne gives one reply to the call that is first in line, also to one whose caller has gone. It is false when the
// connection is over.
func (c *conn) readOne() bool {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	c.peeking = true
	c.mu.Unlock()
	kind, err := c.reader.Peek(1)
	c.mu.Lock()
	c.peeking, c.begun = false, clock()
	interrupted := c.interrupted
	if interrupted {
		c.interrupted = false
		c.net.SetReadDeadline(time.Time{})
	}
	head := c.queue.peek()
	c.mu.Unlock()
	switch {
	case err != nil && interrupted && isTimeout(err):
		return true
	case err == nil && kind[0] == '>':
		if err = c.readPush(); err == nil {
			return true
		}
	case err == nil && head == nil:
		err = c.unasked()
	case err == nil:
		err = head.reply.read(c.reader)
	}
	if err != nil {
		c.fail(err)
		return false
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	c.queue.pop()
	queued := head.isQueued() && c.line(head)
	c.mu.Unlock()
	if !queued {
		c.answer(head)
	}
	return true
}

// answer ends a call that its connection has no more. What an ACQUIRE got whose caller has gone is given back.
func (c *conn) answer(p *pending) {
	p.counted.Add(-1)
	if !p.finish(answered, nil) && p.tag != 0 {
		c.giveBack(&p.reply)
	}
}

// unasked is what comes where nobody has asked: the server's reason for closing, or no RESP.
func (c *conn) unasked() error {
	var stray reply
	if err := stray.read(c.reader); err != nil {
		return err
	}
	if stray.kind == '-' {
		return errorOf(c.server, stray.text)
	}
	return errProtocol
}

// watch ends the calls whose time is over. They stay in line, since their answers will come. A connection that answers
// nothing at all, or takes nothing, is given up.
func (c *conn) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = 0
	if c.err != nil {
		return
	}
	now := clock()
	next := never
	var late error
	stuck := false
	end := func(p *pending) {
		if late == nil {
			late = &Unavailable{Server: c.server, Reason: "no answer in time", cause: os.ErrDeadlineExceeded}
		}
		p.finish(failed, late)
		if c.interrupt(p); c.forWhom == p && !c.peeking { // in the middle of a reply
			stuck = now > c.begun+lookTime
			next = min(next, now+lookTime)
		}
	}
	c.queue.each(func(p *pending) {
		due := p.deadline
		if due <= now {
			end(p)
			due += c.silence
		}
		next = min(next, due)
	})
	next = min(next, c.endLine(now, end))
	if c.writing && late != nil {
		next = min(next, c.since+c.patience) // by then the writer is late itself
	}
	if next <= now || stuck {
		c.breakOff(&Unavailable{Server: c.server, Reason: "it answers nothing", cause: os.ErrDeadlineExceeded})
		if !c.writing {
			c.endAll()
		}
		return
	}
	if c.owes() {
		c.wakeBy(next)
	} else if !c.reading {
		c.reading = true
		go c.read()
	}
}

// A queue is first in, first out.
type queue struct {
	calls []*pending
	head  int
}

func (q *queue) push(p *pending) {
	if q.head > 0 && len(q.calls) == cap(q.calls) {
		n := copy(q.calls, q.calls[q.head:])
		for i := n; i < len(q.calls); i++ {
			q.calls[i] = nil
		}
		q.calls, q.head = q.calls[:n], 0
	}
	q.calls = append(q.calls, p)
}

func (q *queue) peek() *pending {
	if q.head == len(q.calls) {
		return nil
	}
	return q.calls[q.head]
}

func (q *queue) length() int { return len(q.calls) - q.head }

func (q *queue) pop() *pending {
	p := q.peek()
	if p != nil {
		q.calls[q.head] = nil
		if q.head++; q.head == len(q.calls) {
			q.calls, q.head = q.calls[:0], 0
		}
	}
	return p
}

func (q *queue) each(visit func(*pending)) {
	for _, p := range q.calls[q.head:] {
		visit(p)
	}
}
