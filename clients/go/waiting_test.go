package weir

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnAcquireThatIsGivenUpClosesItsConnection(t *testing.T) {
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			return silence
		}
		return yes
	})
	c := connected(t, f.url())
	ctx, cancel := context.WithCancel(background)
	done := make(chan error)
	go func() {
		_, err := c.Acquire(ctx, rule("a"), Waiting{MaxWait: time.Hour})
		done <- err
	}()
	until(t, "it waits", func() bool { open, _ := f.connections(); return open == 2 && len(f.questions()) == 1 })
	if d, err := c.Check(background, rule("b")); err != nil || !d.Decided {
		t.Errorf("another call is held up: %+v, %v", d, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	until(t, "its connection is closed", func() bool { open, _ := f.connections(); return open == 1 })
	sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 3600000 KEYS a 5/min", "WEIR.THROTTLE KEYS b 5/min")
}

func TestMoreAcquiresWaitForAConnection(t *testing.T) {
	release := make(chan struct{}, 100)
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			<-release
		}
		return granted
	})
	c := connected(t, f.url(), WithMaxConnections(3))
	var acquired atomic.Int64
	var group sync.WaitGroup
	for i := 0; i < 10; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if r, err := c.Acquire(background, rule("a"), Waiting{MaxWait: time.Hour}); err != nil || r.ID != "id" {
				t.Errorf("%+v, %v", r, err)
			}
			acquired.Add(1)
		}()
	}
	until(t, "two wait there", func() bool { return len(f.questions()) == 2 })
	short, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(short, rule("a"), Waiting{MaxWait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	r, err := c.Acquire(background, rule("a"), Waiting{MaxWait: 5 * time.Millisecond})
	if err != nil || !r.Decision.Decided {
		t.Errorf("%+v, %v", r, err)
	}
	if asked := f.questions(); asked[2] != "WEIR.RESERVE KEYS a 5/min" {
		t.Errorf("what can be had now was asked for by %q", asked)
	}
	if open, _ := f.connections(); open != 3 {
		t.Errorf("%d connections", open)
	}
	for i := 0; i < 10; i++ {
		release <- struct{}{}
	}
	group.Wait()
	if open, ever := f.connections(); open != 3 || ever != 3 {
		t.Errorf("%d connections, %d ever", open, ever)
	}
}

func TestWhatWaitedHereWaitsForLessThere(t *testing.T) {
	release := make(chan struct{})
	first := true
	f := newFake(t, func([]string) string {
		if first {
			first = false
			<-release
		}
		return granted
	})
	c := connected(t, f.url(), WithMaxConnections(2))
	go c.Acquire(background, rule("a"), Waiting{MaxWait: time.Hour})
	until(t, "one waits", func() bool { return len(f.questions()) == 1 })
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	if _, err := c.Acquire(background, rule("b"), Waiting{MaxWait: time.Hour}); err != nil {
		t.Fatal(err)
	}
	var ms int64
	if n, _ := fmt.Sscanf(f.questions()[1], "WEIR.ACQUIRE MAXWAIT %d KEYS b", &ms); n != 1 || ms > 3600000-10 || ms < 3500000 {
		t.Errorf("%s", f.questions()[1])
	}
}

func TestASlotIsHeldWhileItsBodyRuns(t *testing.T) {
	var extended atomic.Int64
	f := newFake(t, func(words []string) string {
		switch words[0] {
		case "WEIR.EXTEND":
			extended.Add(1)
			return ":30\r\n" // so it is extended again after 10 ms
		case "WEIR.SETTLE":
			return ":0\r\n"
		}
		return granted
	})
	c := connected(t, f.url())
	wrong := errors.New("mine")
	err := c.Slot(background, "openai", Waiting{Hold: time.Minute}, func(ctx context.Context, r *Reservation) error {
		until(t, "it was extended thrice", func() bool { return extended.Load() == 3 })
		return wrong
	})
	if err != wrong {
		t.Error(err)
	}
	asked := f.questions()
	if asked[0] != "WEIR.ACQUIRE MAXWAIT 60000 AS api=openai" || asked[1] != "WEIR.EXTEND id 60000" || asked[len(asked)-1] != "WEIR.SETTLE id" {
		t.Errorf("%q", asked)
	}
	err = c.SlotFor(background, Question{Key: "k", Rule: "in_flight=5"}, Waiting{}, func(ctx context.Context, r *Reservation) error {
		_, err := r.Settle(ctx, Used(7))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	asked = f.questions()
	if last := strings.Join(asked[len(asked)-1:], ""); last != "WEIR.SETTLE id 7" && !strings.HasPrefix(last, "WEIR.EXTEND") {
		t.Errorf("%q", asked)
	}
	settled := 0
	for _, each := range asked {
		if each == "WEIR.SETTLE id" {
			settled++
		}
		if strings.HasPrefix(each, "WEIR.ACQUIRE") && strings.Contains(each, "in_flight") && each != "WEIR.ACQUIRE MAXWAIT 60000 HOLD 30000 KEYS k in_flight=5" {
			t.Error(each)
		}
	}
	if settled != 1 {
		t.Errorf("settled at its charge %d times; the second settled itself: %q", settled, asked)
	}
}

func TestASlotIsGivenBackByAPanic(t *testing.T) {
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			return granted
		}
		return ":60000\r\n"
	})
	c := connected(t, f.url())
	func() {
		defer func() { recover() }()
		c.Slot(background, "x", Waiting{}, func(context.Context, *Reservation) error { panic("mine") })
	}()
	asked := f.questions()
	if asked[len(asked)-1] != "WEIR.SETTLE id" {
		t.Errorf("%q", asked)
	}
}

func TestAHoldThatIsOverIsLogged(t *testing.T) {
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			return granted
		}
		return ":0\r\n"
	})
	var log logged
	c := connected(t, f.url(), log.option())
	err := c.Slot(background, "x", Waiting{}, func(context.Context, *Reservation) error {
		until(t, "it is logged", func() bool { return log.lines()[0] != "" })
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	sameLines(t, log.lines(), `level=WARN msg="weir: the hold of a slot is over while its call goes on" by=k`)
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	f := newFake(t, func(words []string) string {
		switch {
		case words[0] == "WEIR.ACQUIRE" && words[len(words)-1] == "api=held":
			return granted
		case words[0] == "WEIR.EXTEND":
			return ":60000\r\n"
		case words[0] == "WEIR.SETTLE":
			return ":0\r\n"
		}
		return silence
	})
	c := connected(t, f.url(), WithTimeout(50*time.Millisecond), WithOnError(Fail))
	var group sync.WaitGroup
	group.Add(2)
	held := make(chan struct{})
	go func() {
		defer group.Done()
		c.Slot(background, "held", Waiting{}, func(ctx context.Context, _ *Reservation) error {
			close(held)
			time.Sleep(100 * time.Millisecond)
			return nil
		})
	}()
	go func() {
		defer group.Done()
		_, err := c.Acquire(background, rule("a"), Waiting{MaxWait: time.Hour})
		if _, ok := isUnavailable(err); !ok {
			t.Error(err)
		}
	}()
	<-held
	until(t, "one waits", func() bool {
		return strings.Contains(strings.Join(f.questions(), "\n"), "WEIR.ACQUIRE MAXWAIT 3600000")
	})
	for _, what := range []string{"closing", "closing twice"} {
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	group.Wait()
	settled := 0
	for _, each := range f.questions() {
		if each == "WEIR.SETTLE id" {
			settled++
		}
	}
	if settled != 1 {
		t.Errorf("%q", f.questions())
	}
	if _, err := c.Check(background, rule("a")); err == nil || err.Error() != "weir: the client is closed" {
		t.Error(err)
	}
	until(t, "no connection is left", func() bool { open, _ := f.connections(); return open == 0 })
}

// Where one connection had several, giving up an Acquire by it would end the holds of the others.
func TestABoundHoldHasItsConnectionToItself(t *testing.T) {
	f := newFake(t, func(words []string) string {
		switch {
		case words[0] == "WEIR.SETTLE":
			return ":0\r\n"
		case words[len(words)-2] == "full":
			return silence
		}
		return granted
	})
	c := connected(t, f.url(), WithMaxConnections(3))
	bound := Waiting{MaxWait: time.Hour, Hold: time.Minute, Bound: true}
	r, err := c.Acquire(background, rule("a"), bound)
	if err != nil {
		t.Fatal(err)
	}
	given := func() {
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		if _, err := c.Acquire(ctx, rule("full"), bound); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	given()
	if open, ever := f.connections(); open < 2 || ever != 3 {
		t.Errorf("%d connections, %d ever", open, ever)
	}
	r.Settle(background)
	r.Settle(background)
	if _, err := c.Acquire(background, rule("b"), Waiting{MaxWait: time.Hour}); err != nil {
		t.Error(err)
	}
	if _, ever := f.connections(); ever != 3 {
		t.Errorf("%d connections ever: the first was free again", ever)
	}
	if n := len(c.lanes.places); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

func TestAnOutageEndsNoSlot(t *testing.T) {
	var away atomic.Bool
	extended := make(chan struct{}, 100)
	f := newFake(t, func(words []string) string {
		switch {
		case words[0] == "WEIR.ACQUIRE":
			return granted
		case words[0] == "WEIR.EXTEND":
			extended <- struct{}{}
			if away.Load() {
				return hangUp
			}
		}
		return ":30\r\n"
	})
	var log logged
	c := connected(t, f.url(), log.option())
	err := c.Slot(background, "x", Waiting{Hold: 30 * time.Millisecond}, func(context.Context, *Reservation) error {
		<-extended
		away.Store(true)
		<-extended
		away.Store(false)
		for i := 0; i < 3; i++ {
			<-extended
		}
		return nil
	})
	if err != nil || strings.Contains(strings.Join(log.lines(), ""), "is over") {
		t.Errorf("%v, %q", err, log.lines())
	}
}

func TestACancelThatComesTooLateLeavesTheSlotToBeSettled(t *testing.T) {
	f := newFake(t, func(words []string) string {
		switch words[0] {
		case "WEIR.ACQUIRE":
			return granted
		case "WEIR.CANCEL":
			return ":0\r\n"
		}
		return ":60000\r\n"
	})
	c := connected(t, f.url())
	err := c.Slot(background, "x", Waiting{}, func(ctx context.Context, r *Reservation) error {
		_, err := r.Cancel(ctx)
		return err
	})
	if asked := f.questions(); err != nil || asked[len(asked)-1] != "WEIR.SETTLE id" {
		t.Errorf("%v, %q", err, asked)
	}
}

const deniedGrant = "*7\r\n:1\r\n:5\r\n:0\r\n:90000\r\n:90000\r\n$-1\r\n$1\r\nk\r\n"

// A program that looks at the error alone does not act on a denial.
func TestReserveOfWhatIsDeniedIsAnError(t *testing.T) {
	f := newFake(t, always(deniedGrant))
	c := connected(t, f.url())
	var denied *Denied
	if r, err := c.Reserve(background, rule("a"), Waiting{}); r != nil || !errors.As(err, &denied) || denied.Decision.RetryAfter != 90*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	r, err := c.TryReserve(background, rule("a"), Waiting{MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	if wait, granted := r.Wait(); granted || wait != 0 || !r.At.IsZero() || r.Decision.Allowed {
		t.Errorf("%s, %v: %+v", wait, granted, r)
	}
	sameLines(t, f.questions(), "WEIR.RESERVE KEYS a 5/min", "WEIR.RESERVE KEYS a 5/min")
}

func TestAWaitThatIsNotSaidIsCutToWhatIsAllowed(t *testing.T) {
	f := newFake(t, func(words []string) string {
		if words[2] == "60000" && words[len(words)-1] == "api=short" {
			return "-ERR MAXWAIT: '60000' is not an integer from 0 to 2000\r\n"
		}
		return granted
	})
	c := connected(t, f.url())
	short := Question{Attributes: map[string]string{"api": "short"}}
	for _, each := range []Question{short, rule("a")} {
		if _, err := c.Acquire(background, each, Waiting{}); err != nil {
			t.Error(err)
		}
	}
	var refused *Refused
	if _, err := c.Acquire(background, short, Waiting{MaxWait: time.Minute}); !errors.As(err, &refused) {
		t.Errorf("one that is said is as it is: %v", err)
	}
	if _, err := c.Acquire(background, rule("a"), Waiting{MaxWait: -1}); err != nil {
		t.Error(err)
	}
	sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 60000 AS api=short", "WEIR.ACQUIRE MAXWAIT 2000 AS api=short",
		"WEIR.ACQUIRE MAXWAIT 60000 KEYS a 5/min", // what is a limit's own is not the server's
		"WEIR.ACQUIRE MAXWAIT 60000 AS api=short", "WEIR.ACQUIRE MAXWAIT 0 KEYS a 5/min")
}
