package weir

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// table reads one of the tables that the clients share.
func table(t *testing.T, name string, into any) {
	text, err := os.ReadFile("../cases/" + name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRulesAreReadWhole(t *testing.T) {
	var rules struct {
		Right []struct {
			Text  string
			Rules []string
		}
		Wrong []struct{ Text, Error string }
	}
	table(t, "rules.json", &rules)
	if len(rules.Right) < 20 || len(rules.Wrong) < 20 {
		t.Fatalf("%d right, %d wrong", len(rules.Right), len(rules.Wrong))
	}
	for _, each := range rules.Right {
		if got, err := ParseRules(each.Text); err != nil || !slices.Equal(got, each.Rules) {
			t.Errorf("%q is %q, %v, expected %q", each.Text, got, err, each.Rules)
		}
		for _, rule := range each.Rules {
			if again, err := ParseRules(rule); err != nil || !slices.Equal(again, []string{rule}) {
				t.Errorf("%q is %q, %v", rule, again, err)
			}
		}
	}
	for _, each := range rules.Wrong {
		if got, err := ParseRules(each.Text); err == nil || !strings.Contains(err.Error(), each.Error) {
			t.Errorf("%q is %q, %v, expected %q", each.Text, got, err, each.Error)
		}
	}
	if _, err := ParseRules(); err == nil {
		t.Error("no rule at all")
	}
}
