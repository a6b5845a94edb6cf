package weir

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

func TestARateIsARule(t *testing.T) {
	for _, each := range []struct {
		rate  Limit
		burst int
		want  string
	}{
		{10, 20, "10/s burst 20"},
		{1e6, 1, "1000000/s burst 1"},
		{Every(100 * time.Millisecond), 5, "10/s burst 5"},
		{Every(time.Minute), 1, "1/60s burst 1"},
		{Every(1500 * time.Millisecond), 1, "1/1500ms burst 1"},
		{1.0 / 3, 1, "1/3s burst 1"},
		{3, 1, "3/s burst 1"},
		{2.5, 1, "1/400ms burst 1"},
		{0.7, 1, "1/1428571429ns burst 1"},
		{7e8, 1, "1/1ns burst 1"},
		{1e300, 1, "1/1ns burst 1"},
		{0, 1, "1/4000000000s burst 1"},
		{0, 1000, "1/4000000s burst 1000"},
		{-1, 1, "1/4000000000s burst 1"},
		{1e-300, 1, "1/4000000000s burst 1"},
	} {
		if got := ruleText(each.rate, each.burst); got != each.want {
			t.Errorf("%v, %d: %s, expected %s", each.rate, each.burst, got, each.want)
		}
	}
	if Every(0) != Inf || Every(-1) != Inf || Inf != Limit(math.MaxFloat64) {
		t.Error("Every(0) is not Inf")
	}
}

func TestWhatNeedsNoQuestionIsNotAsked(t *testing.T) {
	f := newFake(t, always(no))
	c := connected(t, f.url())
	all, none := c.NewLimiter("k", Inf, 0), c.NewLimiter("k", 10, 0)
	if !all.Allow() || all.Wait(background) != nil || !all.Reserve().OK() || all.Reserve().Delay() != 0 {
		t.Error("Inf denies")
	}
	if none.Allow() || none.Reserve().OK() || none.Reserve().Delay() != InfDuration {
		t.Error("a burst of 0 allows")
	}
	if !none.AllowN(time.Time{}, 0) {
		t.Error("no event is denied")
	}
	five := c.NewLimiter("k", 10, 5)
	if err := five.WaitN(background, 6); err == nil || err.Error() != "weir: Wait(n=6) exceeds the limiter's burst 5" {
		t.Error(err)
	}
	if asked := f.questions(); len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
	five.SetLimit(20)
	five.SetBurst(7)
	if five.Allow() || five.Limit() != 20 || five.Burst() != 7 {
		t.Errorf("%v %d", five.Limit(), five.Burst())
	}
	sameLines(t, f.questions(), "WEIR.THROTTLE COST 1 KEYS k 20/s burst 7")
}

func TestAllowHasOnErrorDecide(t *testing.T) {
	away := newFake(t, always(silence))
	away.goAway()
	refuses := newFake(t, always("-ERR quota: no\r\n"))
	for _, url := range []string{away.url(), refuses.url()} {
		var log logged
		options := []Option{WithTimeout(time.Second), log.option()}
		if url == away.url() {
			options[0] = WithTimeout(time.Millisecond)
		}
		allows := connected(t, url, append(options, WithOnError(Allow))...).NewLimiter("k", 1, 2)
		denies := connected(t, url, append(options, WithOnError(Deny))...).NewLimiter("k", 1, 2)
		fails := connected(t, url, append(options, WithOnError(Fail))...).NewLimiter("k", 1, 2)
		got := fmt.Sprint(allows.Allow(), denies.Allow(), fails.Allow(), allows.Reserve().OK(), denies.Reserve().OK(), fails.Reserve().OK(),
			allows.Tokens(), denies.Tokens(), fails.Tokens())
		if want := "true false false true false false 2 0 0"; got != want {
			t.Errorf("%s: %s, expected %s", url, got, want)
		}
		if url == refuses.url() {
			if lines := log.lines(); len(lines) != 3 || lines[0] != `level=ERROR msg="weir at `+url+` cannot be asked: quota: no"` {
				t.Errorf("%q", lines) // one of each client
			}
		}
	}
}

func TestWaitLearnsTheServersLongestWait(t *testing.T) {
	f := newFake(t, func(words []string) string {
		switch {
		case words[2] == "60000":
			return "-ERR MAXWAIT: '60000' is not an integer from 0 to 10000\r\n"
		case words[0] == "WEIR.ACQUIRE":
			return granted
		}
		return "*7\r\n:0\r\n:5\r\n:4\r\n:2500\r\n:1000\r\n$2\r\nid\r\n$1\r\nk\r\n"
	})
	c := connected(t, f.url())
	l := c.NewLimiter("k", 1, 2)
	if err := l.Wait(background); err != nil {
		t.Fatal(err)
	}
	if b := l.Reserve(); !b.OK() || b.Delay() > 2500*time.Millisecond || b.Delay() == 0 {
		t.Errorf("%s", b.Delay())
	}
	sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 60000 COST 1 KEYS k 1/s burst 2", "WEIR.ACQUIRE MAXWAIT 10000 COST 1 KEYS k 1/s burst 2",
		"WEIR.RESERVE MAXWAIT 10000 COST 1 KEYS k 1/s burst 2")
}

func TestWaitOfWhatIsDeniedIsAnErrorAtOnce(t *testing.T) {
	f := newFake(t, always("*7\r\n:1\r\n:5\r\n:0\r\n:90000\r\n:90000\r\n$-1\r\n$1\r\nk\r\n"))
	c := connected(t, f.url())
	var denied *Denied
	if err := c.NewLimiter("k", 1, 2).Wait(background); !errors.As(err, &denied) || denied.Decision.RetryAfter != 90*time.Second ||
		err.Error() != "weir: denied by k; retry after 1m30s" {
		t.Error(err)
	}
}

func TestWaitGoesAsFarAsHelloSays(t *testing.T) {
	f := newFake(t, always(granted))
	f.greeting = "*6\r\n$12\r\nweir_version\r\n$5\r\n" + Version + "\r\n$17\r\nstore_deadline_ms\r\n:0\r\n$11\r\nmax_wait_ms\r\n:3600000\r\n"
	c := connected(t, f.url())
	l := c.NewLimiter("k", 1, 2)
	if err := l.Wait(background); err != nil {
		t.Fatal(err)
	}
	l.Reserve()
	if _, err := c.Acquire(background, rule("a"), Waiting{}); err != nil {
		t.Fatal(err)
	}
	sameLines(t, f.questions(), "WEIR.ACQUIRE MAXWAIT 3600000 COST 1 KEYS k 1/s burst 2", "WEIR.RESERVE MAXWAIT 3600000 COST 1 KEYS k 1/s burst 2",
		"WEIR.ACQUIRE MAXWAIT 60000 KEYS a 5/min")
}
