package weir_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirtest"
)

var background = context.Background()

func TestALimiterAgainstTheProgram(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	l := s.Client.NewLimiter("api", weir.Every(10*time.Second), 3)
	same := s.Connect().NewLimiter("api", weir.Every(10*time.Second), 3)
	if l.Tokens() != 3 || !l.Allow() || !same.AllowN(time.Now(), 2) || l.Allow() || same.Tokens() != 0 {
		t.Errorf("%v tokens", l.Tokens())
	}
	booked := l.Reserve()
	if d := booked.Delay(); !booked.OK() || d > 10*time.Second || d < 5*time.Second {
		t.Errorf("%v %s", booked.OK(), d)
	}
	if next := same.Reserve(); next.Delay() < 15*time.Second || next.Delay() > 20*time.Second {
		t.Errorf("%s", next.Delay())
	} else {
		next.Cancel()
	}
	booked.Cancel()
	if again := l.Reserve(); again.Delay() > 10*time.Second {
		t.Errorf("what was cancelled is not given out again: %s", again.Delay())
	}
	if far := l.ReserveN(time.Now(), 3); !far.OK() || far.Delay() < 30*time.Second {
		t.Errorf("%s", far.Delay())
	}
	for i := 0; i < 200 && l.ReserveN(time.Now(), 3).OK(); i++ {
		// Each half a minute after the one before, up to an hour.
	}
	if beyond := l.ReserveN(time.Now(), 3); beyond.OK() || beyond.Delay() != weir.InfDuration {
		t.Errorf("beyond --max-wait: %s", beyond.Delay())
	}
	soon, cancel := context.WithTimeout(background, 5*time.Second)
	defer cancel()
	var denied *weir.Denied
	if err := l.Wait(soon); !errors.As(err, &denied) {
		t.Errorf("what cannot be in time: %v", err)
	}
}

func TestConnectWithoutAURLSharesOneOfThisMachine(t *testing.T) {
	needs.Program(t)
	t.Setenv("WEIR_URL", "")
	t.Setenv("WEIR_LOCAL", "")
	folder, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	t.Setenv("XDG_RUNTIME_DIR", folder) // its server ends when the folder has gone
	var group sync.WaitGroup
	allowed := make(chan bool, 8)
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			c, err := weir.Connect(background, "", weir.WithOnError(weir.Fail), weir.WithTimeout(20*time.Second))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			d, err := c.Check(background, weir.Question{Key: "k", Rule: "3/h"})
			if err != nil {
				t.Error(err)
			}
			allowed <- d.Allowed
		}()
	}
	group.Wait()
	close(allowed)
	yes := 0
	for each := range allowed {
		if each {
			yes++
		}
	}
	if yes != 3 {
		t.Errorf("%d of 8 were allowed under 3/h: they do not share one server", yes)
	}
}

func TestALimitsFileWithErrorsIsAnErrorOfConnect(t *testing.T) {
	needs.Program(t)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	file := t.TempDir() + "/limits.yaml"
	os.WriteFile(file, []byte("version: 1\nlimits:\n  user: { by: [user], raet: 20/s }\n"), 0o600)
	says := func(err error) {
		t.Helper()
		var refused *weir.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "limits.user.raet: unknown; did you mean rate?") {
			t.Errorf("%v", err)
		}
	}
	_, err := weir.Connect(background, "weir+local:", weir.WithLimits(file))
	says(err)
	t.Setenv("WEIR_URL", "")
	t.Setenv("WEIR_LIMITS", file)
	c, err := weir.Connect(background, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Check(background, weir.Question{Key: "k", Rule: "1/s"})
	says(err)
	os.WriteFile(file, []byte("version: 1\nlimits:\n  user: { by: [user], rate: 20/s }\n"), 0o600)
	if d, err := c.Check(background, weir.Question{Attributes: map[string]string{"user": "ann"}}); err != nil || d.By != "user" {
		t.Errorf("when it is mended: %+v, %v", d, err)
	}
}

func TestAProgramThatIsMissingIsOneSentence(t *testing.T) {
	t.Setenv("WEIR_PROGRAM", "/none")
	if _, err := weir.Connect(background, "weir+local:"); err == nil || err.Error() != "weir: the weir program is missing: WEIR_PROGRAM=/none is not a program" {
		t.Error(err)
	}
	t.Setenv("WEIR_PROGRAM", "")
	t.Setenv("PATH", "")
	if _, err := weir.Connect(background, "weir+local:"); err == nil ||
		!strings.Contains(err.Error(), "`go get` brings none along: put bin/weir of a release's weir-linux-") {
		t.Error(err)
	}
	t.Setenv("WEIR_PROGRAM", "/bin/true")
	if _, err := weir.Connect(background, "weir+local:"); err == nil {
		t.Error("a program that says nothing is taken")
	}
}

// What a vendor says is what the next call meets.
func TestWhatAVendorSaysIsCharged(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t, weirtest.Limits("version: 1\nattributes: [api]\nlimits:\n  rpm: { by: [api], rate: 60/min }\n  tpm: { by: [api], rate: 9000/min }\n"+
		"  daily: { by: [api], rate: 1000/day algorithm=fixed_window }\n"))
	byFile := weir.Question{Attributes: map[string]string{"api": "openai"}}
	told := func(q weir.Question, a weir.Answer, limits map[string]string) {
		t.Helper()
		if _, err := s.Client.Told(background, q, a, limits); err != nil {
			t.Error(err)
		}
	}
	left := func(q weir.Question) int64 {
		t.Helper()
		d, err := s.Client.Look(background, q)
		if err != nil {
			t.Error(err)
		}
		return d.Remaining
	}
	key := weir.Question{Key: "partner", Rule: "60/min"}
	told(key, weir.Answer{Status: 200, Header: http.Header{"X-Ratelimit-Remaining": {"7"}}}, nil)
	if n := left(key); n != 7 {
		t.Errorf("%d remain, the vendor says 7", n)
	}
	told(key, weir.Answer{Status: 200, Header: http.Header{"X-Ratelimit-Remaining": {"50"}}}, nil)
	if n := left(key); n != 7 {
		t.Errorf("%d remain: nothing is given back", n)
	}
	told(key, weir.Answer{Status: 429, Header: http.Header{"Retry-After": {"30"}}}, nil)
	s.Advance(29 * time.Second)
	if d, _ := s.Client.Check(background, key); d.Allowed || d.RetryAfter != time.Second {
		t.Errorf("29 s after a pause of 30: %+v", d)
	}
	s.Advance(time.Second)
	if d, _ := s.Client.Check(background, key); !d.Allowed {
		t.Errorf("at its end: %+v", d)
	}
	limits := map[string]string{"requests": "rpm", "tokens": "tpm"}
	told(byFile, weir.Answer{Status: 200, Header: http.Header{"X-Ratelimit-Remaining-Requests": {"5"}, "X-Ratelimit-Remaining-Tokens": {"3"}}}, limits)
	if d, _ := s.Client.Look(background, byFile); d.By != "tpm" || d.Remaining != 3 {
		t.Errorf("%+v", d)
	}
	window := weir.Question{Key: "window", Rule: "10/min algorithm=fixed_window"}
	told(window, weir.Answer{Status: 429, Header: http.Header{"Retry-After": {"30"}}}, nil)
	if n := left(window); n != 0 {
		t.Errorf("%d remain of a window, which cannot be paused", n)
	}
	told(byFile, weir.Answer{Status: 429, Header: http.Header{"Retry-After": {"30"}}}, map[string]string{"requests": "daily"})
	if d, _ := s.Client.Look(background, byFile); d.By != "daily" {
		t.Errorf("%+v", d)
	}
}
