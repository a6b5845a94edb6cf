package weir

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestWhatALimitCountsBy(t *testing.T) {
	var identity struct {
		Keys []struct {
			Name, App, Limit, Who string
			Rules, Keys           []string
		}
		Addresses []struct{ Address, Who string }
		Names     []struct {
			Rules []string
			Name  string
		}
	}
	table(t, "identity.json", &identity)
	if len(identity.Keys) < 10 || len(identity.Addresses) < 10 || len(identity.Names) < 3 {
		t.Fatal("the table is not what it was")
	}
	for _, each := range identity.Keys {
		rules, err := ParseRules(each.Rules...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, rule := range rules {
			got = append(got, identityKey(each.App, each.Limit, each.Who, rule))
		}
		if !slices.Equal(got, each.Keys) {
			t.Errorf("%s: %q, expected %q", each.Name, got, each.Keys)
		}
	}
	for _, each := range identity.Addresses {
		if got := whoOf(each.Address); got != each.Who {
			t.Errorf("%s is %s, expected %s", each.Address, got, each.Who)
		}
	}
	c := connected(t, newFake(t, always(yes)).url(), WithApp("names"))
	for i, each := range identity.Names {
		g, err := c.NewGate("", each.Rules...)
		if i > 0 && slices.Contains(names(identity.Names[:i]), each.Name) {
			if err == nil {
				t.Errorf("%v has the name of another, %s", each.Rules, g.name)
			}
		} else if err != nil || g.name != each.Name {
			t.Errorf("%v: %v", each.Rules, err)
		}
	}
}

func names(of []struct {
	Rules []string
	Name  string
}) (all []string) {
	for _, each := range of {
		all = append(all, each.Name)
	}
	return all
}

func TestASecondLimitOfTheSameNameIsAnError(t *testing.T) {
	f := newFake(t, always(yes))
	c := connected(t, f.url(), WithApp("shop"))
	for _, each := range []struct {
		name, rules, want string
	}{
		{"", "10/min", ""},
		{"", "10 per minute", "a limit of the name '10/1m' is there already in this process, and both would be counted as one: use that one in both places, or give this one a name of its own by WithName; two that are one limit are given one name"},
		{"10/1m", "10/min", "a limit of the name '10/1m' is there already"},
		{"login", "10/min", ""},
		{"login", "10/min", ""}, // a module that is loaded anew
		{"login", "11/min", "a limit of the name 'login' is there already in this process with other rules, 10/1m: give this one another name by WithName"},
		{"search", "10/min;100/h", ""},
		{"", "10/m", "write '10/min', or '10/month align=calendar'"},
		{"", "in_flight=3", "rule 'in_flight=3': a slot is held while a call goes on"},
	} {
		_, err := c.NewGate(each.name, each.rules)
		if each.want == "" && err != nil || each.want != "" && (err == nil || !strings.Contains(err.Error(), each.want)) {
			t.Errorf("%q, %s: %v, expected %q", each.name, each.rules, err, each.want)
		}
	}
	if _, err := connected(t, f.url(), WithApp("shop")).NewGate("", "10/min"); err == nil {
		t.Error("another client of the same server has the same name")
	}
	if _, err := connected(t, f.url(), WithApp("jobs")).NewGate("", "10/min"); err != nil {
		t.Errorf("another application: %v", err)
	}
	if _, err := connected(t, newFake(t, always(yes)).url(), WithApp("shop")).NewGate("", "10/min"); err != nil {
		t.Errorf("another server: %v", err)
	}
	c.Close()
	if _, err := connected(t, f.url(), WithApp("shop")).NewGate("", "10/min"); err != nil {
		t.Errorf("what is closed has no limits: %v", err)
	}
}

func TestARequestIsChargedOnce(t *testing.T) {
	f := newFake(t, always("*7\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:1000\r\n$1\r\nk\r\n*0\r\n"))
	c := connected(t, f.url(), WithApp("a"))
	g, _ := c.NewGate("", "5/min")
	same, _ := c.NewGate("n", "5/min")
	alike, _ := c.NewGate("n", "5/min")
	file, _ := c.NewGate("")
	ctx := background
	for _, ask := range []func(context.Context) (context.Context, Decision, error){
		func(ctx context.Context) (context.Context, Decision, error) { return g.Check(ctx, "ann", 0) },
		func(ctx context.Context) (context.Context, Decision, error) { return g.Check(ctx, "ann", 0) },
		func(ctx context.Context) (context.Context, Decision, error) { return g.Check(ctx, "bob", 2) },
		func(ctx context.Context) (context.Context, Decision, error) { return same.Check(ctx, "ann", 0) },
		func(ctx context.Context) (context.Context, Decision, error) { return alike.Check(ctx, "ann", 0) },
		func(ctx context.Context) (context.Context, Decision, error) {
			return file.CheckAttributes(ctx, map[string]string{"ip": "1"}, 0)
		},
		func(ctx context.Context) (context.Context, Decision, error) {
			return file.CheckAttributes(ctx, map[string]string{"ip": "1"}, 0)
		},
	} {
		var d Decision
		var err error
		if ctx, d, err = ask(ctx); err != nil || d.Remaining != 4 {
			t.Errorf("%+v, %v", d, err)
		}
	}
	g.Check(background, "ann", 0) // another request
	sameLines(t, f.questions(), "WEIR.THROTTLE FIELDS KEYS 1:a,4:5/1m,3:ann,4:5/1m, 5/1m", "WEIR.THROTTLE COST 2 FIELDS KEYS 1:a,4:5/1m,3:bob,4:5/1m, 5/1m",
		"WEIR.THROTTLE FIELDS KEYS 1:a,1:n,3:ann,4:5/1m, 5/1m", "WEIR.CHECK FIELDS ip=1", "WEIR.THROTTLE FIELDS KEYS 1:a,4:5/1m,3:ann,4:5/1m, 5/1m")
}

func TestTheApplicationsName(t *testing.T) {
	f := newFake(t, always(yes))
	var log logged
	toldOfGuess = sync.Once{}
	t.Setenv("WEIR_APP", "")
	c, another := connected(t, f.url(), log.option()), connected(t, f.url(), log.option())
	if c.App() != "example.com/weir/go" || c.App() != "example.com/weir/go" || another.App() != c.App() {
		t.Error(c.App())
	}
	sameLines(t, log.lines(), `level=WARN msg="weir: limits are counted under the name \"example.com/weir/go\", a guess; WEIR_APP or WithApp says another"`)
	t.Setenv("WEIR_APP", "shop")
	if c := connected(t, f.url(), log.option()); c.App() != "shop" {
		t.Error(c.App())
	}
	if c := connected(t, f.url(), log.option(), WithApp("jobs")); c.App() != "jobs" || len(log.lines()) != 1 {
		t.Errorf("%s, %q", c.App(), log.lines())
	}
}

func TestAProxyThatNothingTrustsIsTold(t *testing.T) {
	var log logged
	toldOfForwarded = sync.Once{}
	c := connected(t, newFake(t, always(yes)).url(), log.option(), WithApp("a"))
	g, _ := c.NewGate("", "5/min")
	another, _ := c.NewGate("", "6/min")
	for i := 0; i < 2; i++ {
		if who, err := g.Who("[2001:db8:1:2::9]:443", "192.0.2.1, 2001:db8:1:2::7"); err != nil || who != "2001:db8:1:2::/64" {
			t.Error(who, err)
		}
	}
	if lines := log.lines(); lines[0] != "" {
		t.Errorf("it was taken from there: %q", lines)
	}
	for _, each := range []*Gate{g, g, another} {
		if who, err := each.Who("10.0.0.1:443", "192.0.2.1", "192.0.2.2"); err != nil || who != "10.0.0.1" {
			t.Error(who, err)
		}
	}
	if lines := log.lines(); len(lines) != 1 || !strings.Contains(lines[0], "nothing here takes the client's address from it") {
		t.Errorf("%q", lines)
	}
	for _, none := range []string{"", "@", "/run/app.sock"} {
		if _, err := g.Who(none); err == nil || err.Error() != "weir: no address: the connection has none, so WithKey has to say who asks" {
			t.Error(err)
		}
	}
}
