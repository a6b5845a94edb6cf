// Package weirhttp limits a net/http handler by weir:
//
//	limited := weirhttp.Middleware(client)(mux)
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
)

// An Option is a setting of Middleware.
type Option func(*settings)

type settings struct {
	question func(*http.Request) weir.Question
	denied   func(http.ResponseWriter, *http.Request, weir.Decision)
}

// WithAttributes says by which attributes a request is asked about; Attributes unless given. A request of which it
// says none passes without being asked about.
func WithAttributes(of func(*http.Request) map[string]string) Option {
	return func(s *settings) {
		s.question = func(r *http.Request) weir.Question { return weir.Question{Attributes: of(r)} }
	}
}

// WithRule limits by a rule instead of the server's limits file: each key has its own count. ClientIP is a key; an
// empty one passes without being asked about.
func WithRule(rule string, key func(*http.Request) string) Option {
	return func(s *settings) {
		s.question = func(r *http.Request) weir.Question {
			if k := key(r); k != "" {
				return weir.Question{Key: k, Rule: rule}
			}
			return weir.Question{}
		}
	}
}

// WithDenied writes the answer to a request that is denied, in the place of a 429 of one line. The fields are set.
func WithDenied(answer func(http.ResponseWriter, *http.Request, weir.Decision)) Option {
	return func(s *settings) { s.denied = answer }
}

// Middleware limits what it is given. While no weir decides, the client's OnError does. A request that lacks an
// attribute which a limit requires is answered 400; where weir cannot be asked for another reason, such as a wrong
// password, 503, and the client's log says why.
func Middleware(client *weir.Client, options ...Option) func(http.Handler) http.Handler {
	set := settings{denied: tooMany}
	WithAttributes(Attributes)(&set)
	for _, each := range options {
		each(&set)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := set.question(r)
			if len(q.Attributes) == 0 && q.Rule == "" {
				next.ServeHTTP(w, r)
				return
			}
			q.Fields = true
			d, err := client.Check(r.Context(), q)
			switch {
			case err != nil:
				cannotAsk(client, w, r, err)
			case d.Allowed:
				setFields(w.Header(), d)
				next.ServeHTTP(w, r)
			default:
				setFields(w.Header(), d)
				set.denied(w, r, d)
			}
		})
	}
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
