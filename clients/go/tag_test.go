package weir

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const queued = "+QUEUED\r\n"

// pushed is how the answer comes of one that was QUEUED.
func pushed(tag, answer string) string {
	return fmt.Sprintf(">3\r\n$12\r\nweir.acquire\r\n$%d\r\n%s\r\n%s", len(tag), tag, answer)
}

// tagFake is a server on each of whose connections many may stand in line.
func tagFake(t *testing.T, answer func(words []string) string) *fake {
	f := newFake(t, answer)
	f.greeting = tagGreeting
	return f
}

// An outcome is what an Acquire returned.
type outcome struct {
	r   *Reservation
	err error
}

// acquiring begins an Acquire of an hour.
func acquiring(ctx context.Context, c *Client, key string) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := c.Acquire(ctx, rule(key), Waiting{MaxWait: time.Hour})
		done <- outcome{r, err}
	}()
	return done
}

// inLine is how many the client's connection has in line.
func inLine(c *Client) int {
	made := c.shared.Load()
	if made == nil {
		return 0
	}
	made.mu.Lock()
	defer made.mu.Unlock()
	return len(made.lined)
}

// quiet fails unless all that c had is over, and its memory free.
func quiet(t *testing.T, c *Client) {
	t.Helper()
	until(t, "nothing is under way", func() bool { return c.waits.Load()+c.counted.Load() == 0 })
	if made := c.shared.Load(); made != nil && inLine(c) != 0 {
		t.Errorf("%d are in line", inLine(c))
	}
}

func TestThoseWhoWaitShareTheConnection(t *testing.T) {
	f := tagFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			return queued
		}
		return pushed("1", granted) + pushed("77", deniedGrant) + ">1\r\n$5\r\nother\r\n" + yes + pushed("2", deniedGrant)
	})
	c := connected(t, f.url())
	first := acquiring(background, c, "a")
	until(t, "one is in line", func() bool { return inLine(c) == 1 })
	second := acquiring(background, c, "b")
	until(t, "two are in line", func() bool { return inLine(c) == 2 })
	if d, err := c.Check(background, rule("c")); err != nil || !d.Decided || !d.Allowed {
		t.Errorf("a push between two replies is taken for one: %+v, %v", d, err)
	}
	if one := <-first; one.err != nil || one.r.ID != "id" || !one.r.Decision.Decided {
		t.Errorf("%+v, %v", one.r, one.err)
	}
	var denied *Denied
	if two := <-second; !errors.As(two.err, &denied) || denied.Decision.RetryAfter != 90*time.Second {
		t.Errorf("%+v, %v", two.r, two.err)
	}
	sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 3600000 TAG 1 KEYS a 5/min", "WEIR.ACQUIRE MAXWAIT 3600000 TAG 2 KEYS b 5/min",
		"WEIR.THROTTLE KEYS c 5/min")
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
	quiet(t, c)
}

func TestWhatAnAcquireIsAnsweredAtOnceOrByAPushIsTheSame(t *testing.T) {
	for _, each := range []struct{ answer, want string }{
		{granted, "<nil>: <nil>"},
		{deniedGrant, "*weir.Denied: weir: denied by k; retry after 1m30s"},
		{strings.ReplaceAll(deniedGrant, "$-1", "_"), "*weir.Denied: weir: denied by k; retry after 1m30s"},
		{"-ERR the server is shutting down\r\n", "*weir.Unavailable: weir: SERVER: the server is shutting down"},
		{"-ERR unknown attribute 'usr'\r\n", "*weir.Refused: weir: unknown attribute 'usr'"},
		{"+OK\r\n", "*weir.Refused: weir: the answer has another form than this version of the client knows"},
	} {
		for name, answer := range map[string]string{"at once": each.answer, "by a push": queued + pushed("1", each.answer)} {
			f := tagFake(t, always(answer))
			c := connected(t, f.url(), WithOnError(Fail))
			_, err := c.Acquire(background, rule("a"), Waiting{})
			if got := strings.ReplaceAll(fmt.Sprintf("%T: %v", err, err), f.url(), "SERVER"); got != each.want {
				t.Errorf("%s: %s\nexpected %s", name, got, each.want)
			}
			quiet(t, c)
		}
	}
}

func TestASlotAndABoundHoldWaitByATagToo(t *testing.T) {
	f := tagFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			return granted
		}
		return ":60000\r\n"
	})
	c := connected(t, f.url())
	if err := c.Slot(background, "x", Waiting{}, func(context.Context, *Reservation) error { return nil }); err != nil {
		t.Error(err)
	}
	if r, err := c.Acquire(background, rule("a"), Waiting{Hold: time.Second, Bound: true}); err != nil || r.lane != nil {
		t.Errorf("%+v, %v", r, err)
	}
	asked := f.questions()
	if asked[0] != "WEIR.ACQUIRE MAXWAIT 60000 TAG 1 AS api=x" || asked[len(asked)-1] != "WEIR.ACQUIRE MAXWAIT 60000 TAG 2 HOLD 1000 BOUND KEYS a 5/min" {
		t.Errorf("%q", asked)
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

// Whenever a caller gives up, it leaves the line, and what it is granted meanwhile costs nothing.
func TestOneThatGivesUpLeavesTheLine(t *testing.T) {
	const asks = "WEIR.ACQUIRE MAXWAIT 3600000 TAG 1 KEYS a 5/min"
	for _, each := range []struct {
		name, first, left string // what is said to ACQUIRE and to LEAVE
		settled           bool
	}{
		{"in line", queued, ":1\r\n", false},
		{"as it is granted", queued, pushed("1", granted) + ":0\r\n", true},
		{"as it is granted without an id", queued, pushed("1", strings.ReplaceAll(granted, "$2\r\nid", "_")) + ":0\r\n", false},
		{"as it is denied", queued, pushed("1", deniedGrant) + ":0\r\n", false},
		{"before it is QUEUED", silence, queued + ":1\r\n", false},
		{"before it is QUEUED and granted", silence, queued + pushed("1", granted) + ":0\r\n", true},
		{"before it is granted at once", silence, granted + ":0\r\n", true},
		{"before it is refused", silence, "-ERR no\r\n:0\r\n", false},
	} {
		t.Run(each.name, func(t *testing.T) {
			f := tagFake(t, func(words []string) string {
				return map[string]string{"WEIR.ACQUIRE": each.first, "WEIR.LEAVE": each.left, "WEIR.SETTLE": ":0\r\n"}[words[0]]
			})
			c := connected(t, f.url())
			ctx, cancel := context.WithCancel(background)
			done := acquiring(ctx, c, "a")
			until(t, "it is asked", func() bool { return len(f.questions()) == 1 && (each.first == silence || inLine(c) == 1) })
			cancel()
			if one := <-done; one.r != nil || !errors.Is(one.err, context.Canceled) {
				t.Errorf("%+v, %v", one.r, one.err)
			}
			want := []string{asks, "WEIR.LEAVE 1"}
			if each.settled {
				want = append(want, "WEIR.SETTLE id 0")
			}
			until(t, "the server is told", func() bool { return len(f.questions()) == len(want) })
			quiet(t, c)
			sameLines(t, f.questions(), want...)
			if _, ever := f.connections(); ever != 1 {
				t.Errorf("%d connections", ever)
			}
		})
	}
}

func TestACallerThatHasGivenUpAlreadyAsksNothing(t *testing.T) {
	f := tagFake(t, always(granted))
	c := connected(t, f.url())
	ctx, cancel := context.WithCancel(background)
	cancel()
	if one := <-acquiring(ctx, c, "a"); !errors.Is(one.err, context.Canceled) || len(f.questions()) != 0 {
		t.Errorf("%v, %q", one.err, f.questions())
	}
}

// The first answer has the time that any answer has; the push has that and what is waited for.
func TestEachDeadlineIsOfItsOwn(t *testing.T) {
	f := tagFake(t, func(words []string) string {
		switch {
		case words[0] == "WEIR.LEAVE":
			return ":1\r\n"
		case words[len(words)-2] == "long" || words[len(words)-2] == "short":
			return queued
		}
		return silence
	})
	c := connected(t, f.url(), WithTimeout(20*time.Millisecond), WithOnError(Fail), func(s *settings) { s.silence = time.Hour })
	long := acquiring(background, c, "long")
	until(t, "it is in line", func() bool { return inLine(c) == 1 })
	late := func(key string, w Waiting, least time.Duration) {
		t.Helper()
		began := time.Now()
		_, err := c.Acquire(background, rule(key), w)
		if away, ok := isUnavailable(err); !ok || away.Reason != "no answer in time" || time.Since(began) < least {
			t.Errorf("%s: %v after %s", key, err, time.Since(began))
		}
	}
	late("short", Waiting{MaxWait: 30 * time.Millisecond}, 50*time.Millisecond)
	until(t, "it is out of line", func() bool { return f.questions()[len(f.questions())-1] == "WEIR.LEAVE 2" })
	late("silent", Waiting{MaxWait: time.Hour}, 20*time.Millisecond)
	f.say(queued) // late, and nobody's
	until(t, "it is out of line", func() bool { return f.questions()[len(f.questions())-1] == "WEIR.LEAVE 3" })
	if inLine(c) != 1 {
		t.Errorf("%d are in line", inLine(c))
	}
	f.say(pushed("1", granted))
	if one := <-long; one.err != nil || one.r.ID != "id" {
		t.Errorf("one that is QUEUED ended by another's deadline: %v", one.err)
	}
	quiet(t, c)
}

func TestAConnectionThatBreaksEndsAllThatWait(t *testing.T) {
	f := tagFake(t, always(queued))
	var log logged
	var undecided atomic.Int64
	c := connected(t, f.url(), log.option(), WithOnError(func(*Unavailable, Question) (bool, error) {
		return undecided.Add(1)%2 == 0, nil
	}))
	const all = 100
	done := make(chan outcome)
	for i := 0; i < all; i++ {
		go func() { done <- <-acquiring(background, c, "a") }()
	}
	until(t, "all are in line", func() bool { return inLine(c) == all })
	f.goAway()
	let := 0
	for i := 0; i < all; i++ {
		one := <-done
		if one.err == nil && !one.r.Decision.Decided && one.r.ID == "" {
			let++
			continue
		}
		var denied *Denied
		if !errors.As(one.err, &denied) || denied.Decision.Decided {
			t.Errorf("%+v, %v", one.r, one.err)
		}
	}
	if n := len(f.questions()); let != all/2 || n != all || undecided.Load() != all {
		t.Errorf("%d were let through, %d asked, OnError decided %d times", let, n, undecided.Load())
	}
	quiet(t, c)
	if lines := log.lines(); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

func TestCloseEndsThoseInLine(t *testing.T) {
	f := tagFake(t, always(queued))
	c := connected(t, f.url(), WithTimeout(50*time.Millisecond), WithOnError(Fail))
	done := acquiring(background, c, "a")
	until(t, "it is in line", func() bool { return inLine(c) == 1 })
	c.Close()
	if one := <-done; one.err == nil || one.err.Error() != "weir: the client is closed" {
		t.Errorf("%v", one.err)
	}
	quiet(t, c)
}

func TestTenThousandWaitsAreOneConnection(t *testing.T) {
	var tags sync.Map
	f := tagFake(t, func(words []string) string {
		if words[0] != "WEIR.ACQUIRE" {
			return yes
		}
		if _, twice := tags.LoadOrStore(words[4], true); twice {
			t.Errorf("the word %s comes twice", words[4])
		}
		return queued
	})
	c := connected(t, f.url(), WithMaxInFlight(10), WithMaxConnections(2), WithOnError(Fail))
	const all = 10_000
	done := make(chan error, all)
	for i := 0; i < all; i++ {
		go func() {
			_, err := c.Acquire(background, rule("a"), Waiting{MaxWait: time.Hour})
			done <- err
		}()
	}
	until(t, "all are in line", func() bool { return inLine(c) == all })
	if d, err := c.Check(background, rule("b")); err != nil || !d.Decided {
		t.Errorf("those that are QUEUED count as unanswered: %+v, %v", d, err)
	}
	var text strings.Builder
	tags.Range(func(tag, _ any) bool {
		text.WriteString(pushed(tag.(string), granted))
		return true
	})
	f.say(text.String())
	for i := 0; i < all; i++ {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
	quiet(t, c)
	if made := c.shared.Load(); made.lined != nil {
		t.Error("what they took is kept")
	}
}

// A counter is a server whose line moves by chance, and which counts what it grants.
type counter struct {
	mu      sync.Mutex
	chance  *rand.Rand
	line    []string
	granted int
	settled int
}

func (s *counter) answer(words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch words[0] {
	case "WEIR.ACQUIRE":
		if s.chance.Intn(4) == 0 {
			s.granted++
			return granted
		}
		s.line = append(s.line, words[4])
		return queued
	case "WEIR.LEAVE":
		at := slices.Index(s.line, words[1])
		if at < 0 {
			return ":0\r\n"
		}
		if s.chance.Intn(2) == 0 { // it was granted as it left
			s.line = slices.Delete(s.line, at, at+1)
			s.granted++
			return pushed(words[1], granted) + ":0\r\n"
		}
		s.line = slices.Delete(s.line, at, at+1)
		return ":1\r\n"
	case "WEIR.SETTLE":
		s.settled++
		return ":0\r\n"
	}
	var text strings.Builder // a check: some of the line are granted before it is answered
	for ; len(s.line) > 0 && s.chance.Intn(3) > 0; s.line = s.line[1:] {
		s.granted++
		text.WriteString(pushed(s.line[0], granted))
	}
	return text.String() + yes
}

// What was granted was acquired or given back, whoever gives up when.
func TestNoGrantIsLost(t *testing.T) {
	s := &counter{chance: rand.New(rand.NewSource(1))}
	f := tagFake(t, s.answer)
	c := connected(t, f.url(), WithOnError(Fail))
	var acquired atomic.Int64
	var group, checks sync.WaitGroup
	for n := 0; n < 20; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 0; i < 100; i++ {
				ctx, cancel := context.WithCancel(background)
				if n%2 == 0 {
					go cancel()
				}
				_, err := c.Acquire(ctx, rule("a"), Waiting{MaxWait: time.Hour})
				if err == nil {
					acquired.Add(1)
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		}(n)
	}
	over := make(chan struct{})
	checks.Add(1)
	go func() {
		defer checks.Done()
		for {
			select {
			case <-over:
				return
			default:
			}
			if d, err := c.Check(background, rule("b")); err != nil || !d.Decided {
				t.Errorf("%+v, %v", d, err)
			}
			time.Sleep(2 * idleTime) // so that it is looked whether the connection has ended
		}
	}()
	group.Wait()
	close(over)
	checks.Wait()
	quiet(t, c)
	if int64(s.granted) != acquired.Load()+int64(s.settled) || s.settled == 0 {
		t.Errorf("%d were granted, %d acquired, %d given back", s.granted, acquired.Load(), s.settled)
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

func TestWhereThereAreNoTagsAWaitHasAConnection(t *testing.T) {
	resp2 := "*6" + strings.TrimPrefix(tagGreeting, "%3") // which says max_waiters too
	for name, greeting := range map[string]string{"an older server": greetingText, "RESP2": "-NOPROTO unsupported protocol version\r\n"} {
		f := newFake(t, always(granted))
		f.greeting = greeting
		f.older = resp2
		c := connected(t, f.url())
		if one := <-acquiring(background, c, "a"); one.err != nil || one.r.ID != "id" {
			t.Errorf("%s: %+v, %v", name, one.r, one.err)
		}
		sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 3600000 KEYS a 5/min")
		if _, ever := f.connections(); ever != 2 {
			t.Errorf("%s: %d connections", name, ever)
		}
	}
}
