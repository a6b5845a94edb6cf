package weir

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"
)

// An Option is a setting of Connect.
type Option func(*settings)

type settings struct {
	timeout, connectTimeout  time.Duration
	onError                  func(*Unavailable, Question) (bool, error)
	user, password, limits   string
	app                      string
	tls                      *tls.Config
	remember                 bool
	onCall                   func(context.Context, Call)
	maxConnections, inFlight int
	silence                  time.Duration // a connection that answers nothing for so long beyond a deadline is given up
	log                      *slog.Logger
}

// A busy machine that runs tests is given more.
var callTimeout = 200 * time.Millisecond

func defaults() settings {
	return settings{timeout: callTimeout, connectTimeout: time.Second, onError: Allow, maxConnections: 16,
		inFlight: 1024, silence: time.Second}
}

// Allow answers yes while no weir decides; it is what happens unless WithOnError says otherwise.
func Allow(*Unavailable, Question) (bool, error) { return true, nil }

// Deny answers no while no weir decides.
func Deny(*Unavailable, Question) (bool, error) { return false, nil }

// Fail makes it the error of the call.
func Fail(away *Unavailable, _ Question) (bool, error) { return false, away }

// WithOnError says what a call gets while no weir decides: Allow, Deny, Fail, or a function of yours, which says whether
// the call is allowed. An error that it returns is the call's.
func WithOnError(decide func(*Unavailable, Question) (allowed bool, err error)) Option {
	return func(s *settings) { s.onError = decide }
}

// WithTimeout bounds each call, beyond what it waits for: 200 ms unless given, above the 50 ms of the server's own
// --store-deadline, so that the server's fallback answers first.
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// WithConnectTimeout bounds making a connection, TLS and the first greeting included: 1 s unless given.
func WithConnectTimeout(d time.Duration) Option { return func(s *settings) { s.connectTimeout = d } }

// WithUser is the name for AUTH, where the URL has none.
func WithUser(name string) Option { return func(s *settings) { s.user = name } }

// WithPassword is the password, or the token, where the URL has none; else WEIR_PASSWORD is.
func WithPassword(word string) Option { return func(s *settings) { s.password = word } }

// WithTLS is for weirs://: RootCAs, Certificates for a server that asks its clients for one, and so on.
func WithTLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// WithLimits is the limits file of a weir that is started or joined on this machine; WEIR_LIMITS is it where none is given.
// A server that a URL names has its own: then this one is told in the log and left alone.
func WithLimits(file string) Option { return func(s *settings) { s.limits = file } }

// WithApp is the name of the application, under which limits without a key of their own are counted: see Client.App.
func WithApp(name string) Option { return func(s *settings) { s.app = name } }

// WithRememberedDenials answers the words of a check that was denied here, without asking, until its RetryAfter: for
// at most 10 s, and at most 10,000 of them.
func WithRememberedDenials() Option { return func(s *settings) { s.remember = true } }

// WithOnCall calls watch after each call, for metrics. It gets no key.
func WithOnCall(watch func(context.Context, Call)) Option {
	return func(s *settings) { s.onCall = watch }
}

// WithMaxConnections bounds the connections: one that all calls share, and with a server of before HELLO's max_waiters one
// for each Acquire that waits. 16 unless given, and at least 2.
func WithMaxConnections(n int) Option { return func(s *settings) { s.maxConnections = n } }

// WithMaxInFlight bounds the calls that are unanswered at once, without those of Acquire: 1024 unless given. One more is
// Unavailable.
func WithMaxInFlight(n int) Option { return func(s *settings) { s.inFlight = n } }

// WithLogger is where the client says that its server has gone or is back; slog.Default() unless given.
func WithLogger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// A Call is what WithOnCall is told.
type Call struct {
	Verb             string // check, reserve, ...
	Limit            string // the limit that decided, or the rule; never a key
	Allowed, Decided bool   // Allowed is false for what decides nothing, such as a charge
	Duration         time.Duration
	Err              error
}

func (s *settings) check() error {
	switch {
	case s.timeout <= 0:
		return refuse("WithTimeout(%s): a time above 0 is expected", s.timeout)
	case s.connectTimeout <= 0:
		return refuse("WithConnectTimeout(%s): a time above 0 is expected", s.connectTimeout)
	case s.onError == nil:
		return refuse("WithOnError(nil): Allow, Deny, Fail or a function is expected")
	case s.maxConnections < 2:
		return refuse("WithMaxConnections(%d): at least 2 are expected, one of them shared", s.maxConnections)
	case s.inFlight < 1:
		return refuse("WithMaxInFlight(%d): at least 1 is expected", s.inFlight)
	}
	return nil
}
