package weir

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	greetingText = "*4\r\n$12\r\nweir_version\r\n$5\r\n" + Version + "\r\n$17\r\nstore_deadline_ms\r\n:0\r\n"
	tagGreeting  = "%3\r\n$12\r\nweir_version\r\n$5\r\n" + Version + "\r\n$17\r\nstore_deadline_ms\r\n:0\r\n$11\r\nmax_waiters\r\n:10000\r\n"
	yes          = "*6\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:1000\r\n$1\r\nk\r\n"
	no           = "*6\r\n:1\r\n:5\r\n:0\r\n:60000\r\n:300000\r\n$1\r\nk\r\n"
	granted      = "*7\r\n:0\r\n:5\r\n:4\r\n:0\r\n:1000\r\n$2\r\nid\r\n$1\r\nk\r\n"
	silence      = ""       // no answer
	hangUp       = "hangUp" // the connection is closed in its place
)

// A fake is a server whose every answer the test says.
type fake struct {
	t        *testing.T
	listener net.Listener
	answer   func(words []string) string
	greeting string // of HELLO
	older    string // of HELLO 2, where that is another

	mu     sync.Mutex
	asked  []string
	open   map[net.Conn]bool
	opened int
}

// newFake listens on a Unix socket; HELLO is answered as a weir does, unless answer is told of it by sayHello.
func newFake(t *testing.T, answer func(words []string) string) *fake {
	f := deafFake(t, answer)
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	f.listenOn(listener)
	return f
}

// deafFake does not listen yet.
func deafFake(t *testing.T, answer func(words []string) string) *fake {
	return &fake{t: t, answer: answer, greeting: greetingText, open: map[net.Conn]bool{}}
}

func (f *fake) listenOn(listener net.Listener) {
	f.listener = listener
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.open[accepted] = true
			f.opened++
			f.mu.Unlock()
			go f.serve(accepted)
		}
	}()
	f.t.Cleanup(f.goAway)
}

func (f *fake) url() string { return "unix:" + f.listener.Addr().String() }

// goAway closes all that there is; comeBack listens at the same place again.
func (f *fake) goAway() {
	f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for each := range f.open {
		each.Close()
	}
}

func (f *fake) comeBack() {
	listener, err := net.Listen("unix", f.listener.Addr().String())
	if err != nil {
		f.t.Fatal(err)
	}
	f.listenOn(listener)
}

func (f *fake) serve(client net.Conn) {
	defer func() {
		f.mu.Lock()
		delete(f.open, client)
		f.mu.Unlock()
		client.Close()
	}()
	reader := bufio.NewReader(client)
	for {
		var r reply
		if err := r.read(reader); err != nil {
			return
		}
		words := make([]string, len(r.array))
		for i, each := range r.array {
			words[i] = each.text
		}
		answer := f.greeting
		if words[0] == "HELLO" && words[1] == "2" && f.older != "" {
			answer = f.older
		}
		if words[0] != "HELLO" {
			f.mu.Lock()
			f.asked = append(f.asked, strings.Join(words, " "))
			f.mu.Unlock()
			answer = f.answer(words)
		}
		if answer == hangUp {
			return
		}
		client.Write([]byte(answer))
	}
}

// say writes to all that are connected what nobody has asked for.
func (f *fake) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for each := range f.open {
		each.Write([]byte(text))
	}
}

func (f *fake) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

func (f *fake) connections() (open, ever int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open), f.opened
}

// A logged is what a client has said.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

func (l *logged) option() Option {
	return WithLogger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
}

// patient is a timeout that no busy machine exceeds.
const patient = 20 * time.Second

// connected is a client of url that says nothing, unless the options have it log elsewhere.
func connected(t *testing.T, url string, options ...Option) *Client {
	t.Helper()
	options = append([]Option{WithTimeout(patient), WithConnectTimeout(patient), new(logged).option()}, options...)
	c, err := Connect(context.Background(), url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func rule(key string) Question { return Question{Key: key, Rule: "5/min"} }

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %s: %s", patient, what)
		}
	}
}

func always(answer string) func([]string) string { return func([]string) string { return answer } }

func sameLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// BePatient is for the examples, whose readers set no timeout: one that has waited for a processor is no news.
func BePatient() { callTimeout = 10 * time.Second }
