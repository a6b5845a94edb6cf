package weir_test

import (
	"context"
	"errors"
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
	_, err := weir.Connect(background, "weir+local:", weir.WithLimits(file))
	var refused *weir.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "limits.user.raet: unknown; did you mean rate?") {
		t.Errorf("%v", err)
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
		err.Error() != "weir: the weir program is missing: it is not in PATH, and WEIR_PROGRAM is not set; install it, or connect to a URL" {
		t.Error(err)
	}
	t.Setenv("WEIR_PROGRAM", "/bin/true")
	if _, err := weir.Connect(background, "weir+local:"); err == nil {
		t.Error("a program that says nothing is taken")
	}
}
