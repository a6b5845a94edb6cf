package weir

import (
	"errors"
	"fmt"
	"strings"
)

// Unavailable says that no weir decided: it did not answer in time, went away, or too many calls are unanswered.
// OnError decides then. Whether it had already charged the call cannot be known; nothing is sent twice.
type Unavailable struct {
	Server string // where it was asked, without a password; empty where it was not asked
	Reason string
	cause  error
}

func (e *Unavailable) Error() string {
	if e.Server == "" {
		return "weir: " + e.Reason
	}
	return "weir: " + e.Server + ": " + e.Reason
}

// Unwrap is the network's error, if there was one.
func (e *Unavailable) Unwrap() error { return e.cause }

// Refused says that a weir answered with an error, or would: Text is its sentence.
type Refused struct{ Text string }

func (e *Refused) Error() string { return "weir: " + e.Text }

// Unauthorized says that the server does not take our password, our certificate or our name, or that we do not
// trust its certificate. OnError does not decide about it.
type Unauthorized struct {
	Server string
	Text   string
	cause  error
}

func (e *Unauthorized) Error() string { return "weir: " + e.Server + ": " + e.Text }

// Unwrap is the error of TLS, if there was one.
func (e *Unauthorized) Unwrap() error { return e.cause }

// Denied is the error of Reserve, Acquire, Slot and Limiter.Wait when the request is denied.
type Denied struct{ Decision Decision }

func (e *Denied) Error() string {
	by := ""
	if e.Decision.By != "" {
		by = " by " + e.Decision.By
	}
	switch {
	case !e.Decision.Decided:
		return "weir: denied, because weir does not answer: " + strings.TrimPrefix(e.Decision.Err.Error(), "weir: ")
	case e.Decision.Never:
		return "weir: denied" + by + "; waiting does not help"
	}
	return fmt.Sprintf("weir: denied%s; retry after %s", by, e.Decision.RetryAfter)
}

func refuse(format string, arguments ...any) error {
	return &Refused{fmt.Sprintf(format, arguments...)}
}

var errClosed = &Unavailable{Reason: "the client is closed"}

// errorOf is the error that an error reply means.
func errorOf(server, text string) error {
	code, rest, _ := strings.Cut(text, " ")
	switch {
	case code == "NOAUTH", code == "WRONGPASS", code == "NOPERM":
		return &Unauthorized{Server: server, Text: text}
	case code == "ERR" && strings.HasPrefix(rest, "too many wrong passwords"):
		return &Unauthorized{Server: server, Text: rest}
	case code == "ERR" && isAway(rest):
		return &Unavailable{Server: server, Reason: rest}
	case code == "ERR":
		return &Refused{rest}
	}
	return &Refused{text}
}

// isAway says whether this error is about the connection or the server, which no call of ours has earned.
func isAway(text string) bool {
	return strings.HasPrefix(text, "max number of clients reached") || strings.HasPrefix(text, "closed: ") ||
		text == "the server is shutting down"
}

// isUnavailable says whether OnError decides about err.
func isUnavailable(err error) (*Unavailable, bool) {
	var away *Unavailable
	ok := errors.As(err, &away)
	return away, ok
}
