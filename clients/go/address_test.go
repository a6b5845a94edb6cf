package weir

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestURLsSayWhere(t *testing.T) {
	for _, each := range []struct {
		url, want, user, password string
		tls                       bool
	}{
		{"weir://host", "host:6390", "", "", false},
		{"weir://host:7000/", "host:7000", "", "", false},
		{"weir://:se%40cret@host", "host:6390", "", "se@cret", false},
		{"weirs://me:p:w@a,b:1,[::1],[fe80::2]:9", "a:6390 b:1 [::1]:6390 [fe80::2]:9", "me", "p:w", true},
		{"unix:/run/weir.sock", "unix:/run/weir.sock", "", "", false},
		{"unix:///run/weir.sock", "unix:/run/weir.sock", "", "", false},
		{"weir+unix:///run/weir.sock", "unix:/run/weir.sock", "", "", false},
	} {
		got, err := parseURL(each.url)
		var names []string
		for _, one := range got.addresses {
			names = append(names, one.name())
		}
		if err != nil || strings.Join(names, " ") != each.want || got.user != each.user || got.password != each.password || got.tls != each.tls {
			t.Errorf("%s: %+v, %v", each.url, got, err)
		}
	}
	if where, err := parseURL("weir+local:"); err != nil || !where.local {
		t.Errorf("weir+local: %+v, %v", where, err)
	}
}

const theForm = "; the form is weir://[[user]:password@]host[:6390][,host2...], weirs://..., unix:/path or weir+local:"

func TestAURLThatIsNoneSaysTheForm(t *testing.T) {
	for _, each := range []struct{ url, wrong string }{
		{"http://host:6391", "unknown scheme 'http:'" + theForm},
		{"redis://:secret@host", "unknown scheme 'redis:'" + theForm},
		{"localhost", "a URL without weir:// before it" + theForm},
		{"weir://", "a URL without a host" + theForm},
		{"weir://:secret@", "a URL without a host" + theForm},
		{"weir://a,,b", "a URL without a host" + theForm},
		{"weir://a:0", "port '0' is not a number from 1 to 65535" + theForm},
		{"weir://a:http", "port 'http' is not a number from 1 to 65535" + theForm},
		{"weir://a/0", "a URL has no path" + theForm},
		{"weir://:secret@a?timeout=1s", "unknown parameter 'timeout' in the URL; settings are options of Connect, and" + theForm[1:]},
		{"weir://:%zz@a", "user or password of the URL: a % is not followed by two hex digits"},
		{"unix:relative", "unix: needs the whole path of a socket, as in unix:/run/weir.sock"},
		{"unix:/a?b=1", "unix:/a: unknown parameter 'b=1'; settings are options of Connect"},
	} {
		_, err := Connect(context.Background(), each.url)
		if _, refused := err.(*Refused); !refused || err.Error() != "weir: "+each.wrong {
			t.Errorf("%s: %v, expected %s", each.url, err, each.wrong)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: shows the password", each.url)
		}
	}
	t.Setenv("WEIR_URL", "")
	t.Setenv("WEIR_LOCAL", "never")
	if _, err := connected(t, "").Check(background, rule("a")); err == nil || !strings.HasPrefix(err.Error(), "weir: no URL: WEIR_LOCAL=never") {
		t.Errorf("no URL and no local: %v", err)
	}
}

func TestOptionsThatAreNoneAreErrors(t *testing.T) {
	for _, each := range []struct {
		option Option
		wrong  string
	}{
		{WithTimeout(0), "weir: WithTimeout(0s): a time above 0 is expected"},
		{WithConnectTimeout(-1), "weir: WithConnectTimeout(-1ns): a time above 0 is expected"},
		{WithOnError(nil), "weir: WithOnError(nil): Allow, Deny, Fail or a function is expected"},
		{WithMaxConnections(1), "weir: WithMaxConnections(1): at least 2 are expected, one of them shared"},
		{WithMaxInFlight(0), "weir: WithMaxInFlight(0): at least 1 is expected"},
	} {
		if _, err := Connect(context.Background(), "unix:/none", each.option); err == nil || err.Error() != each.wrong {
			t.Errorf("%v, expected %s", err, each.wrong)
		}
	}
}

func TestTheSameLineHasAURLInProduction(t *testing.T) {
	f := newFake(t, always(yes))
	var log logged
	t.Setenv("WEIR_URL", f.url())
	for _, url := range []string{"", f.url()} {
		c := connected(t, url, WithLimits("limits.yaml"), log.option())
		for i := 0; i < 2; i++ {
			if d, err := c.Check(background, rule("a")); err != nil || !d.Decided {
				t.Errorf("%+v, %v", d, err)
			}
		}
	}
	t.Setenv("WEIR_LIMITS", "limits.yaml")
	connected(t, f.url(), log.option())
	own := `level=WARN msg="weir: the limits file limits.yaml is for a weir of this machine; the one at ` + f.url() + ` has its own"`
	sameLines(t, log.lines(), own, own, own)
}

// A client that a package makes starts nothing, and knows nothing yet.
func TestTheFirstQuestionLooksWhereTheWeirIs(t *testing.T) {
	t.Setenv("WEIR_URL", "")
	t.Setenv("WEIR_LOCAL", "")
	t.Setenv("WEIR_PROGRAM", "/none")
	early, late := connected(t, ""), connected(t, "")
	var refused *Refused
	for i := 0; i < 2; i++ {
		if _, err := early.Check(background, rule("a")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the weir program is missing") {
			t.Error(err)
		}
		if _, err := early.Acquire(background, rule("a"), Waiting{}); !errors.As(err, &refused) {
			t.Error(err)
		}
	}
	f := newFake(t, always(yes))
	t.Setenv("WEIR_URL", f.url())
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if d, err := late.Check(background, rule("a")); err != nil || !d.Decided {
				t.Errorf("%+v, %v", d, err)
			}
		}()
	}
	group.Wait()
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
	never := connected(t, "", WithOnError(Fail))
	never.Close()
	if _, err := never.Check(background, rule("a")); err == nil || err.Error() != "weir: the client is closed" {
		t.Error(err)
	}
}
