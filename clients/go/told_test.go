package weir

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type vendorsTable struct {
	Refusals []int
	Pauses   []struct{ Header, Unit string }
	Limits   []struct {
		Limit, Remaining, Used, Resource, Usual string
		Reset                                   []string
		Window                                  bool
	}
	Fields []string
	Bodies []struct {
		Limit     string
		Remaining []string
	}
	Messages []struct {
		Statuses     []int
		Header, Text string
		PauseMs      int64 `json:"pause_ms"`
	}
	MostPauseMs int64 `json:"most_pause_ms"`
	Cases       []struct {
		Name, Body string
		Status     int
		Now        *time.Time
		Headers    map[string]string
		Asks       []any
	}
}

func TestTheTableOfVendorsIsTheOneOfTheCases(t *testing.T) {
	var v vendorsTable
	table(t, "vendors.json", &v)
	same := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	same("refusals", vendorRefusals, v.Refusals)
	same("fields", vendorFields, v.Fields)
	same("the longest pause", longestPause.Milliseconds(), v.MostPauseMs)
	same("pauses", len(vendorPauses), len(v.Pauses))
	for i, each := range v.Pauses {
		same("a pause", vendorPauses[i].header+" "+vendorPauses[i].unit, each.Header+" "+each.Unit)
	}
	same("limits", len(vendorLimits), len(v.Limits))
	for i, each := range v.Limits {
		var reset []string
		if len(each.Reset) > 0 {
			reset = each.Reset
		}
		same("a limit", vendorLimits[i], vendorLimit{each.Limit, each.Remaining, each.Used, reset, each.Window, each.Resource, each.Usual})
	}
	same("bodies", len(vendorBodies), len(v.Bodies))
	for i, each := range v.Bodies {
		same("a body", vendorBodies[i].limit, each.Limit)
		same("a body", vendorBodies[i].remaining, each.Remaining)
	}
	same("messages", len(vendorMessages), len(v.Messages))
	for i, each := range v.Messages {
		got := vendorMessages[i]
		same("a message", got.statuses, each.Statuses)
		same("a message", got.header+" "+got.text, each.Header+" "+each.Text)
		same("a message", got.pause.Milliseconds(), each.PauseMs)
	}
}

func TestWhatVendorsSay(t *testing.T) {
	var v vendorsTable
	table(t, "vendors.json", &v)
	if len(v.Cases) < 50 {
		t.Fatalf("%d cases", len(v.Cases))
	}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, each := range v.Cases {
		a := Answer{Status: each.Status, Header: map[string][]string{}, Body: []byte(each.Body)}
		for name, value := range each.Headers {
			a.Header[name] = []string{value}
		}
		if each.Now == nil {
			each.Now = &noon
		}
		asks := []any{}
		ask := func(limit, name string, number int64) {
			one := object{name: float64(number)}
			if limit != "" {
				one["limit"] = limit
			}
			asks = append(asks, one)
		}
		for _, said := range a.heard(*each.Now) {
			if said.remaining >= 0 {
				ask(said.limit, "remaining", said.remaining)
			}
			if said.pause > 0 {
				ask(said.limit, "pause_ms", said.pause.Milliseconds())
			}
		}
		if got, want := asText(asks), asText(each.Asks); got != want {
			t.Errorf("%s: %s, expected %s", each.Name, got, want)
		}
	}
}

func asText(of any) string {
	text, _ := json.Marshal(of)
	return string(text)
}

// FuzzWhatVendorsSay looks that no text of anybody else ends the program, and none makes a pause that the server refuses.
func FuzzWhatVendorsSay(f *testing.F) {
	for _, text := range []string{"6m0s", "1795867260.5", `"a";r=0;t=5, b;r=1`, "limit=1, remaining=0, reset=9", "2026-11-28T12:00Z", "9/10", `{"extensions":{}}`} {
		f.Add(429, text)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		a := Answer{Status: status, Header: map[string][]string{}, Body: []byte(text)}
		for _, each := range vendorLimits {
			a.Header[each.remaining+each.used] = []string{"0"}
			for _, name := range each.reset {
				a.Header[name] = []string{text}
			}
		}
		for _, name := range []string{"ratelimit", "retry-after", "x-shopify-shop-api-call-limit"} {
			a.Header[name] = []string{text}
			for _, said := range a.heard(time.Now()) {
				if said.pause < 0 || said.pause > longestPause || said.remaining < -1 || said.pause%time.Millisecond != 0 {
					t.Errorf("%q: %+v", text, said)
				}
			}
		}
	})
}

func TestToldCharges(t *testing.T) {
	for _, each := range []struct {
		name   string
		q      Question
		limits map[string]string
		a      Answer
		want   []string
	}{
		{"the requests of one key", Question{Key: "v", Rule: "60/min", Cost: 3}, nil,
			Answer{200, map[string][]string{"X-Ratelimit-Remaining-Requests": {"9"}, "X-Ratelimit-Remaining-Tokens": {"0"}}, nil},
			[]string{"WEIR.CHARGE REMAINING 9 KEYS v 60/min"}},
		{"the key by its name", Question{Key: "v", Rule: "60/min", Cost: 3}, map[string]string{"requests": "v"},
			Answer{200, map[string][]string{"X-Ratelimit-Remaining-Requests": {"9"}}, nil}, []string{"WEIR.CHARGE REMAINING 9 KEYS v 60/min"}},
		{"a pause for all", Question{Key: "v", Rule: "60/min"}, nil, Answer{429, map[string][]string{"Retry-After": {"2"}}, nil},
			[]string{"WEIR.CHARGE PAUSE 2000 KEYS v 60/min"}},
		{"several keys", Question{Rules: []KeyRule{{"calls", "60/min"}, {"tokens", "9000/min"}}, Cost: 10},
			map[string]string{"requests": "calls", "tokens": "tokens"},
			Answer{429, map[string][]string{"X-Ratelimit-Remaining-Requests": {"9"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "Retry-After": {"2"}}, nil},
			[]string{"WEIR.CHARGE REMAINING 9 KEYS calls 60/min", "WEIR.CHARGE PAUSE 2000 KEYS calls 60/min",
				"WEIR.CHARGE REMAINING 0 KEYS tokens 9000/min", "WEIR.CHARGE PAUSE 2000 KEYS tokens 9000/min"}},
		{"by the limits file", Question{Attributes: map[string]string{"api": "x"}}, map[string]string{"requests": "rpm", "points": "tpm"},
			Answer{200, map[string][]string{"x-ratelimit-remaining": {"9"}}, []byte(`{"extensions":{"cost":{"throttleStatus":{"currentlyAvailable":7}}}}`)},
			[]string{"WEIR.CHARGE REMAINING 7 LIMIT tpm AS api=x", "WEIR.CHARGE REMAINING 9 LIMIT rpm AS api=x"}},
		{"nothing", Question{Key: "v", Rule: "60/min"}, nil, Answer{200, nil, nil}, nil},
	} {
		f := newFake(t, always("*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n$1\r\nv\r\n"))
		charged, err := connected(t, f.url()).Told(background, each.q, each.a, each.limits)
		if err != nil || len(charged) != len(each.want) {
			t.Errorf("%s: %+v, %v", each.name, charged, err)
		}
		if got := f.questions(); len(got)+len(each.want) > 0 && !reflect.DeepEqual(got, each.want) {
			t.Errorf("%s: %q, expected %q", each.name, got, each.want)
		}
	}
	c := connected(t, newFake(t, always(yes)).url())
	for _, q := range []Question{{Rules: []KeyRule{{"calls", "60/min"}}}, {Key: "calls", Rule: "60/min"}} {
		_, err := c.Told(background, q, Answer{}, map[string]string{"tokens": "tokens"})
		if err == nil || err.Error() != "weir: Told's limits name 'tokens', which is no key of the Question" {
			t.Error(err)
		}
	}
}
