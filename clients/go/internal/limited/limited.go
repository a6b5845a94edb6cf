// Package limited is a limit that travels with the requests of a framework: what the options of weirhttp and weirgrpc say
// of one, and asking by it.
package limited

import (
	"context"

	weir "example.com/weir/go"
)

// A Limit of requests R, once it is complete.
type Limit[R any] struct {
	Client     *weir.Client
	Rules      []string
	Name       string
	Attributes func(R) map[string]string
	Key        func(R) string
	Exempt     func(R) bool
	Cost       func(R) int64
	// Peer is the address that a request comes from, and its X-Forwarded-For.
	Peer func(R) (string, []string)

	gate *weir.Gate
}

// Complete says what of it cannot stand together. Without rules it asks by these attributes unless it has others.
func (l *Limit[R]) Complete(attributes func(R) map[string]string) (err error) {
	switch {
	case l.Rules != nil && l.Attributes != nil:
		return &weir.Refused{Text: "limit by WithRules or by WithAttributes, never by both"}
	case l.Rules == nil && l.Key != nil:
		return &weir.Refused{Text: "WithKey is of WithRules"}
	case l.Rules == nil && l.Attributes == nil:
		l.Attributes = attributes
	}
	l.gate, err = l.Client.NewGate(l.Name, l.Rules...)
	return err
}

// Ask is the decision about a request, and the context that it goes on with.
func (l *Limit[R]) Ask(ctx context.Context, r R) (context.Context, weir.Decision, error) {
	passes, cost := weir.Decision{Allowed: true}, int64(0)
	if l.Exempt != nil && l.Exempt(r) {
		return ctx, passes, nil
	}
	if l.Cost != nil {
		if cost = l.Cost(r); cost == 0 {
			return ctx, passes, nil
		}
	}
	if l.Attributes != nil {
		return l.gate.CheckAttributes(ctx, l.Attributes(r), cost)
	}
	who, err := l.who(r)
	if err != nil {
		return ctx, weir.Decision{}, err
	}
	return l.gate.Check(ctx, who, cost)
}

func (l *Limit[R]) who(r R) (string, error) {
	if l.Key != nil {
		return l.Key(r), nil
	}
	address, forwarded := l.Peer(r)
	return l.gate.Who(address, forwarded...)
}
