package weir

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Question is what is asked about: a key and its rule, or up to 16 of them, or the attributes of a request, which
// meet the limits of the server's limits file. One of the three, never two.
type Question struct {
	Key, Rule  string
	Rules      []KeyRule
	Attributes map[string]string

	Cost    int64            // units; 0 means 1, or by the limits file what it says
	Costs   map[string]int64 // units by the name of a limit of the limits file
	AtLeast int64            // take what there is from this many to Cost; Decision.Granted says how many
	Class   string           // how important it is: one of the limits file's classes
	Fields  bool             // ask for the fields of HTTP too
}

// A KeyRule is a key and its rule, as in {"user:42", "100/min burst 20"}.
type KeyRule struct{ Key, Rule string }

// Waiting is how long a reservation may wait for its moment, and for how long it is held after that.
type Waiting struct {
	MaxWait time.Duration // 0: 60 s in Acquire and Slot, which wait, and none in Reserve; below 0: none
	Hold    time.Duration // 0: without one, or by the limits file what it says
	Bound   bool          // the hold ends with the client's connection
}

// Outside is what happened elsewhere, where that is not a number of units (which is Question.Cost).
type Outside struct {
	Remaining *int64        // what is left there: Units(3)
	Pause     time.Duration // nobody acts until it is over
	Afresh    bool          // and then the key is as if never used; the limit has to take refunds
	Limit     string        // by the limits file: this limit alone
	Window    string        // and this window of it, as in "1h"
}

// Units is for Outside.Remaining.
func Units(n int64) *int64 { return &n }

// An Actual is what a reservation has cost, at a limit by name, or without one at each that was held.
type Actual struct {
	Limit string
	Units int64
}

// Used is an Actual for each limit that was held.
func Used(units int64) Actual { return Actual{Units: units} }

// milliseconds of the wire are rounded up, so that waiting for them is enough.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

func (q *Question) byRules() bool { return q.Attributes == nil }

func (q *Question) check() error {
	forms := 0
	if q.Key != "" || q.Rule != "" {
		forms++
	}
	if len(q.Rules) > 0 {
		forms++
	}
	if q.Attributes != nil {
		forms++
	}
	switch {
	case forms == 0:
		return refuse("nothing to ask about: a Question has a Key and its Rule, or Rules, or Attributes")
	case forms > 1:
		return refuse("ask by rules or by attributes, and by a Key or by Rules, never by both")
	case q.byRules() && len(q.Rules) == 0 && q.Rule == "":
		return refuse("the Question's Key has no Rule, as in 100/min")
	case len(q.Rules) > 16:
		return refuse("%d Rules; a Question has 1 to 16", len(q.Rules))
	case q.Cost < 0:
		return refuse("Cost: %d is below 0", q.Cost)
	case q.Cost > 0 && len(q.Costs) > 0:
		return refuse("a Question has a Cost or Costs, never both")
	case q.byRules() && len(q.Costs) > 0:
		return refuse("Costs are of limits of a limits file: ask by Attributes")
	case q.byRules() && q.Class != "":
		return refuse("a Class is of a limits file: ask by Attributes")
	case q.AtLeast != 0 && (q.AtLeast < 1 || q.AtLeast > max1(q.Cost)):
		return refuse("AtLeast: %d is not from 1 to the Cost, %d", q.AtLeast, max1(q.Cost))
	}
	return nil
}

func max1(n int64) int64 {
	if n < 1 {
		return 1
	}
	return n
}

// costTo adds COST and ATLEAST.
func (q *Question) costTo(c *command) {
	if len(q.Costs) > 0 {
		var text strings.Builder
		for _, name := range sortedNames(q.Costs) {
			if text.Len() > 0 {
				text.WriteByte(',')
			}
			text.WriteString(name)
			text.WriteByte('=')
			text.WriteString(strconv.FormatInt(q.Costs[name], 10))
		}
		c.word("COST")
		c.word(text.String())
	} else if q.Cost > 0 || !q.byRules() && len(q.Attributes) == 0 {
		c.word("COST")
		c.number(max1(q.Cost))
	}
	if q.AtLeast > 0 {
		c.word("ATLEAST")
		c.number(q.AtLeast)
	}
}

// optionsTo adds what may stand between a verb's own options and the subject.
func (q *Question) optionsTo(c *command) {
	if q.Class != "" {
		c.word("CLASS")
		c.word(q.Class)
	}
	if q.Fields {
		c.word("FIELDS")
	}
}

// subjectTo adds the rules or the attributes; the word before attributes is AS, but for CHECK and LOOK, which take
// nothing else.
func (q *Question) subjectTo(c *command, as string) {
	if !q.byRules() {
		if as != "" {
			c.word(as)
		}
		for _, name := range sortedNames(q.Attributes) {
			c.pair(name, q.Attributes[name])
		}
		return
	}
	c.word("KEYS")
	if len(q.Rules) == 0 {
		c.word(q.Key)
		c.word(q.Rule)
		return
	}
	for _, each := range q.Rules {
		c.word(each.Key)
		c.word(each.Rule)
	}
}

// sortedNames are a map's names in order, so that the same question is the same words.
func sortedNames[V any](from map[string]V) []string {
	var few [8]string
	names := few[:0]
	for name := range from {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ruleOf is the rule of the key that decided, for Call.Limit: a key is nobody's business.
func (q *Question) ruleOf(by string) string {
	if !q.byRules() {
		return by
	}
	for _, each := range q.Rules {
		if each.Key == by {
			return each.Rule
		}
	}
	if len(q.Rules) > 0 {
		return q.Rules[0].Rule
	}
	return q.Rule
}
