package weir

import (
	"context"
	"strings"
	"sync"
)

// A Gate is a limit that travels with requests: each of its rules is counted by App, its name and who asks. One without
// rules asks by attributes. weirhttp and weirgrpc ask by it; it is for adapters of other frameworks.
type Gate struct {
	client *Client
	name   string
	rules  []string
}

// NewGate makes a limit of rules, of which a request needs all, or of the limits file where there are none. Without a name its rules are the name.
// A second one of the same name is an error, since both would be counted as one, unless it has the same rules and both
// were given the name.
func (c *Client) NewGate(name string, rules ...string) (*Gate, error) {
	if len(rules) == 0 {
		if name != "" {
			return nil, refuse("the name '%s' is of no rules; limits of the limits file have names of their own", name)
		}
		return &Gate{client: c}, nil
	}
	found, err := ParseRules(rules...)
	if err != nil {
		return nil, err
	}
	text := strings.Join(found, ";")
	for _, each := range found {
		if strings.HasPrefix(each, "in_flight=") {
			return nil, refuse("rule '%s': a slot is held while a call goes on, which a check does not: take Slot or SlotFor", each)
		}
	}
	given := name != ""
	if !given {
		name = text
	}
	if err := c.claim(name, given, text); err != nil {
		return nil, err
	}
	return &Gate{client: c, name: name, rules: found}, nil
}

var toldOfForwarded sync.Once // once for the process

// Who is the client at an address, as a framework tells it: without port, IPv6 by its network of 64 bits. forwarded are
// the request's X-Forwarded-For: where they tell of a proxy that nothing here trusts, the log says so, once.
func (g *Gate) Who(address string, forwarded ...string) (string, error) {
	if address == "" || address[0] == '@' || address[0] == '/' { // of a Unix socket
		return "", refuse("no address: the connection has none, so WithKey has to say who asks")
	}
	who := whoOf(address)
	if len(forwarded) > 0 && !holdsAddress(forwarded, who) {
		toldOfForwarded.Do(func() {
			g.client.Logger().Warn("weir: requests have X-Forwarded-For, and nothing here takes the client's address from it, so all clients " +
				"of a proxy are counted as one: let what trusts your proxy set the request's remote address, or count by WithKey")
		})
	}
	return who, nil
}

func holdsAddress(forwarded []string, who string) bool {
	for _, line := range forwarded {
		for _, each := range strings.Split(line, ",") {
			if whoOf(strings.TrimSpace(each)) == who {
				return true
			}
		}
	}
	return false
}

// charged is in the context of a request that has been asked about.
type charged struct {
	client *Client
	key    string
}

// Check asks for who, what Who says or a key of your own, with the fields of HTTP. cost is 1 where it is 0. The request
// goes on with the context that is answered, by which the same limit knows at another place that it has been charged.
func (g *Gate) Check(ctx context.Context, who string, cost int64) (context.Context, Decision, error) {
	q := Question{Rules: make([]KeyRule, 0, len(g.rules)), Cost: cost, Fields: true}
	for _, rule := range g.rules {
		q.Rules = append(q.Rules, KeyRule{identityKey(g.client.App(), g.name, who, rule), rule})
	}
	return g.client.checkOnce(ctx, charged{g.client, q.Rules[0].Key}, q)
}

// CheckAttributes asks by attributes, and is otherwise as Check is. Where they are nil the request
// passes without being asked about; where they are empty it is asked about, and misses the attributes that a limit requires.
func (g *Gate) CheckAttributes(ctx context.Context, attributes map[string]string, cost int64) (context.Context, Decision, error) {
	if attributes == nil {
		return ctx, Decision{Allowed: true}, nil
	}
	return g.client.checkOnce(ctx, g, Question{Attributes: attributes, Cost: cost, Fields: true})
}

func (c *Client) checkOnce(ctx context.Context, mark any, q Question) (context.Context, Decision, error) {
	if told, asked := ctx.Value(mark).(Decision); asked {
		return ctx, told, nil
	}
	d, err := c.Check(ctx, q)
	if err == nil && d.Allowed {
		ctx = context.WithValue(ctx, mark, d)
	}
	return ctx, d, err
}
