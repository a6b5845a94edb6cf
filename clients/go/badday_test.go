package weir

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var background = context.Background()

// accepting listens on a port, each of whose connections is treated by a goroutine of its own.
func accepting(t *testing.T, treat func(net.Conn)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { accepted.Close() })
			go treat(accepted)
		}
	}()
	return listener.Addr().String()
}

func TestAServerThatIsSilentIsNotWaitedFor(t *testing.T) {
	f := newFake(t, always(silence))
	var log logged
	c := connected(t, f.url(), WithTimeout(20*time.Millisecond), log.option(), func(s *settings) { s.silence = time.Hour })
	for i := 0; i < 3; i++ { // each by a deadline of its own, whatever is unanswered before it
		d, err := c.Check(background, rule("a"))
		if err != nil || !d.Allowed || d.Decided || d.Err == nil || d.Limit != -1 || d.Granted != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		if want := "weir: " + f.url() + ": no answer in time"; d.Err.Error() != want || !errors.Is(d.Err, os.ErrDeadlineExceeded) ||
			errors.Is(d.Err, context.DeadlineExceeded) {
			t.Errorf("%v, expected %s", d.Err, want)
		}
	}
	sameLines(t, log.lines(), `level=WARN msg="weir at `+f.url()+` does not answer: no answer in time"`)
}

// The answers of calls that were given up come when they will, and are told from those of the next by their order.
func TestALateAnswerIsDropped(t *testing.T) {
	var late atomic.Bool
	late.Store(true)
	f := newFake(t, func(words []string) string {
		if late.Load() {
			return silence
		}
		if words[2] == "third" {
			return no + no + yes // the first two are late
		}
		return yes
	})
	c := connected(t, f.url())
	for _, key := range []string{"first", "second"} {
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		if _, err := c.Check(ctx, rule(key)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
	}
	until(t, "both were asked", func() bool { return len(f.questions()) == 2 })
	late.Store(false)
	for _, key := range []string{"third", "fourth"} {
		if d, err := c.Check(background, rule(key)); err != nil || !d.Allowed || !d.Decided {
			t.Errorf("%s: %+v, %v", key, d, err)
		}
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

func TestAConnectionThatAnswersNothingIsGivenUp(t *testing.T) {
	var mute atomic.Bool
	mute.Store(true)
	f := newFake(t, func([]string) string {
		if mute.Load() {
			return silence
		}
		return yes
	})
	c := connected(t, f.url(), WithTimeout(10*time.Millisecond), func(s *settings) { s.silence = 30 * time.Millisecond })
	c.Check(background, rule("a"))
	mute.Store(false)
	until(t, "another connection was made", func() bool { _, ever := f.connections(); return ever > 1 })
	until(t, "it decides", func() bool { d, _ := c.Check(background, rule("b")); return d.Decided })
	if c.counted.Load() != 0 {
		t.Errorf("%d calls are counted as unanswered", c.counted.Load())
	}
}

func TestHalfAnAnswerIsNone(t *testing.T) {
	for _, half := range []string{yes[:20], yes[:len(yes)-3], "*6\r\n"} {
		f := newFake(t, always(half))
		c := connected(t, f.url(), WithOnError(Fail))
		go func() {
			until(t, "it was asked", func() bool { return len(f.questions()) == 1 })
			time.Sleep(20 * time.Millisecond)
			f.goAway()
		}()
		_, err := c.Check(background, rule("a"))
		if away, ok := isUnavailable(err); !ok || away.Reason != "it closed the connection" {
			t.Errorf("after %q: %v", half, err)
		}
		if len(f.questions()) != 1 {
			t.Errorf("asked %q", f.questions())
		}
	}
}

// What was written may have been charged.
func TestNothingThatWasWrittenIsSentAgain(t *testing.T) {
	f := newFake(t, always(hangUp))
	c := connected(t, f.url(), WithOnError(Fail))
	for i := 1; i < 20; i++ {
		_, err := c.Check(background, rule("a"))
		if _, ok := isUnavailable(err); !ok {
			t.Fatal(err)
		}
		if asked := len(f.questions()); asked > i {
			t.Fatalf("%d calls were sent %d times", i, asked)
		}
	}
}

func TestWhatWasNotWrittenGoesToAnotherConnection(t *testing.T) {
	f := newFake(t, always(yes))
	c := connected(t, f.url(), WithOnError(Fail))
	for i := 0; i < 5; i++ {
		f.goAway()
		f.comeBack()
		until(t, "the client has seen it", func() bool { open, _ := f.connections(); return open == 1 })
		if d, err := c.Check(background, rule("a")); err != nil || !d.Decided {
			t.Fatalf("%d: %+v, %v", i, d, err)
		}
	}
}

// A write that fails has said how much of it went.
func TestTheUnwrittenRestOfAWriteIsSentByTheNextConnection(t *testing.T) {
	f := newFake(t, always(yes))
	c := connected(t, f.url(), WithOnError(Fail))
	first := c.shared.Load()
	first.mu.Lock()
	first.net = &torn{Conn: first.net}
	first.mu.Unlock()
	if d, err := c.Check(background, rule("a")); err != nil || !d.Decided {
		t.Errorf("%+v, %v", d, err)
	}
	sameLines(t, f.questions(), "WEIR.THROTTLE KEYS a 5/min")
	if c.counted.Load() != 0 {
		t.Errorf("%d calls are counted as unanswered", c.counted.Load())
	}
}

// A torn connection takes nothing.
type torn struct{ net.Conn }

func (t *torn) Write([]byte) (int, error) { return 0, net.ErrClosed }

func TestAnOutageIsTwoLines(t *testing.T) {
	f := newFake(t, always(yes))
	var log logged
	c := connected(t, f.url(), WithTimeout(50*time.Millisecond), log.option())
	f.goAway()
	until(t, "the client has seen it", func() bool { return c.shared.Load() == nil })
	for i := 0; i < 5; i++ {
		if d, err := c.Check(background, rule("a")); err != nil || d.Decided || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	f.comeBack()
	missed := 5
	until(t, "it decides again", func() bool {
		d, _ := c.Check(background, rule("a"))
		if !d.Decided {
			missed++
		}
		return d.Decided
	})
	lines := log.lines()
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `level=WARN msg="weir at `+f.url()+` does not answer: `) {
		t.Fatalf("%q", lines)
	}
	if want := fmt.Sprintf(`level=WARN msg="weir at %s answers again; %d calls went without it"`, f.url(), missed); lines[1] != want {
		t.Errorf("%s\nexpected\n%s", lines[1], want)
	}
}

func TestAServerThatIsAwayAtFirstIsNoError(t *testing.T) {
	f := newFake(t, always(yes))
	f.goAway()
	c := connected(t, f.url(), WithTimeout(30*time.Millisecond))
	if d, err := c.Check(background, rule("a")); err != nil || d.Decided || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	f.comeBack()
	until(t, "it decides", func() bool { d, _ := c.Check(background, rule("a")); return d.Decided })
}

func TestAttemptsToConnectAreFewAndOneAtATime(t *testing.T) {
	var now, most, all atomic.Int64
	where := accepting(t, func(accepted net.Conn) {
		all.Add(1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		accepted.Close()
	})
	c := connected(t, "weir://"+where, WithTimeout(time.Millisecond))
	var group sync.WaitGroup
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				c.Check(background, rule("a"))
			}
		}()
	}
	group.Wait()
	if all.Load() > 60 || most.Load() > 1 {
		t.Errorf("%d attempts, %d at once", all.Load(), most.Load())
	}
}

func TestOnErrorDecides(t *testing.T) {
	f := newFake(t, always(silence))
	f.goAway()
	var asked []string
	for name, each := range map[string]struct {
		decide func(*Unavailable, Question) (bool, error)
		want   string
	}{
		"allow": {Allow, "true 0s <nil>"},
		"deny":  {Deny, "false 1s <nil>"},
		"function": {func(e *Unavailable, q Question) (bool, error) {
			asked = append(asked, q.Key+" "+e.Reason)
			return true, nil
		}, "true 0s <nil>"},
		"its own": {func(*Unavailable, Question) (bool, error) { return true, errors.New("mine") }, "false 0s mine"},
	} {
		c := connected(t, f.url(), WithTimeout(time.Millisecond), WithOnError(each.decide))
		d, err := c.Check(background, rule("a"))
		if got := fmt.Sprint(d.Allowed, d.RetryAfter, err); got != each.want || d.Decided || d.Err == nil {
			t.Errorf("%s: %s, expected %s; %+v", name, got, each.want, d)
		}
		r, err := c.TryReserve(background, rule("a"), Waiting{MaxWait: time.Second})
		if name == "its own" {
			if err == nil || r != nil {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		if err != nil || r.Decision.Allowed != d.Allowed || r.wait != 0 || r.ID != "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if units, err := r.Cancel(background); units != 0 || err != nil {
			t.Errorf("%s: cancelled %d, %v", name, units, err)
		}
		if next, err := r.Settle(background); next != Gone || err != nil {
			t.Errorf("%s: settled %s, %v", name, next, err)
		}
		_, err = c.Acquire(background, rule("a"), Waiting{})
		var denied *Denied
		if errors.As(err, &denied) != !d.Allowed {
			t.Errorf("%s: acquired with %v", name, err)
		}
		if units, err := c.Refund(background, rule("a")); units != 0 || err != nil {
			t.Errorf("%s: refunded %d, %v", name, units, err)
		}
	}
	if len(asked) != 4 || asked[0] != "a connect: no such file or directory" && !strings.HasPrefix(asked[0], "a ") {
		t.Errorf("the function was asked %q", asked)
	}
	c := connected(t, f.url(), WithTimeout(time.Millisecond), WithOnError(Fail))
	if _, ok := isUnavailable(func() error { _, err := c.Charge(background, rule("a"), Outside{}); return err }()); !ok {
		t.Error("a charge that was not taken is not an error")
	}
}

func TestAnErrorReplyMeansOneThing(t *testing.T) {
	for _, each := range []struct{ answer, want string }{
		{"-ERR unknown attribute 'usr'; did you mean user?\r\n", "*weir.Refused: weir: unknown attribute 'usr'; did you mean user?"},
		{"-NOPERM this user has no permissions\r\n", "*weir.Unauthorized: weir: SERVER: NOPERM this user has no permissions"},
		{"-NOAUTH Authentication required.\r\n", "*weir.Unauthorized: weir: SERVER: NOAUTH Authentication required."},
		{"-ERR closed: clients together keep more than --client-memory, and this one the most\r\n",
			"*weir.Unavailable: weir: SERVER: closed: clients together keep more than --client-memory, and this one the most"},
		{"-ERR unknown command 'WEIR.THROTTLE'\r\n", "*weir.Refused: weir: SERVER is weir 0.1.0, which has no WEIR.THROTTLE; weir 0.1.0 has it"},
		{":1\r\n", "*weir.Refused: weir: the answer has another form than this version of the client knows"},
		{"HTTP/1.1 400\r\n", "*weir.Unavailable: weir: SERVER: its answer is not RESP: it begins with 'H'"},
	} {
		f := newFake(t, always(each.answer))
		c := connected(t, f.url(), WithOnError(Fail))
		_, err := c.Check(background, rule("a"))
		if got := strings.ReplaceAll(fmt.Sprintf("%T: %v", err, err), f.url(), "SERVER"); got != each.want {
			t.Errorf("%s\nexpected %s", got, each.want)
		}
	}
}

func TestWhatSaysHelloOtherwiseIsNoWeir(t *testing.T) {
	redis := "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
	for _, each := range []struct{ hello, info, want string }{
		{redis, "$15\r\nredis_version:7\r\n", "*weir.Refused: weir: SERVER is a Redis 7.0.15, not a weir; start `weir serve --store` and connect to that"},
		{strings.ReplaceAll(redis, "$5\r\nredis", "$6\r\nvalkey"), "$1\r\nx\r\n", "*weir.Refused: weir: SERVER is a Valkey 7.0.15, not a weir; start `weir serve --store` and connect to that"},
		{redis, "$20\r\nweir_version:0.1.0\r\n\r\n", "<nil>: <nil>"},
		{redis, "$21\r\nweir_version:99.0.0\r\n\r\n", "*weir.Refused: weir: SERVER is weir 99.0.0; this client, 0.1.0, speaks with one minor version older or newer"},
		{"-ERR unknown command 'HELLO'\r\n", "", "*weir.Refused: weir: SERVER is not a weir: it has no HELLO; start `weir serve` and connect to that"},
		{"-NOAUTH HELLO must be called with the client already authenticated\r\n", "",
			"*weir.Unauthorized: weir: SERVER: it wants a password: give it in the URL, by WithPassword or in WEIR_PASSWORD"},
		{"-WRONGPASS invalid username-password pair or user is disabled.\r\n", "", "*weir.Unauthorized: weir: SERVER: it does not know this password of user 'default'"},
		{"-ERR max number of clients reached\r\n", "", "<nil>: <nil>"}, // it may have room soon
	} {
		each := each
		where := accepting(t, func(accepted net.Conn) {
			buffer := make([]byte, 1000)
			accepted.Read(buffer)
			accepted.Write([]byte(each.hello))
			if n, _ := accepted.Read(buffer); n > 0 {
				accepted.Write([]byte(each.info))
			}
		})
		c, err := Connect(background, "weir://"+where, new(logged).option())
		if got := strings.ReplaceAll(fmt.Sprintf("%T: %v", err, err), where, "SERVER"); got != each.want {
			t.Errorf("%s\nexpected %s", got, each.want)
		}
		if err == nil {
			c.Close()
		}
	}
}

func certificate(t *testing.T, end time.Time) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: end.Add(-48 * time.Hour),
		NotAfter: end, IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestACertificateIsVerified(t *testing.T) {
	good, trusted := certificate(t, time.Now().Add(time.Hour))
	expired, trustedOnce := certificate(t, time.Now().Add(-time.Hour))
	for _, each := range []struct {
		name   string
		server tls.Certificate
		client *tls.Config
		want   string
	}{
		{"good", good, &tls.Config{RootCAs: trusted}, ""},
		{"expired", expired, &tls.Config{RootCAs: trustedOnce}, "certificate has expired or is not yet valid"},
		{"unknown", good, nil, "certificate signed by unknown authority"},
		{"another name", good, &tls.Config{RootCAs: trusted, ServerName: "weir.internal"}, "certificate is not valid for any names"},
	} {
		t.Run(each.name, func(t *testing.T) {
			plain, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			f := deafFake(t, always(yes))
			f.listenOn(tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{each.server}}))
			options := []Option{WithConnectTimeout(patient), WithTimeout(patient), new(logged).option()}
			if each.client != nil {
				options = append(options, WithTLS(each.client))
			}
			c, err := Connect(background, "weirs://"+plain.Addr().String(), options...)
			if each.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if d, err := c.Check(background, rule("a")); err != nil || !d.Decided {
					t.Errorf("%+v, %v", d, err)
				}
				return
			}
			var unauthorized *Unauthorized
			if !errors.As(err, &unauthorized) || !strings.Contains(err.Error(), each.want) {
				t.Errorf("%v, expected %s", err, each.want)
			}
		})
	}
}

func TestAServerThatWantsAClientCertificateAndGetsNone(t *testing.T) {
	good, trusted := certificate(t, time.Now().Add(time.Hour))
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := deafFake(t, always(yes))
	f.listenOn(tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAnyClientCert}))
	_, err = Connect(background, "weirs://"+plain.Addr().String(), WithTLS(&tls.Config{RootCAs: trusted}), WithConnectTimeout(patient), new(logged).option())
	var unauthorized *Unauthorized
	if !errors.As(err, &unauthorized) {
		t.Errorf("%v", err)
	}
}

func TestTenThousandCallsAtOnce(t *testing.T) {
	release := make(chan struct{})
	f := newFake(t, func([]string) string { <-release; return yes })
	c := connected(t, f.url(), WithMaxInFlight(1024))
	var decided, tooMany atomic.Int64
	var group sync.WaitGroup
	for i := 0; i < 10_000; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			d, err := c.Check(background, rule("a"))
			if err != nil {
				t.Error(err)
			}
			if d.Decided {
				decided.Add(1)
			} else if d.Err.Error() == "weir: 1024 calls are unanswered" {
				tooMany.Add(1)
			} else {
				t.Error(d.Err)
			}
		}()
	}
	until(t, "those beyond the bound are answered at once", func() bool { return tooMany.Load() == 10_000-1024 })
	close(release)
	group.Wait()
	if decided.Load() != 1024 || c.counted.Load() != 0 {
		t.Errorf("%d decided, %d counted", decided.Load(), c.counted.Load())
	}
	if _, ever := f.connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

func TestAFunctionThatWatchesMayPanic(t *testing.T) {
	f := newFake(t, always(yes))
	var log logged
	var calls []Call
	c := connected(t, f.url(), log.option(), WithOnCall(func(_ context.Context, call Call) {
		calls = append(calls, call)
		panic("mine")
	}))
	if d, err := c.Check(background, Question{Key: "k", Rule: "5/min"}); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	if len(calls) != 1 || calls[0].Verb != "check" || calls[0].Limit != "5/min" || !calls[0].Allowed || !calls[0].Decided {
		t.Errorf("%+v", calls)
	}
	sameLines(t, log.lines(), `level=ERROR msg="weir: WithOnCall's function panicked" panic=mine`)
}

func TestADenialIsRemembered(t *testing.T) {
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.SETTLE" {
			return ":0\r\n"
		}
		return no
	})
	c := connected(t, f.url(), WithRememberedDenials())
	first, _ := c.Check(background, rule("a"))
	again, err := c.Check(background, rule("a"))
	if err != nil || again.Allowed || !again.Decided || again.RetryAfter > first.RetryAfter || again.RetryAfter < first.RetryAfter-patient {
		t.Errorf("%+v, %v", again, err)
	}
	c.Check(background, rule("b"))
	c.Look(background, rule("a"))
	c.Settle(background, "id")
	c.Check(background, rule("a"))
	sameLines(t, f.questions(), "WEIR.THROTTLE KEYS a 5/min", "WEIR.THROTTLE KEYS b 5/min", "WEIR.THROTTLE COST 0 KEYS a 5/min",
		"WEIR.SETTLE id", "WEIR.THROTTLE KEYS a 5/min")
}

func TestWhatIsRememberedHasABound(t *testing.T) {
	m := &memory{}
	for i := 0; i < mostRemembered+50; i++ {
		m.keep(fmt.Sprint(i), Decision{RetryAfter: time.Hour})
	}
	if len(m.denials) != mostRemembered {
		t.Errorf("%d", len(m.denials))
	}
	m.keep("never", Decision{Never: true})
	m.keep("allowed", Decision{Allowed: true})
	m.keep("short", Decision{RetryAfter: time.Nanosecond})
	time.Sleep(time.Microsecond)
	for _, each := range []string{"never", "allowed", "short"} {
		if m.recall(each).Decided {
			t.Errorf("%s is remembered", each)
		}
	}
}

func TestATimeoutBelowTheStoresIsToldOnce(t *testing.T) {
	f := newFake(t, always(yes))
	var log logged
	s := settings{}
	log.option()(&s)
	o := &outage{log: s.log}
	made := &conn{server: f.url(), greeting: greeting{storeDeadline: 300 * time.Millisecond}}
	o.heed(made, 200*time.Millisecond)
	o.heed(made, 200*time.Millisecond)
	sameLines(t, log.lines(), `level=WARN msg="weir at `+f.url()+`: the timeout of 200ms is not above the server's --store-deadline of `+
		`300ms, so this client gives up before the server's fallback answers"`)
}

func TestAServerThatReadsNothingIsGivenUp(t *testing.T) {
	where := accepting(t, func(accepted net.Conn) {
		accepted.Read(make([]byte, 1000))
		accepted.Write([]byte(greetingText)) // and reads no more
	})
	c := connected(t, "weir://"+where, WithTimeout(50*time.Millisecond), WithOnError(Fail), func(s *settings) { s.silence = time.Hour })
	began := time.Now()
	_, err := c.Check(background, rule(strings.Repeat("x", 32<<20)))
	if _, ok := isUnavailable(err); !ok {
		t.Error(err)
	}
	until(t, "the other calls end too", func() bool {
		_, err := c.Check(background, rule("a"))
		_, ok := isUnavailable(err)
		return ok
	})
	if took := time.Since(began); took > patient {
		t.Errorf("it took %s", took)
	}
}

func TestAnAnswerToWhatWasAskedBeforeAnOutageEndsNone(t *testing.T) {
	release := make(chan struct{})
	f := newFake(t, func(words []string) string {
		if words[0] == "WEIR.ACQUIRE" {
			<-release
			return granted
		}
		return silence
	})
	var log logged
	c := connected(t, f.url(), WithTimeout(20*time.Millisecond), log.option())
	done := make(chan error)
	go func() {
		_, err := c.Acquire(background, rule("a"), Waiting{MaxWait: time.Hour})
		done <- err
	}()
	until(t, "it waits", func() bool { return len(f.questions()) == 1 })
	c.Check(background, rule("b"))
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	sameLines(t, log.lines(), `level=WARN msg="weir at `+f.url()+` does not answer: no answer in time"`)
}

func TestPausesBetweenAttemptsDoubleToASecondWithFullJitter(t *testing.T) {
	d := &dialer{}
	for _, want := range []int{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		d.failed(errClosed)
		if d.pause != time.Duration(want)*time.Millisecond || time.Until(d.next) > d.pause {
			t.Errorf("%s, the next in %s, expected %d ms", d.pause, time.Until(d.next), want)
		}
	}
	var all []time.Duration
	for i := 0; i < 20; i++ {
		before := time.Now()
		d.failed(errClosed)
		all = append(all, d.next.Sub(before))
	}
	slices.Sort(all)
	if all[0] > 500*time.Millisecond || all[19] < 500*time.Millisecond { // once in a million runs
		t.Errorf("%s", all)
	}
	d.succeeded()
	if d.failed(errClosed); d.pause != 10*time.Millisecond {
		t.Errorf("after a success: %s", d.pause)
	}
}
