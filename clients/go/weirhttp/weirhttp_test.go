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
	app := Middleware(s.Client, WithRules("1/min"), WithOnDenied(func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
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

// by asks for a path from an address.
func by(handler http.Handler, path, address string) string {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return fmt.Sprint(w.Code)
}

// A guesser meets a limit of log-ins beside one of the whole site: neither has what the other is charged.
func TestALimitOfLogInsBesideOneOfTheSite(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	site := Middleware(s.Client, WithRules("20/min", "30/h"))
	login := Middleware(s.Client, WithRules("5/min"))
	mux := http.NewServeMux()
	mux.HandleFunc("/", hello)
	mux.Handle("/login", login(http.HandlerFunc(hello)))
	app := site(mux)
	if got := by(app, "/", "192.0.2.1:1") + by(app, "/login", "192.0.2.1:2"); got != "200200" {
		t.Errorf("the first log-in: %s", got)
	}
	passed := 1
	for minute := 0; minute < 10; minute++ {
		for i := 0; i < 10; i++ {
			if by(app, "/login", fmt.Sprintf("192.0.2.1:%d", i)) == "200" {
				passed++
			}
		}
		s.Advance(6 * time.Second)
	}
	if passed > 5+5 { // the burst, and one for each 12 s
		t.Errorf("%d guesses in a minute", passed)
	}
	if got := by(app, "/login", "192.0.2.2:1"); got != "200" {
		t.Errorf("another client: %s", got)
	}
	six := func(n int) string { return by(app, "/", fmt.Sprintf("[2001:db8:1:2::%x]:1", n)) }
	for i := 0; i < 20; i++ {
		if got := six(i); got != "200" {
			t.Errorf("%d: %s", i, got)
		}
	}
	if got := six(99); got != "429" {
		t.Errorf("one network of IPv6 is one client: %s", got)
	}
}

func TestALimitThatIsMetTwiceIsChargedOnce(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	limited := Middleware(s.Client, WithRules("2/min"))
	mux := http.NewServeMux()
	mux.Handle("/a", limited(http.HandlerFunc(hello)))
	mux.HandleFunc("/b", hello)
	app := limited(mux)
	if got := by(app, "/a", "192.0.2.1:1") + by(app, "/b", "192.0.2.1:1") + by(app, "/a", "192.0.2.1:1"); got != "200200429" {
		t.Error(got)
	}
}

func TestWhatARequestCostsAndWhoIsExempt(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	app := Middleware(s.Client, WithName("uploads"), WithRules("10/min;100/h"),
		WithKey(func(r *http.Request) string { return r.URL.Query().Get("user") }),
		WithExempt(func(r *http.Request) bool { return r.URL.Path == "/health" }),
		WithCostOf(func(r *http.Request) int64 {
			if r.URL.Path == "/free" {
				return 0
			}
			return 4
		}))(http.HandlerFunc(hello))
	got := ""
	for _, path := range []string{"/?user=ann", "/?user=ann", "/?user=ann", "/health?user=ann", "/free?user=ann", "/?user=bob"} {
		got += by(app, path, "@") + " "
	}
	if got != "200 200 429 200 200 200 " {
		t.Error(got)
	}
	five := Middleware(s.Client, WithName("five"), WithRules("10/min"), WithCost(5))(http.HandlerFunc(hello))
	if got := by(five, "/", "192.0.2.1:1") + by(five, "/", "192.0.2.1:1") + by(five, "/", "192.0.2.1:1"); got != "200200429" {
		t.Error(got)
	}
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

// Who shares a count with whom: a limit is one wherever it is mounted, and none but it has its counts.
func TestWhoSharesWhat(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	shop, jobs := s.Connect(weir.WithApp("shop")), s.Connect(weir.WithApp("jobs"))
	one, same, again := WithRules("1/h"), WithName("same"), WithName("another")
	object := Middleware(shop, one)
	mounted := http.NewServeMux()
	for _, tenant := range []string{"/ann", "/bob"} {
		mounted.Handle(tenant+"/", http.StripPrefix(tenant, object(http.HandlerFunc(hello))))
	}
	for _, each := range []struct {
		name          string
		first, second http.Handler
		shared        bool
	}{
		{"one object on two routes", object(http.HandlerFunc(hello)), object(http.NotFoundHandler()), true},
		{"one object in a router that is mounted by a value", mounted, mounted, true},
		{"two applications", object(http.HandlerFunc(hello)), Middleware(jobs, one)(http.HandlerFunc(hello)), false},
		{"two names", object(http.HandlerFunc(hello)), Middleware(shop, one, again)(http.HandlerFunc(hello)), false},
		{"one name, given twice", Middleware(shop, one, same)(http.HandlerFunc(hello)), Middleware(shop, one, same)(http.HandlerFunc(hello)), true},
	} {
		s.Advance(time.Hour)
		if got := by(each.first, "/ann/x", "192.0.2.1:1"); got != "200" {
			t.Errorf("%s: %s", each.name, got)
		}
		if got := by(each.second, "/bob/x", "192.0.2.1:1"); (got == "429") != each.shared {
			t.Errorf("%s: %s", each.name, got)
		}
	}
}
