package weirhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirtest"
)

// clients/cases/middleware.json: what a limit means in a framework, and who shares one.

type aCase struct {
	Name, Of, Wrong string
	Limits          map[string]aLimit
	Apps            []anApp
	Steps           []aStep
}

type aLimit struct {
	Rules     []string
	Name      string
	Key, Cost any // or {"header": NAME}
	Exempt    *struct{ Header string }
	OnDenied  *struct{ Status int } `json:"on_denied"`
}

type anApp struct {
	App    string
	All    []string
	Routes []struct {
		Under, Path string
		Limits      []string
	}
}

type aStep struct {
	Ask, From, Text, Guess string
	App, Times             int
	Statuses, Passes       []int
	Headers                map[string]string
	Fields                 map[string]any
	AdvanceMs              int `json:"advance_ms"`
	EveryMs                int `json:"every_ms"`
}

func header(of any) (string, bool) {
	object, is := of.(map[string]any)
	if !is {
		return "", false
	}
	return object["header"].(string), true
}

func (l aLimit) options() []Option {
	options := []Option{WithRules(l.Rules...), WithName(l.Name)}
	if name, of := header(l.Key); of {
		options = append(options, WithKey(func(r *http.Request) string { return r.Header.Get(name) }))
	} else if l.Key != nil {
		options = append(options, WithKey(func(*http.Request) string { return l.Key.(string) }))
	}
	if name, of := header(l.Cost); of {
		options = append(options, WithCostOf(func(r *http.Request) int64 {
			units, _ := strconv.ParseInt(r.Header.Get(name), 10, 64)
			return units
		}))
	} else if l.Cost != nil {
		options = append(options, WithCost(int64(l.Cost.(float64))))
	}
	if l.Exempt != nil {
		options = append(options, WithExempt(func(r *http.Request) bool { return r.Header.Get(l.Exempt.Header) == "yes" }))
	}
	if l.OnDenied != nil {
		options = append(options, WithOnDenied(func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
			w.WriteHeader(l.OnDenied.Status)
			fmt.Fprintf(w, "again in %g s", d.RetryAfter.Seconds())
		}))
	}
	return options
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// handler is an application of limits that are made.
func (a anApp) handler(made map[string]func(http.Handler) http.Handler) http.Handler {
	within := func(limits []string, inner http.Handler) http.Handler {
		for i := range limits {
			inner = made[limits[len(limits)-1-i]](inner)
		}
		return inner
	}
	type route struct {
		path    *regexp.Regexp
		handler http.Handler
	}
	var routes []route
	for _, each := range a.Routes {
		path := regexp.MustCompile("^" + parameter.ReplaceAllString(each.Under+each.Path, "[^/]+") + "$")
		routes = append(routes, route{path, within(each.Limits, http.HandlerFunc(hello))})
	}
	return within(a.All, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, each := range routes {
			if each.path.MatchString(r.URL.Path) {
				each.handler.ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	}))
}

// started are the applications of a case, or what is wrong with its limits.
func (c aCase) started(s *weirtest.Server) (apps []http.Handler, wrong error) {
	defer func() {
		if said := recover(); said != nil {
			wrong = said.(error)
		}
	}()
	for _, each := range c.Apps {
		if each.App == "" {
			each.App = "shop"
		}
		client := s.Connect(weir.WithApp(each.App))
		made := map[string]func(http.Handler) http.Handler{}
		for name, limit := range c.Limits {
			made[name] = Middleware(client, limit.options()...)
		}
		apps = append(apps, each.handler(made))
	}
	return apps, nil
}

func (step aStep) do(t *testing.T, s *weirtest.Server, apps []http.Handler) {
	ports := 0
	ask := func(path, from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		ports++
		r.RemoteAddr = fmt.Sprintf("%s:%d", from, ports)
		for name, value := range step.Headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		apps[step.App].ServeHTTP(w, r)
		return w
	}
	if step.From == "" {
		step.From = "127.0.0.1"
	}
	passed := 0
	for i := 0; i < step.Times; i++ {
		if ask(step.Guess, step.From).Code == 200 {
			passed++
		}
		s.Advance(time.Duration(step.EveryMs) * time.Millisecond)
	}
	if step.Guess != "" && (passed < step.Passes[0] || passed > step.Passes[1]) {
		t.Errorf("%d guesses", passed)
	}
	s.Advance(time.Duration(step.AdvanceMs) * time.Millisecond)
	var last *httptest.ResponseRecorder
	for i, status := range step.Statuses {
		if last = ask(step.Ask, step.From); last.Code != status {
			t.Errorf("%s, %d: %d, expected %d", step.Ask, i, last.Code, status)
		}
	}
	for name, value := range step.Fields {
		if value == nil {
			value = ""
		}
		if got := last.Header().Get(name); got != value {
			t.Errorf("%s: %s: %s, expected %s", step.Ask, name, got, value)
		}
	}
	if step.Text != "" && strings.TrimSpace(last.Body.String()) != step.Text {
		t.Errorf("%s: %q", step.Ask, last.Body)
	}
}

func TestCases(t *testing.T) {
	needs.Program(t)
	text, err := os.ReadFile("../../cases/middleware.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Cases []aCase }
	if err := json.Unmarshal(text, &table); err != nil || len(table.Cases) < 20 {
		t.Fatalf("%d cases, %v", len(table.Cases), err)
	}
	for _, each := range table.Cases {
		if each.Of == "placed" {
			continue
		}
		t.Run(each.Name, func(t *testing.T) {
			s := weirtest.Start(t)
			apps, err := each.started(s)
			if (err != nil) != (each.Wrong != "") || err != nil && !strings.Contains(err.Error(), each.Wrong) {
				t.Fatalf("%v, expected %s", err, each.Wrong)
			}
			for _, step := range each.Steps {
				step.do(t, s, apps)
			}
		})
	}
}
