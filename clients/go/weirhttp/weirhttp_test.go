package weirhttp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirtest"
)

const limits = `
version: 1
attributes: [user]
limits:
  address: { by: [ip], rate: 3/min }
  user: { by: [user], rate: 1/min, required: true }
routes:
  - { when: { path: /me }, limits: [address, user] }
  - { limits: [address] }
`

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// answered is a request's answer on one line: status, body, fields.
func answered(handler http.Handler, path, user string) string {
	r := httptest.NewRequest("GET", path, nil)
	if user != "" {
		r.SetBasicAuth(user, "x")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	line := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After"} {
		if value := w.Header().Get(name); value != "" {
			line += " " + name + ": " + value
		}
	}
	return line
}

func TestRequestsAreLimitedByTheLimitsFile(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t, weirtest.Limits(limits))
	app := Middleware(s.Client)(http.HandlerFunc(hello))
	policy := `RateLimit-Policy: "address";q=3;w=60 RateLimit: "address"`
	for _, each := range []struct {
		advance          time.Duration
		path, user, want string
	}{
		{0, "/", "", "200 hello " + policy + ";r=2;t=40"},
		{0, "/", "", "200 hello " + policy + ";r=1;t=20"},
		{0, "/me", "", "400 Bad request"},
		{0, "/me", "ann", `200 hello RateLimit-Policy: "address";q=3;w=60, "user";q=1;w=60 RateLimit: "address";r=0;t=20, "user";r=0;t=60`},
		{0, "/", "", "429 Too many requests " + policy + ";r=0;t=20 Retry-After: 20"},
		{20 * time.Second, "/", "", "200 hello " + policy + ";r=0;t=20"},
	} {
		if each.advance > 0 {
			s.Advance(each.advance)
		}
		if got := answered(app, each.path, each.user); got != each.want {
			t.Errorf("%s: %s\nexpected %s", each.path, got, each.want)
		}
	}
}

func TestAWeirThatCannotBeAskedIsA503AndOneLine(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	var log bytes.Buffer
	client := s.Connect(weir.WithTimeout(20*time.Second), weir.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	app := Middleware(client)(http.HandlerFunc(hello))
	for i := 0; i < 3; i++ {
		if got := answered(app, "/", ""); got != "503 Service unavailable" {
			t.Error(got)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "cannot be asked: there is no limits file: start weir with --limits FILE") {
		t.Errorf("%d lines: %s", lines, log.String())
	}
}

func TestARequestPassesWhereNobodyDecides(t *testing.T) {
	quiet := weir.WithLogger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	for _, each := range []struct {
		onError func(*weir.Unavailable, weir.Question) (bool, error)
		want    string
	}{{weir.Allow, "200 hello"}, {weir.Deny, "429 Too many requests Retry-After: 1"}, {weir.Fail, "503 Service unavailable"}} {
		client, err := weir.Connect(context.Background(), "unix:/none/weir.sock", quiet, weir.WithTimeout(time.Millisecond), weir.WithOnError(each.onError))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if got := answered(Middleware(client)(http.HandlerFunc(hello)), "/", ""); got != each.want {
			t.Errorf("%s, expected %s", got, each.want)
		}
	}
}

// by asks for a path from an address.
func by(handler http.Handler, path, address string) string {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return fmt.Sprint(w.Code)
}

func TestARequestWithoutAnAddressIsToldWhatToDo(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	var log bytes.Buffer
	client := s.Connect(weir.WithTimeout(20*time.Second), weir.WithApp("a"), weir.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	app := Middleware(client, WithRules("1/min"))(http.HandlerFunc(hello))
	if got := by(app, "/", "@"); got != "503" || !strings.Contains(log.String(), "no address: the connection has none, so WithKey has to say who asks") {
		t.Errorf("%s: %s", got, log.String())
	}
}

func TestWhatOnlyTheProgrammerCanMendPanics(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	Middleware(s.Client, WithRules("3/min"))
	for _, each := range []struct {
		want    string
		options []Option
	}{
		{"a limit of the name '3/1m' is there already", []Option{WithRules("3 per minute")}},
		{"write '10/min', or '10/month align=calendar'", []Option{WithRules("10/m")}},
		{"to refuse everybody: deny", []Option{WithRules("0/s")}},
		{"by WithRules or by WithAttributes", []Option{WithRules("4/s"), WithAttributes(Attributes)}},
		{"WithKey is of WithRules", []Option{WithKey(ClientIP)}},
		{"the name 'x' is of no rules", []Option{WithName("x")}},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), each.want) {
					t.Errorf("%v, expected %s", err, each.want)
				}
			}()
			Middleware(s.Client, each.options...)
		}()
	}
}
