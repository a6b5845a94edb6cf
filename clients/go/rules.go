package weir

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules as text, read whole before anybody is asked: "10/min burst 20", "10 per minute", "10/s;1000/d". Each becomes the
// one text that all that mean it share ("10/1m"), which the server takes. clients/cases/rules.json is the table of right
// and wrong texts. It knows no zones: whether there is one of a tz= the server says.

const (
	ruleForm = "; the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h algorithm=fixed_window"
	nobody   = "to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"
	noTime   = "the period is not a time such as s, 10s, 250ms, min, h or 1.5d"

	mostRuleBytes        = 128
	mostRules            = 16
	mostSlots            = 1_000_000_000
	mostOfACalendar      = 68719476735
	mostOfSliding        = math.MaxUint32
	mostPeriodOfACounter = 1<<62 - 1
)

const day = 24 * time.Hour

var (
	units = map[string]time.Duration{
		"d": day, "day": day, "days": day, "h": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
		"ms": time.Millisecond, "us": time.Microsecond, "ns": 1, "w": 7 * day, "week": 7 * day, "weeks": 7 * day,
	}
	writtenUnits  = []string{"d", "h", "m", "s", "ms", "us", "ns"}
	calendarUnits = map[string]string{"hour": "hour", "h": "hour", "day": "day", "d": "day", "week": "week", "w": "week", "month": "month", "year": "year"}
	nominal       = map[string]time.Duration{"hour": time.Hour, "day": day, "week": 7 * day, "month": 2629746 * time.Second, "year": 31556952 * time.Second}
	algorithms    = []struct{ name, counts string }{{"gcra", "gcra"}, {"token_bucket", "gcra"}, {"leaky_bucket", "gcra"}, {"fixed_window", "fixed_window"},
		{"sliding_window_log", "sliding_window_log"}, {"sliding_window_counter", "sliding_window_counter"}}

	wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)
	decimal     = regexp.MustCompile(`^(?:[0-9]+\.?[0-9]*|\.[0-9]+)$`)
	periodPart  = regexp.MustCompile(`([0-9.]*)([^0-9.]+)`)
	perForm     = regexp.MustCompile(`^([^ \t/]+)[ \t]+per[ \t]+(?:([0-9.]+)[ \t]+)?([^ \t]+)(.*)$`)
	blankForm   = regexp.MustCompile(`^(?:([^ \t/]+)[ \t]+/[ \t]*|([^ \t/]+)/[ \t]+)([^ \t=]+)(=?)`)
	slotsForm   = regexp.MustCompile(`^[1-9][0-9]{0,9}$`)
	pointForm   = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}$`)
)

// ParseRules reads rules, of which one text may hold several with ; between them, and answers each as the text that all
// that mean it share: "10 per minute" is "10/1m". An error says what is wrong with one, and what to write instead.
func ParseRules(texts ...string) ([]string, error) {
	var found []string
	for _, text := range texts {
		for _, each := range strings.Split(text, ";") {
			rule, err := canonicalRule(each)
			if err != nil {
				return nil, err
			}
			if slices.Contains(found, rule) {
				return nil, refuse("rule '%s' is given twice", rule)
			}
			found = append(found, rule)
		}
	}
	if len(found) < 1 || len(found) > mostRules {
		return nil, refuse("%d rules; one question has 1 to %d", len(found), mostRules)
	}
	return found, nil
}

func canonicalRule(text string) (string, error) {
	shown, err := text, fmt.Errorf("longer than %d bytes", mostRuleBytes)
	rule := ""
	if len(text) > mostRuleBytes {
		shown = text[:mostRuleBytes]
	} else {
		rule, err = readRule(strings.Trim(text, " \t"))
	}
	if err != nil {
		return "", refuse("rule %q: %s", shown, err)
	}
	return rule, nil
}

func readRule(text string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("there is no rule%s", ruleForm)
	}
	if number, found := strings.CutPrefix(text, "in_flight="); found {
		return readSlots(number)
	}
	if said := perForm.FindStringSubmatch(text); said != nil {
		text = said[1] + "/" + said[2] + said[3] + said[4]
	}
	if blank := blankForm.FindStringSubmatch(text); blank != nil && blank[3] != "burst" && blank[4] == "" {
		return "", fmt.Errorf("write '%s%s/%s', without a space", blank[1], blank[2], blank[3])
	}
	rate, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	words, err := readWords(rest)
	if err != nil {
		return "", err
	}
	count, period, found := strings.Cut(rate, "/")
	_, zoned := words["tz"]
	switch {
	case !found:
		return "", fmt.Errorf("missing '/' between count and period%s", ruleForm)
	case words["align"] == "calendar":
		return ruleByCalendar(count, period, words)
	case zoned:
		return "", fmt.Errorf("tz= requires align=calendar")
	}
	return ruleByPeriod(count, period, words)
}

func readSlots(text string) (string, error) {
	number, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	if more := strings.Fields(rest); len(more) > 0 {
		return "", fmt.Errorf("unexpected '%s'; the form is in_flight=N, and a rate is another limit", more[0])
	}
	if number == "0" {
		return "", fmt.Errorf(nobody)
	}
	if n, _ := strconv.ParseInt(number, 10, 64); !slotsForm.MatchString(number) || n > mostSlots {
		return "", fmt.Errorf("in_flight: '%s' is not an integer from 1 to %d", number, mostSlots)
	}
	return "in_flight=" + number, nil
}

// readWords reads what stands after the rate: burst, algorithm, align, tz.
func readWords(rest string) (map[string]string, error) {
	found := map[string]string{}
	left := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' })
	for len(left) > 0 {
		word := left[0]
		left = left[1:]
		name, value, equals := strings.Cut(word, "=")
		switch {
		case word == "burst":
			if len(left) > 0 {
				value, left = left[0], left[1:]
			}
		case !equals || name != "algorithm" && name != "align" && name != "tz":
			return nil, fmt.Errorf("unexpected '%s'%s", word, ruleForm)
		}
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		switch {
		case name == "algorithm":
			var err error
			if value, err = algorithmOf(value); err != nil {
				return nil, err
			}
		case name == "align" && value != "clock" && value != "calendar":
			return nil, fmt.Errorf("unknown alignment '%s'; known: align=clock, align=calendar", word)
		case name == "tz" && value == "":
			return nil, fmt.Errorf("tz= names no zone; write tz=Area/City")
		}
		found[name] = value
	}
	return found, nil
}

func algorithmOf(name string) (string, error) {
	var known []string
	for _, each := range algorithms {
		if each.name == name {
			return each.counts, nil
		}
		known = append(known, each.name)
	}
	return "", fmt.Errorf("unknown algorithm '%s'; known: %s", name, strings.Join(known, ", "))
}

func ruleByCalendar(count, period string, words map[string]string) (string, error) {
	if named, said := words["algorithm"]; said && named != "fixed_window" {
		return "", fmt.Errorf("align=calendar requires algorithm=fixed_window; this is %s", named)
	}
	if _, said := words["burst"]; said {
		return "", fmt.Errorf("there is no burst with align=calendar; only gcra has one")
	}
	unit, known := calendarUnits[period]
	if !known {
		return "", fmt.Errorf("'%s' is not one of hour, day, week, month and year, which align=calendar counts by", period)
	}
	number, whole := ruleNumber(count)
	switch {
	case whole && number == 0:
		return "", fmt.Errorf(nobody)
	case !whole || cannotKeep(number, nominal[unit], 1) != nil:
		return "", fmt.Errorf("'%s' is not a count that a %s can have", count, unit)
	case number > mostOfACalendar:
		return "", fmt.Errorf("count: %d is above the maximum for calendar (%d)", number, int64(mostOfACalendar))
	}
	rule := fmt.Sprintf("%d/%s align=calendar", number, unit)
	if zone := words["tz"]; zone != "" && zone != "UTC" {
		rule += " tz=" + zone
	}
	return rule, nil
}

func ruleByPeriod(count, period string, words map[string]string) (string, error) {
	length, err := rulePeriod(count, period)
	if err != nil {
		return "", err
	}
	number, whole := ruleNumber(count)
	if !whole {
		return "", fmt.Errorf("the count is not a whole number below 2^63%s", inWholeNumbers(count, length, words))
	}
	if number == 0 {
		return "", fmt.Errorf(nobody)
	}
	burst := number
	text, bursts := words["burst"]
	if bursts {
		if burst, whole = ruleNumber(text); !whole {
			return "", fmt.Errorf("the burst is not a whole number below 2^63")
		}
	}
	if err := cannotKeep(number, length, burst); err != nil {
		return "", err
	}
	algorithm := words["algorithm"]
	if algorithm == "" {
		algorithm = "gcra"
	}
	_, aligned := words["align"]
	if err := algorithmRefuses(algorithm, number, length, bursts, aligned); err != nil {
		return "", err
	}
	rule := fmt.Sprintf("%d/%s", number, writtenPeriod(big.NewInt(int64(length))))
	if burst != number {
		rule += fmt.Sprintf(" burst %d", burst)
	}
	if algorithm != "gcra" {
		rule += " algorithm=" + algorithm
	}
	if aligned {
		rule += " align=clock"
	}
	return rule, nil
}

func algorithmRefuses(algorithm string, number int64, length time.Duration, bursts, aligned bool) error {
	switch {
	case bursts && algorithm != "gcra":
		return fmt.Errorf("there is no burst with algorithm=%s; only gcra has one", algorithm)
	case aligned && algorithm != "fixed_window":
		return fmt.Errorf("align=clock requires algorithm=fixed_window; this is %s", algorithm)
	case strings.HasPrefix(algorithm, "sliding") && number > mostOfSliding:
		return fmt.Errorf("count: %d is above the maximum for %s (%d)", number, algorithm, int64(mostOfSliding))
	case algorithm == "sliding_window_counter" && length > mostPeriodOfACounter:
		return fmt.Errorf("period: it is above the maximum for %s (2^62 ns)", algorithm)
	}
	return nil
}

func ruleNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && wholeNumber.MatchString(text) && n != math.MinInt64
}

// rulePeriod is a period, rounded up to whole nanoseconds.
func rulePeriod(count, text string) (time.Duration, error) {
	switch {
	case text == "m":
		return 0, fmt.Errorf("'m' is a minute or a month: write '%s/min', or '%s/month align=calendar'", count, count)
	case strings.Contains(text, "month"), strings.Contains(text, "year"):
		unit := "year"
		if strings.Contains(text, "month") {
			unit = "month"
		}
		return 0, fmt.Errorf("months and years differ in length; write %s/%s align=calendar, with tz=Area/City where it is not UTC, "+
			"or a period such as 30d", count, unit)
	case text != "" && strings.Trim(text, "0123456789.") == "":
		return 0, fmt.Errorf("the period has no unit, such as the s of 10s")
	}
	parts := periodPart.FindAllStringSubmatch(text, -1)
	covered := ""
	for _, each := range parts {
		covered += each[0]
	}
	if len(parts) == 0 || covered != text {
		return 0, fmt.Errorf(noTime)
	}
	total, before := new(big.Int), time.Duration(math.MaxInt64)
	for at, each := range parts {
		digits, unit := each[1], units[each[2]]
		if len(parts) == 1 && digits == "" {
			digits = "1"
		}
		if unit == 0 || unit >= before || at+1 < len(parts) && strings.Contains(digits, ".") || !decimal.MatchString(digits) {
			return 0, fmt.Errorf(noTime)
		}
		total.Add(total, roundedUp(digits, int64(unit)))
		before = unit
	}
	if !total.IsInt64() {
		return 0, fmt.Errorf("the period is above the maximum (106751d23h47m16.854775807s)")
	}
	return time.Duration(total.Int64()), nil
}

// roundedUp is number times unit.
func roundedUp(number string, unit int64) *big.Int {
	exact, _ := new(big.Rat).SetString(strings.TrimSuffix(number, "."))
	exact.Mul(exact, new(big.Rat).SetInt64(unit))
	up, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	return up
}

func writtenPeriod(length *big.Int) string {
	for _, name := range writtenUnits {
		if whole, rest := new(big.Int).QuoRem(length, big.NewInt(int64(units[name])), new(big.Int)); rest.Sign() == 0 {
			return whole.String() + name
		}
	}
	return "" // ns divides all
}

// cannotKeep says why whole nanoseconds cannot keep a rule.
func cannotKeep(count int64, period time.Duration, burst int64) error {
	switch {
	case count < 1:
		return fmt.Errorf("count: %d is below the minimum (1)", count)
	case period < 1:
		return fmt.Errorf("period: 0s is below the minimum (1ns)")
	case count > int64(period):
		return fmt.Errorf("count: %d per %s is more than one per nanosecond; the maximum is %d", count, writtenPeriod(big.NewInt(int64(period))), int64(period))
	}
	interval := (int64(period)-1)/count + 1
	slower := new(big.Int).Mul(big.NewInt(interval), big.NewInt(count)) // may pass 2^63
	if slower.Sub(slower, big.NewInt(int64(period))).Cmp(big.NewInt(int64(period)/1000)) > 0 {
		return fmt.Errorf("count: %d would be slowed by more than 0.1 %%, because time is counted in whole nanoseconds", count)
	}
	switch most := math.MaxInt64 / interval; {
	case burst < 1:
		return fmt.Errorf("burst: %d is below the minimum (1)", burst)
	case burst > most:
		return fmt.Errorf("burst: %d would take longer than 2^63 ns to drain; the maximum is %d", burst, most)
	}
	return nil
}

// inWholeNumbers is what a count with a point means: 0.0055/s is 11/2000s.
func inWholeNumbers(count string, length time.Duration, words map[string]string) string {
	rate, ok := new(big.Rat).SetString(count)
	if !pointForm.MatchString(count) || !ok || rate.Sign() == 0 || length == 0 {
		return ""
	}
	burst := ""
	if _, said := words["burst"]; !said {
		burst = " burst " + roundedUp(count, 1).String()
	}
	period := new(big.Int).Mul(rate.Denom(), big.NewInt(int64(length)))
	return fmt.Sprintf("; write '%s/%s%s'", rate.Num(), writtenPeriod(period), burst)
}
