package weir

import (
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the answer of a vendor says of its limits, by the table of vendors in clients/cases/vendors.json.

// An Answer is what a vendor's API has answered: of an http.Response its StatusCode and Header. The Body is looked at for
// what is said there alone, by Shopify's GraphQL and GitHub's secondary limits; leave it out of a stream.
type Answer struct {
	Status int
	Header map[string][]string
	Body   []byte
}

// Told charges what the answer of a vendor says: what remains there, and how long to stay away. The question is what the
// call was asked by. limits says which of the vendor's limits are taken over, by the names of the table, and what each is
// here: a key of the question, a limit's name where it asks by Attributes, or "", the question as it is. nil is
// {"requests": ""}. Headers that the table does not have are left alone; what was told is never made more generous.
func (c *Client) Told(ctx context.Context, q Question, a Answer, limits map[string]string) ([]Charged, error) {
	if limits == nil {
		limits = map[string]string{"requests": ""}
	}
	q.Cost, q.Costs, q.AtLeast = 0, nil, 0
	var all []Charged
	heard := a.heard(time.Now())
	for _, vendors := range sortedNames(limits) {
		about, limit, err := q.narrowed(limits[vendors])
		if err != nil {
			return all, err
		}
		for _, o := range outsideOf(heard, vendors, limit) {
			charged, err := c.chargeAsFarAsItGoes(ctx, about, o)
			if err != nil {
				return all, err
			}
			all = append(all, charged)
		}
	}
	return all, nil
}

// narrowed is the question about one of its limits, and LIMIT's word for it.
func (q Question) narrowed(name string) (Question, string, error) {
	if name == "" || !q.byRules() {
		return q, name, nil
	}
	if name == q.Key {
		return q, "", nil
	}
	for _, each := range q.Rules {
		if each.Key == name {
			return Question{Key: each.Key, Rule: each.Rule}, "", nil
		}
	}
	return q, "", refuse("Told's limits name '%s', which is no key of the Question", name)
}

// outsideOf is what one limit is charged: what remains, and the longest pause.
func outsideOf(heard []hearing, vendors, limit string) (all []Outside) {
	var pause time.Duration
	for _, each := range heard {
		if each.limit != vendors && each.limit != "" {
			continue
		}
		if each.remaining >= 0 {
			all = append(all, Outside{Remaining: Units(each.remaining), Limit: limit})
		}
		pause = max(pause, each.pause)
	}
	if pause > 0 {
		all = append(all, Outside{Pause: pause, Limit: limit})
	}
	return all
}

// chargeAsFarAsItGoes has nothing remain of a window, which cannot be paused.
func (c *Client) chargeAsFarAsItGoes(ctx context.Context, q Question, o Outside) (Charged, error) {
	charged, err := c.Charge(ctx, q, o)
	if refused, ok := err.(*Refused); ok && o.Pause > 0 && strings.Contains(refused.Text, "cannot be paused") {
		return c.Charge(ctx, q, Outside{Remaining: Units(0), Limit: o.Limit})
	}
	return charged, err
}

// A hearing is what was said of one of the vendor's limits, or of all ("").
type hearing struct {
	limit     string
	remaining int64 // -1: nothing
	pause     time.Duration
}

const longestPause = 24 * time.Hour

// heard reads an answer, of which now is when it came, by our clock.
func (a Answer) heard(now time.Time) []hearing {
	headers := map[string]string{}
	for name, values := range a.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if theirs, ok := httpDate(headers["date"]); ok {
		now = theirs // so that no clock has to be right
	}
	pause := a.pauseOfAll(headers, now)
	refused := pause == 0 && slices.Contains(vendorRefusals, a.Status)
	var all []hearing
	hear := func(limit string, remaining int64, reset string, window bool) {
		h := hearing{limit: limit, remaining: remaining}
		if remaining == 0 && (refused || window && pause == 0) || remaining < 0 && refused && a.Status == 429 {
			h.pause = timeUntil(reset, now)
		}
		all = combined(all, h)
	}
	for _, each := range vendorLimits {
		hear(each.named(headers), each.left(headers), firstOf(headers, each.reset), each.window)
	}
	for _, name := range vendorFields {
		for _, item := range rateLimitItems(headers[name]) {
			hear(item.limit, item.remaining, item.reset, true)
		}
	}
	for _, each := range vendorBodies {
		if n, ok := numberAt(a.Body, each.remaining); ok {
			hear(each.limit, n, "", false)
		}
	}
	if refused && !slices.ContainsFunc(all, func(h hearing) bool { return h.pause > 0 }) {
		pause = a.pauseOfMessage(headers)
	}
	return combined(all, hearing{"", -1, pause})
}

// combined adds what says something; of two that say it of one limit the stricter.
func combined(all []hearing, h hearing) []hearing {
	if h.remaining < 0 && h.pause == 0 {
		return all
	}
	for i := range all {
		if known := &all[i]; known.limit == h.limit {
			if known.remaining < 0 || h.remaining >= 0 && h.remaining < known.remaining {
				known.remaining = h.remaining
			}
			known.pause = max(known.pause, h.pause)
			return all
		}
	}
	return append(all, h)
}

// pauseOfAll is how long a refusal says to stay away.
func (a Answer) pauseOfAll(headers map[string]string, now time.Time) time.Duration {
	if !slices.Contains(vendorRefusals, a.Status) {
		return 0
	}
	for _, each := range vendorPauses {
		text := headers[each.header]
		if each.unit == "ms" {
			if d, ok := decimalTimes(text, time.Millisecond); ok {
				return rounded(d)
			}
		} else if d := timeUntil(text, now); d > 0 {
			return d
		}
	}
	return 0
}

// pauseOfMessage is that of a refusal which says in its body alone why.
func (a Answer) pauseOfMessage(headers map[string]string) time.Duration {
	for _, each := range vendorMessages {
		_, its := headers[each.header]
		if its && slices.Contains(each.statuses, a.Status) && strings.Contains(strings.ToLower(string(a.Body)), each.text) {
			return each.pause
		}
	}
	return 0
}

func firstOf(headers map[string]string, names []string) string {
	for _, name := range names {
		if text, known := headers[name]; known {
			return text
		}
	}
	return ""
}

func (v *vendorLimit) named(headers map[string]string) string {
	if resource := headers[v.resource]; v.resource != "" && resource != "" && resource != v.usual {
		return resource
	}
	return v.limit
}

var (
	plainNumber = regexp.MustCompile(`^([0-9]+)(?:\.[0-9]+)?$`)
	usedOf      = regexp.MustCompile(`^([0-9]{1,18})/([0-9]{1,18})$`)
)

// left is how many units the headers say are left; -1 where they do not.
func (v *vendorLimit) left(headers map[string]string) int64 {
	if v.used != "" {
		if said := usedOf.FindStringSubmatch(headers[v.used]); said != nil {
			used, _ := strconv.ParseInt(said[1], 10, 64)
			of, _ := strconv.ParseInt(said[2], 10, 64)
			return max(0, of-used)
		}
		return -1
	}
	return units64(headers[v.remaining])
}

func units64(text string) int64 {
	if said := plainNumber.FindStringSubmatch(text); said != nil {
		if n, err := strconv.ParseInt(said[1], 10, 64); err == nil {
			return n
		}
	}
	return -1
}

func numberAt(body []byte, path []string) (int64, bool) {
	var at any
	if len(body) == 0 || json.Unmarshal(body, &at) != nil {
		return 0, false
	}
	for _, name := range path {
		within, ok := at.(map[string]any)
		if !ok {
			return 0, false
		}
		at = within[name]
	}
	n, ok := at.(float64)
	return int64(max(0, math.Floor(n))), ok && n < 1<<53
}

type rateLimitItem struct {
	limit     string
	remaining int64
	reset     string
}

var (
	rateLimitMember = regexp.MustCompile(`^[ \t]*(?:"([^"]*)"|([A-Za-z*][^,;" \t]*))((?:[ \t]*;[ \t]*[a-z]+=[^,;]*)*)[ \t]*(?:,|$)`)
	rateLimitWord   = regexp.MustCompile(`([a-z]+)=([^,; \t]*)`)
)

// rateLimitItems are the members of a RateLimit field; of one alone the limit is the requests. As the drafts up to 7 have it
// the field is one list of words.
func rateLimitItems(text string) (all []rateLimitItem) {
	words := func(text string) map[string]string {
		found := map[string]string{}
		for _, each := range rateLimitWord.FindAllStringSubmatch(text, -1) {
			found[each[1]] = each[2]
		}
		return found
	}
	if strings.Contains(text, "remaining=") {
		said := words(text)
		return []rateLimitItem{{"requests", units64(said["remaining"]), said["reset"]}}
	}
	for text != "" {
		member := rateLimitMember.FindStringSubmatch(text)
		if member == nil {
			return nil
		}
		said := words(member[3])
		all = append(all, rateLimitItem{member[1] + member[2], units64(said["r"]), said["t"]})
		text = text[len(member[0]):]
	}
	if len(all) == 1 {
		all[0].limit = "requests"
	}
	return all
}

var (
	spanForm = regexp.MustCompile(`^(?:([0-9]+(?:\.[0-9]+)?)d)?(?:([0-9]+(?:\.[0-9]+)?)h)?(?:([0-9]+(?:\.[0-9]+)?)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?` +
		`(?:([0-9]+(?:\.[0-9]+)?)ms)?$`)
	spanUnits = []time.Duration{day, time.Hour, time.Minute, time.Second, time.Millisecond}
	isoForms  = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"}
)

// timeUntil is how long a text says that it lasts, in whole milliseconds rounded up: seconds, an epoch in seconds or
// milliseconds (told by their size: no vendor says 30 years), 6m0s, ISO 8601 or a date of HTTP. 0 is none.
func timeUntil(text string, now time.Time) time.Duration {
	if text == "" {
		return 0
	}
	if plainNumber.MatchString(text) {
		whole, _, _ := strings.Cut(text, ".")
		whole = strings.TrimLeft(whole, "0")
		unit := time.Second
		if len(whole) > 11 {
			unit = time.Millisecond
		}
		if len(whole) > 14 {
			return longestPause
		}
		span, _ := decimalTimes(text, unit)
		if len(whole) > 9 {
			return rounded(span - time.Duration(now.UnixNano()))
		}
		return rounded(span)
	}
	if said := spanForm.FindStringSubmatch(text); said != nil {
		var total time.Duration
		for i, unit := range spanUnits {
			part, _ := decimalTimes(said[i+1], unit)
			total = min(total, longestPause) + part
		}
		return rounded(total)
	}
	for _, form := range isoForms {
		if at, err := time.Parse(form, text); err == nil {
			return rounded(at.Sub(now))
		}
	}
	if at, ok := httpDate(text); ok {
		return rounded(at.Sub(now))
	}
	return 0
}

// decimalTimes is a decimal number of units, to the nanosecond and rounded up.
func decimalTimes(text string, unit time.Duration) (time.Duration, bool) {
	if !plainNumber.MatchString(text) {
		return 0, false
	}
	if number := roundedUp(text, int64(unit)); number.IsInt64() {
		return time.Duration(number.Int64()), true
	}
	return math.MaxInt64, true
}

func rounded(d time.Duration) time.Duration {
	return time.Duration(milliseconds(min(d, longestPause))) * time.Millisecond
}

func httpDate(text string) (time.Time, bool) {
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
