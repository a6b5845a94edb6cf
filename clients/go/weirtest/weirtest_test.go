package weirtest

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
)

var background = context.Background()

func TestTimePassesWhenTheTestSays(t *testing.T) {
	needs.Program(t)
	start := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	s := Start(t, Now(start), Limits("version: 1\nlimits: { login: { by: [user], rate: 2/min } }\n"))
	ask := weir.Question{Attributes: map[string]string{"user": "ann"}}
	for i, want := range []bool{true, true, false} {
		if d, err := s.Client.Check(background, ask); err != nil || d.Allowed != want || d.By != "login" {
			t.Errorf("%d: %+v, %v", i, d, err)
		}
	}
	s.Advance(29 * time.Second)
	if d, _ := s.Client.Check(background, ask); d.Allowed || d.RetryAfter != time.Second {
		t.Errorf("after 29 s: %+v", d)
	}
	s.Advance(time.Second)
	if d, _ := s.Client.Check(background, ask); !d.Allowed {
		t.Errorf("after 30 s: %+v", d)
	}
	if passed := s.Now().Sub(start); passed != 30*time.Second {
		t.Errorf("the clock has gone on by %s", passed)
	}
}

func TestAWaitEndsWhenItsTimeHasPassed(t *testing.T) {
	needs.Program(t)
	s := Start(t)
	limiter := s.Client.NewLimiter("jobs", weir.Every(10*time.Second), 1)
	if err := limiter.Wait(background); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- limiter.Wait(background) }()
	for end := time.Now().Add(patience); !strings.Contains(s.must("INFO", "clients")[0], "blocked_clients:1"); {
		if time.Now().After(end) {
			t.Fatal("it does not stand in line")
		}
	}
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	s.Advance(10 * time.Second)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestServersOfTwoTestsAreTwo(t *testing.T) {
	needs.Program(t)
	a, b := Start(t), Start(t)
	if a.URL == b.URL {
		t.Error(a.URL)
	}
	once := weir.Question{Key: "k", Rule: "1/h"}
	for _, each := range []*Server{a, b} {
		if d, err := each.Client.Check(background, once); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
	}
}

func TestWhatNobodyDecidesIsAnError(t *testing.T) {
	needs.Program(t)
	s := Start(t)
	soon := weir.WithTimeout(50 * time.Millisecond)
	fails, allows := s.Connect(soon), s.Connect(soon, weir.WithOnError(weir.Allow))
	s.line.Tell("SHUTDOWN", "NOSAVE") // it has no answer
	once := weir.Question{Key: "k", Rule: "1/h"}
	var away *weir.Unavailable
	for end := time.Now().Add(patience); away == nil && time.Now().Before(end); {
		_, err := fails.Check(background, once) // until it has drained
		errors.As(err, &away)
	}
	if away == nil {
		t.Error("what nobody decides is allowed")
	}
	if d, err := allows.Check(background, once); err != nil || d.Decided || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

const theirs = "version: 1\nlimits: { theirs: { by: [user], rate: 1/h } }\n"

// A weir that somebody else has started, by a limits file of theirs, is as new for each test.
func TestAWeirOfSomebodyElseIsAsNew(t *testing.T) {
	needs.Program(t)
	elsewhere := "unix:" + run(t, "")
	t.Setenv("WEIR_TEST_URL", elsewhere)
	var began []time.Time
	for _, limits := range []string{theirs, strings.ReplaceAll(theirs, "theirs", "ours"), ""} {
		t.Run("", func(t *testing.T) {
			var options []Option
			if limits != "" {
				options = append(options, Limits(limits))
			}
			s := Start(t, options...)
			if s.URL != elsewhere {
				t.Error(s.URL)
			}
			d, err := s.Client.Check(background, weir.Question{Attributes: map[string]string{"user": "ann"}})
			if err != nil || !d.Allowed || d.By == "theirs" && limits != theirs {
				t.Errorf("%+v, %v", d, err)
			}
			for _, want := range []bool{true, false} {
				if d, err := s.Client.Check(background, weir.Question{Key: "k", Rule: "1/h"}); err != nil || d.Allowed != want {
					t.Errorf("%+v, %v", d, err)
				}
			}
			began = append(began, s.Now())
			s.Advance(time.Minute)
		})
	}
	if !began[0].Equal(began[1]) || !began[0].Equal(began[2]) {
		t.Errorf("time is at the start again: %v", began)
	}
}

func TestASecondProcessIsToldTheFlag(t *testing.T) {
	needs.Program(t)
	if os.Getenv("WEIR_TEST_URL") != "" { // this is the second
		Start(t)
		return
	}
	t.Setenv("WEIR_TEST_URL", "unix:"+run(t, ""))
	second := func() (string, error) {
		said, err := exec.Command(os.Args[0], "-test.run", "^TestASecondProcessIsToldTheFlag$").CombinedOutput()
		return string(said), err
	}
	t.Run("while the first goes on", func(t *testing.T) {
		Start(t)
		said, err := second()
		if err == nil || !strings.Contains(said, "another connection has begun tests here") || !strings.Contains(said, "go test -p 1") {
			t.Errorf("%v: %s", err, said)
		}
	})
	if said, err := second(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

func TestWhatATestURLIs(t *testing.T) {
	for given, want := range map[string]string{
		"weir+local:":            "WEIR_TEST_URL is weir://[[user]:password@]host[:6390] or unix:/path, not weir+local:",
		"http://there":           "unknown scheme 'http:'; the form is weir://",
		"weir://there/0":         "a URL has no path; the form is weir://",
		"weir://here,there":      "here:6390,there:6390 is not one place",
		"weir://a:%zz@there":     "a % is not followed by two hex digits",
		"weir://a:secret@[::1]:": "port '' is not a number",
	} {
		if err := (&Server{URL: given}).dial(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// The time is told by whoever the client's URL and environment say.
func TestAWeirOfSomebodyElseMayWantAPassword(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	said := make(chan string, 1)
	go func() {
		one, err := there.Accept()
		if err != nil {
			return
		}
		defer one.Close()
		text := make([]byte, 1000)
		n, _ := one.Read(text)
		said <- string(text[:n])
		one.Write([]byte("-WRONGPASS invalid\r\n"))
	}()
	t.Setenv("WEIR_PASSWORD", "secret")
	err = (&Server{URL: "weir://" + there.Addr().String()}).dial()
	if err == nil || !strings.Contains(err.Error(), "it does not know this password of user 'default'") {
		t.Errorf("%v", err)
	}
	if text := <-said; !strings.Contains(text, "AUTH\r\n$7\r\ndefault\r\n$6\r\nsecret\r\n") {
		t.Errorf("%q", text)
	}
}
