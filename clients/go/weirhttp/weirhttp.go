// Package weirhttp limits a net/http handler by weir:
//
//	limited := weirhttp.Middleware(client, weirhttp.WithRules("10/s", "1000/h"))
//	http.ListenAndServe(address, limited(mux))
//
// A request that is denied is answered 429 with the server's own fields: RateLimit, RateLimit-Policy, Retry-After.
// Those that are allowed get the fields too.
package weirhttp

import (
	"errors"
	"net"
	"net/http"
	"strings"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/limited"
)

// An Option is a setting of Middleware.
type Option func(*settings)

type settings struct {
	limited.Limit[*http.Request]
	denied func(http.ResponseWriter, *http.Request, weir.Decision)
}

// WithRules limits by rules instead of the server's limits file, as in "10/min" or "10/min;100/h": each client's address
// has a count for each, and a request needs all.
func WithRules(rules ...string) Option {
	return func(s *settings) { s.Rules = append(s.Rules, rules...) }
}

// WithKey says what WithRules counts by in the place of the client's address. Requests of one key, an empty one too,
// share a count.
func WithKey(of func(*http.Request) string) Option { return func(s *settings) { s.Key = of } }

// WithName names what WithRules makes; its rules are the name unless it is given. A second limit of the same rules needs
// one. Two of one name and the same rules share their counts.
func WithName(name string) Option { return func(s *settings) { s.Name = name } }

// WithAttributes says by which attributes a request is asked about; Attributes unless given. A request of which it
// says nil passes without being asked about.
func WithAttributes(of func(*http.Request) map[string]string) Option {
	return func(s *settings) { s.Attributes = of }
}

// WithExempt lets the requests pass of which it says true.
func WithExempt(is func(*http.Request) bool) Option { return func(s *settings) { s.Exempt = is } }

// WithCost is what a request costs: 1, or what the limits file says, unless it is given. WithCostOf says it of each.
func WithCost(units int64) Option {
	return WithCostOf(func(*http.Request) int64 { return units })
}

// WithCostOf says what a request costs. One that costs 0 passes without being asked about.
func WithCostOf(of func(*http.Request) int64) Option { return func(s *settings) { s.Cost = of } }

// WithOnDenied writes the answer to a request that is denied, in the place of a 429 of one line. The fields are set.
func WithOnDenied(answer func(http.ResponseWriter, *http.Request, weir.Decision)) Option {
	return func(s *settings) { s.denied = answer }
}

// Middleware limits what it is given: one limit, however many handlers it is put around, and a request that comes by
// several of them is charged once. While no weir decides, the client's OnError does. A request that lacks an
// attribute which a limit requires is answered 400; where weir cannot be asked for another reason, such as a wrong
// password, 503, and the client's log says why.
//
// As http.ServeMux does, it panics on what only the programmer can mend: a rule that is none (see weir.ParseRules), and
// a second limit of the same name.
func Middleware(client *weir.Client, options ...Option) func(http.Handler) http.Handler {
	set := &settings{limited.Limit[*http.Request]{Client: client, Peer: peer}, tooMany}
	for _, each := range options {
		each(set)
	}
	if err := set.Complete(Attributes); err != nil {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, d, err := set.Ask(r.Context(), r)
			switch {
			case err != nil:
				cannotAsk(client, w, r, err)
			case d.Allowed:
				setFields(w.Header(), d)
				next.ServeHTTP(w, r.WithContext(ctx))
			default:
				setFields(w.Header(), d)
				set.denied(w, r, d)
			}
		})
	}
}

func peer(r *http.Request) (string, []string) {
	return r.RemoteAddr, r.Header.Values("X-Forwarded-For")
}

func setFields(header http.Header, d weir.Decision) {
	for _, each := range d.Fields {
		header.Set(each.Name, each.Value)
	}
	if !d.Decided && !d.Allowed {
		header.Set("Retry-After", "1") // OnError said no, and has no fields
	}
}

func tooMany(w http.ResponseWriter, _ *http.Request, _ weir.Decision) {
	http.Error(w, "Too many requests", http.StatusTooManyRequests)
}

func cannotAsk(client *weir.Client, w http.ResponseWriter, r *http.Request, err error) {
	var refused *weir.Refused
	switch {
	case err == r.Context().Err(): // the browser has gone, or its time is over
		http.Error(w, "Service unavailable", http.StatusServiceUnavailable)
	case errors.As(err, &refused) && strings.Contains(refused.Text, "the request has no attribute"):
		http.Error(w, "Bad request", http.StatusBadRequest)
	default:
		client.Misconfigured(err)
		http.Error(w, "Service unavailable", http.StatusServiceUnavailable)
	}
}

// Attributes are ip, method and path, and as user the name of Basic authentication, where there is one. Other names of
// users are known to what authenticates them: give WithAttributes a function that adds them to these.
func Attributes(r *http.Request) map[string]string {
	attributes := map[string]string{"ip": ClientIP(r), "method": r.Method, "path": r.URL.Path}
	if user, _, ok := r.BasicAuth(); ok {
		attributes["user"] = user
	}
	return attributes
}

// ClientIP is the address that the connection comes from. After a proxy that is the proxy's: have it in
// Request.RemoteAddr by what trusts the proxy's fields, or take another key.
func ClientIP(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
