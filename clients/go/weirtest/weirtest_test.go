package weirtest

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
)

var background = context.Background()

func TestTimePassesWhenTheTestSays(t *testing.T) {
	needs.Program(t)
	start := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	s := Start(t, Now(start), Limits("version: 1\nlimits: { login: { by: [user], rate: 2/min } }\n"))
	ask := weir.Question{Attributes: map[string]string{"user": "ann"}}
	for i, want := range []bool{true, true, false} {
		if d, err := s.Client.Check(background, ask); err != nil || d.Allowed != want || d.By != "login" {
			t.Errorf("%d: %+v, %v", i, d, err)
		}
	}
	s.Advance(29 * time.Second)
	if d, _ := s.Client.Check(background, ask); d.Allowed || d.RetryAfter != time.Second {
		t.Errorf("after 29 s: %+v", d)
	}
	s.Advance(time.Second)
	if d, _ := s.Client.Check(background, ask); !d.Allowed {
		t.Errorf("after 30 s: %+v", d)
	}
	if passed := s.Now().Sub(start); passed != 30*time.Second {
		t.Errorf("the clock has gone on by %s", passed)
	}
}

func TestAWaitEndsWhenItsTimeHasPassed(t *testing.T) {
	needs.Program(t)
	s := Start(t)
	limiter := s.Client.NewLimiter("jobs", weir.Every(10*time.Second), 1)
	if err := limiter.Wait(background); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- limiter.Wait(background) }()
	for end := time.Now().Add(patience); !strings.Contains(clients(t, s), "blocked_clients:1"); {
		if time.Now().After(end) {
			t.Fatal("it does not stand in line")
		}
	}
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	s.Advance(10 * time.Second)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// clients is what the server says of those who are connected.
func clients(t *testing.T, s *Server) string {
	io.WriteString(s.time, "INFO clients\r\n")
	length, err := s.reader.ReadString('\n')
	n, wrong := strconv.Atoi(strings.Trim(length, "$\r\n"))
	text := make([]byte, n+2)
	if _, short := io.ReadFull(s.reader, text); err != nil || wrong != nil || short != nil {
		t.Fatalf("%q: %v, %v, %v", length, err, wrong, short)
	}
	return string(text)
}

func TestServersOfTwoTestsAreTwo(t *testing.T) {
	needs.Program(t)
	a, b := Start(t), Start(t)
	if a.URL == b.URL {
		t.Error(a.URL)
	}
	once := weir.Question{Key: "k", Rule: "1/h"}
	for _, each := range []*Server{a, b} {
		if d, err := each.Client.Check(background, once); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
	}
}

func TestWhatNobodyDecidesIsAnError(t *testing.T) {
	needs.Program(t)
	s := Start(t)
	soon := weir.WithTimeout(50 * time.Millisecond)
	fails, allows := s.Connect(soon), s.Connect(soon, weir.WithOnError(weir.Allow))
	s.tell("SHUTDOWN NOSAVE") // it has no answer
	once := weir.Question{Key: "k", Rule: "1/h"}
	var away *weir.Unavailable
	for end := time.Now().Add(patience); away == nil && time.Now().Before(end); {
		_, err := fails.Check(background, once) // until it has drained
		errors.As(err, &away)
	}
	if away == nil {
		t.Error("what nobody decides is allowed")
	}
	if d, err := allows.Check(background, once); err != nil || d.Decided || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}
