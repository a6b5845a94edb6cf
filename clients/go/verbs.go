package weir

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Version is the client's, and that of the weir that it was made with. One minor version older or newer works.
const Version = "0.1.0"

// Gone is what Settle answers where there is no such reservation.
const Gone time.Duration = -1

// Check asks whether it may happen now, and charges it if so.
func (c *Client) Check(ctx context.Context, q Question) (Decision, error) {
	if err := q.check(); err != nil {
		return Decision{}, err
	}
	verb := "WEIR.CHECK"
	if q.byRules() {
		verb = "WEIR.THROTTLE"
	}
	p := newPending(verb)
	q.costTo(&p.command)
	q.optionsTo(&p.command)
	q.subjectTo(&p.command, "")
	return c.decide(ctx, p, &q, "check")
}

// Look asks what Check would be answered now, and charges nothing. By rules a denial has no RetryAfter.
func (c *Client) Look(ctx context.Context, q Question) (Decision, error) {
	if err := q.check(); err != nil {
		return Decision{}, err
	}
	if q.byRules() && q.AtLeast != 0 {
		return Decision{}, refuse("a Look by rules says what remains: it takes no AtLeast")
	}
	var p *pending
	if q.byRules() {
		p = newPending("WEIR.THROTTLE")
		p.word("COST")
		p.word("0")
	} else {
		p = newPending("WEIR.LOOK")
		q.costTo(&p.command)
	}
	q.optionsTo(&p.command)
	q.subjectTo(&p.command, "")
	return c.decide(ctx, p, &q, "look")
}

// decide asks, and has OnError decide where no weir does. What is remembered to be denied is not asked.
func (c *Client) decide(ctx context.Context, p *pending, q *Question, verb string) (d Decision, err error) {
	var began time.Time
	if c.set.onCall != nil {
		began = time.Now()
	}
	words := ""
	if c.memory != nil && verb == "check" {
		words = string(p.encoded())
		d = c.memory.recall(words)
	}
	if !d.Decided {
		d, err = c.askToDecide(ctx, p, q, verb)
		if words != "" && err == nil {
			c.memory.keep(words, d)
		}
	}
	p.recycle()
	if c.set.onCall != nil {
		c.told(ctx, Call{verb, q.ruleOf(d.By), d.Allowed, d.Decided, time.Since(began), err})
	}
	return d, err
}

func (c *Client) askToDecide(ctx context.Context, p *pending, q *Question, verb string) (Decision, error) {
	err := c.call(ctx, p)
	if err != nil {
		return c.decideWithout(err, q)
	}
	d, err := decisionOf(&p.reply, q, max1(q.Cost))
	if verb == "look" && q.byRules() && d.Remaining < max1(q.Cost) {
		d.Allowed, d.Granted = false, 0 // COST 0 passes always: what is left says it
		d.Never = d.Limit < max1(q.Cost)
	}
	return d, err
}

func (c *Client) told(ctx context.Context, call Call) {
	if c.set.onCall != nil {
		c.outage.watched(ctx, c.set.onCall, call)
	}
}

// decideWithout is OnError's decision, where err is one that it decides about.
func (c *Client) decideWithout(err error, q *Question) (Decision, error) {
	away, ok := isUnavailable(err)
	if !ok {
		return Decision{}, err
	}
	allowed, err := c.set.onError(away, *q)
	if err != nil {
		return Decision{Err: away}, err
	}
	d := Decision{Allowed: allowed, Limit: -1, Remaining: -1, Err: away}
	if allowed {
		d.Granted = max1(q.Cost)
	} else {
		d.RetryAfter = time.Second
	}
	return d, nil
}

// Charge charges what happened outside, whether there was room or not: the question's cost, what is left there, or a
// pause for all.
func (c *Client) Charge(ctx context.Context, q Question, o Outside) (Charged, error) {
	if err := q.check(); err != nil {
		return Charged{}, err
	}
	if o.Remaining != nil && o.Pause != 0 || (o.Remaining != nil || o.Pause != 0) && (q.Cost != 0 || q.Costs != nil) {
		return Charged{}, refuse("what is charged is a Cost, or what is Remaining, or a Pause: one of them")
	}
	if o.Afresh && o.Pause == 0 {
		return Charged{}, refuse("Afresh is said of a Pause alone")
	}
	p := newPending("WEIR.CHARGE")
	switch {
	case o.Remaining != nil:
		p.word("REMAINING")
		p.number(*o.Remaining)
	case o.Pause != 0:
		p.word("PAUSE")
		p.number(milliseconds(o.Pause))
		if o.Afresh {
			p.word("AFRESH")
		}
	default:
		q.costTo(&p.command)
	}
	limitTo(&p.command, o.Limit, o.Window)
	q.subjectTo(&p.command, "AS")
	r, err := c.simply(ctx, p, "charge", &q)
	if err != nil || r.kind == 0 {
		return Charged{}, err
	}
	return chargedOf(&r)
}

func limitTo(p *command, limit, window string) {
	if limit != "" {
		p.word("LIMIT")
		p.word(limit)
	}
	if window != "" {
		p.word("WINDOW")
		p.word(window)
	}
}

// Refund gives back the last units that were charged and not used, and says how many. The server or the limit has to
// allow it.
func (c *Client) Refund(ctx context.Context, q Question) (int64, error) {
	if err := q.check(); err != nil {
		return 0, err
	}
	p := newPending("WEIR.REFUND")
	q.costTo(&p.command)
	q.subjectTo(&p.command, "AS")
	c.memory.forget()
	r, err := c.simply(ctx, p, "refund", &q)
	return r.number, err
}

// Reset forgets a key, or every state of the limits that these attributes meet, or of the one that is named. It says
// how many there were.
func (c *Client) Reset(ctx context.Context, q Question, limit ...string) (int64, error) {
	if len(q.Rules) == 0 && q.Attributes == nil {
		q.Rules = []KeyRule{{Key: q.Key, Rule: q.Rule}}
	} else if err := q.check(); err != nil {
		return 0, err
	}
	c.memory.forget()
	if !q.byRules() {
		p := newPending("WEIR.RESET")
		p.word("AS")
		limitTo(&p.command, strings.Join(limit, ","), "")
		q.subjectTo(&p.command, "")
		r, err := c.simply(ctx, p, "reset", &q)
		return r.number, err
	}
	verb := "WEIR.RESET"
	if len(q.Rules) > 1 {
		verb = "DEL"
	}
	p := newPending(verb)
	for _, each := range q.Rules {
		p.word(each.Key)
	}
	r, err := c.simply(ctx, p, "reset", &q)
	return r.number, err
}

// Cancel gives a moment back before it has come, and says how many units went back.
func (c *Client) Cancel(ctx context.Context, id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	c.memory.forget()
	r, err := c.byID(ctx, "cancel", id, nil)
	return r.number, err
}

// Settle says what it has cost, or without an actual that it cost what was charged, and ends its hold. It answers the
// time until one more unit would be admitted, or Gone.
func (c *Client) Settle(ctx context.Context, id string, actual ...Actual) (time.Duration, error) {
	if id == "" {
		return Gone, nil
	}
	var text []byte
	for i, each := range actual {
		if each.Limit == "" && len(actual) > 1 {
			return 0, refuse("of several actuals each names its limit")
		}
		if i > 0 {
			text = append(text, ',')
		}
		if each.Limit != "" {
			text = append(append(text, each.Limit...), '=')
		}
		text = strconv.AppendInt(text, each.Units, 10)
	}
	c.memory.forget()
	r, err := c.byID(ctx, "settle", id, text)
	if err != nil {
		return 0, err
	}
	if r.number < 0 || r.kind == 0 {
		return Gone, nil
	}
	return fromMilliseconds(r.number), nil
}

// Extend has a hold end that long from now, or from its moment, and answers how long it has: 0 if it has ended.
func (c *Client) Extend(ctx context.Context, id string, d time.Duration) (time.Duration, error) {
	if id == "" {
		return 0, nil
	}
	r, err := c.simply(ctx, extendPending(id, d), "extend", &Question{})
	return fromMilliseconds(r.number), err
}

func extendPending(id string, d time.Duration) *pending {
	p := newPending("WEIR.EXTEND")
	p.word(id)
	p.number(milliseconds(d))
	return p
}

// Moment answers how long it is until a reservation's moment, by now; false if there is no such reservation.
func (c *Client) Moment(ctx context.Context, id string) (time.Duration, bool, error) {
	if id == "" {
		return 0, false, nil
	}
	r, err := c.byID(ctx, "moment", id, nil)
	if err != nil || r.number < 0 || r.kind == 0 {
		return 0, false, err
	}
	return fromMilliseconds(r.number), true, nil
}

func (c *Client) byID(ctx context.Context, verb, id string, argument []byte) (reply, error) {
	p := newPending("WEIR." + strings.ToUpper(verb))
	p.word(id)
	if argument != nil {
		p.word(string(argument))
	}
	return c.simply(ctx, p, verb, &Question{})
}

// simply asks what is not a decision. While no weir answers, OnError says by its error whether that is one; otherwise the
// answer is that nothing was done.
func (c *Client) simply(ctx context.Context, p *pending, verb string, q *Question) (reply, error) {
	r, err := c.barely(ctx, p, verb, q)
	if away, ok := isUnavailable(err); ok {
		_, err = c.set.onError(away, *q)
	}
	return r, err
}

// barely is simply where OnError has no say.
func (c *Client) barely(ctx context.Context, p *pending, verb string, q *Question) (reply, error) {
	began := time.Now()
	err := c.call(ctx, p)
	var r reply
	if err == nil {
		r, p.reply = p.reply, reply{}
	}
	p.recycle()
	if err == nil && r.kind != ':' && r.kind != '*' {
		r, err = reply{}, errUnexpected
	}
	if c.set.onCall != nil {
		c.told(ctx, Call{Verb: verb, Limit: q.ruleOf(""), Decided: err == nil, Duration: time.Since(began), Err: err})
	}
	return r, err
}
