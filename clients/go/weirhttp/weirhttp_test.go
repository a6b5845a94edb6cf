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

func TestRequestsAreLimitedByARule(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	app := Middleware(s.Client, WithRule("1/min", ClientIP), WithDenied(func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, "again in %s", d.RetryAfter)
	}))(http.HandlerFunc(hello))
	if got := answered(app, "/", ""); !strings.HasPrefix(got, "200 hello RateLimit-Policy: ") {
		t.Error(got)
	}
	if got := answered(app, "/", ""); !strings.HasPrefix(got, "429 again in 1m0s RateLimit-Policy: ") || !strings.HasSuffix(got, "Retry-After: 60") {
		t.Error(got)
	}
	s.Advance(time.Minute)
	if got := answered(app, "/", ""); !strings.HasPrefix(got, "200 hello") {
		t.Error(got)
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
