package weir

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A call that is alone reads its own reply; a goroutine waits for the connection's end when there has been none for a while.
func TestACallThatIsAloneReadsForItself(t *testing.T) {
	var client atomic.Pointer[Client]
	var itself, waits atomic.Bool
	look := func(into *atomic.Bool, is func(*conn) bool) {
		if c := client.Load(); c != nil {
			made := c.shared.Load()
			made.mu.Lock()
			defer made.mu.Unlock()
			into.Store(into.Load() || is(made))
		}
	}
	f := newFake(t, func([]string) string {
		runtime.Gosched()
		look(&itself, func(c *conn) bool { return c.forWhom != nil })
		return yes
	})
	c := connected(t, f.url())
	client.Store(c)
	until(t, "a caller reads", func() bool {
		if _, err := c.Check(background, rule("a")); err != nil {
			t.Error(err)
		}
		return itself.Load()
	})
	made := c.shared.Load()
	until(t, "a goroutine waits", func() bool {
		look(&waits, func(c *conn) bool { return c.reading && c.forWhom == nil })
		return waits.Load()
	})
	f.goAway()
	until(t, "its end is noticed", made.broken)
}

func TestWhoReadsMayGiveUp(t *testing.T) {
	first := make(chan struct{})
	f := newFake(t, func(words []string) string {
		if words[2] == "slow" {
			<-first
		}
		return yes
	})
	c := connected(t, f.url())
	for i := 0; i < 20; i++ {
		ctx, cancel := context.WithCancel(background)
		given := make(chan error, 1)
		go func() {
			_, err := c.Check(ctx, rule("slow"))
			given <- err
		}()
		until(t, "it is asked", func() bool { return len(f.questions()) == 2*i+1 })
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			if d, err := c.Check(background, rule("next")); err != nil || !d.Decided {
				t.Errorf("%+v, %v", d, err)
			}
		}()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		first <- struct{}{} // the answer that nobody waits for
		group.Wait()
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

func TestHalfAReplyHoldsNobodyUp(t *testing.T) {
	f := newFake(t, always("*6\r\n:0\r\n:5\r\n"))
	c := connected(t, f.url(), WithTimeout(20*time.Millisecond), WithOnError(Fail), new(logged).option(), func(s *settings) { s.silence = time.Hour })
	var away *Unavailable
	if _, err := c.Check(background, rule("a")); !errors.As(err, &away) || !strings.Contains(away.Reason, "no answer in time") {
		t.Error(err)
	}
}

func TestManyCallersAndThoseWhoGiveUp(t *testing.T) {
	f := newFake(t, always(yes))
	c := connected(t, f.url(), WithMaxInFlight(100_000))
	var group sync.WaitGroup
	for n := 0; n < 20; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 0; i < 200; i++ {
				ctx, cancel := context.WithCancel(background)
				if n%4 == 0 {
					go cancel()
				}
				d, err := c.Check(ctx, rule("a"))
				if err == nil && !d.Decided || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%+v, %v", d, err)
				}
				cancel()
			}
		}(n)
	}
	group.Wait()
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
	if n := c.counted.Load(); n != 0 {
		until(t, "all are answered", func() bool { return c.counted.Load() == 0 })
	}
}
