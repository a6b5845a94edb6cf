// Package weirtest starts a weir for one test, whose time stands still until the test says otherwise:
//
//	func TestRecoversAfterAMinute(t *testing.T) {
//		server := weirtest.Start(t)
//		app := newApp(server.Client)
//		...
//		server.Advance(time.Minute)
//		...
//	}
//
// What is tested is given server.Client, or connects to server.URL: tests may run in parallel, so a client without a URL
// does not find the weir of one of them.
//
// The weir program is that of WEIR_PROGRAM, or the one in PATH. It runs on Linux; elsewhere WEIR_TEST_URL names a weir of
// virtual time that runs in a container, and `go test -p 1` has one package at a time begin again with it.
package weirtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/beside"
)

// patience is for the program: no busy machine takes that long.
const patience = 20 * time.Second

// A Server is a weir of one test: it counts in memory, and what it knows ends with the test.
type Server struct {
	URL    string
	Client *weir.Client // fails where a call has no answer

	t    testing.TB
	line beside.Line
}

// An Option is a setting of Start.
type Option func(*settings)

type settings struct{ limits, now string }

// Limits is the text of its limits file.
func Limits(text string) Option { return func(s *settings) { s.limits = text } }

// LimitsFile is the file itself.
func LimitsFile(path string) Option {
	return func(s *settings) {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		s.limits = string(text)
	}
}

// Now is what its clock shows at the start, for windows of the calendar.
func Now(t time.Time) Option {
	return func(s *settings) { s.now = t.UTC().Format("2006-01-02T15:04:05Z") }
}

// Start starts a weir and ends it after the test, or begins again with that of WEIR_TEST_URL. What keeps it from starting ends
// the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	var set settings
	for _, each := range options {
		each(&set)
	}
	s := &Server{t: t, URL: os.Getenv("WEIR_TEST_URL")}
	if s.URL == "" {
		s.URL = "unix:" + run(t, set.now)
		s.talk(t)
	} else {
		if set.now != "" {
			t.Fatal("weirtest: the weir of WEIR_TEST_URL has a start of its own: start that with --now")
		}
		s.talk(t)
		s.must("WEIR.TIME", "RESET") // another process that does so meanwhile is told to use -p 1
		s.must("WEIR.CONFIG", "SET", noLimits)
	}
	if set.limits != "" {
		s.must("WEIR.CONFIG", "SET", set.limits)
	}
	s.Client = s.Connect()
	return s
}

const noLimits = "version: 1\nlimits: {}\n"

// talk connects what tells it the time. At the test's end it waits until the server knows it, so that the next may begin.
func (s *Server) talk(t testing.TB) {
	t.Helper()
	if err := s.dial(); err != nil {
		t.Fatalf("weirtest: %s", err)
	}
	t.Cleanup(s.line.End)
}

func (s *Server) dial() (err error) {
	if strings.HasPrefix(s.URL, "weir+local:") {
		return errors.New("WEIR_TEST_URL is weir://[[user]:password@]host[:6390] or unix:/path, not weir+local:")
	}
	s.line, err = beside.Dial(s.URL, patience)
	return err
}

// Connect makes one more client of it, closed after the test. As Client it fails where a call has no answer, unless the
// options say otherwise: a test that nobody decides about has not passed.
func (s *Server) Connect(options ...weir.Option) *weir.Client {
	s.t.Helper()
	usual := []weir.Option{weir.WithOnError(weir.Fail), weir.WithTimeout(patience)}
	client, err := weir.Connect(context.Background(), s.URL, append(usual, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { client.Close() })
	return client
}

// run starts the program, and returns the socket that it says.
func run(t testing.TB, now string) string {
	t.Helper()
	arguments := []string{"local", "--virtual-time", "--foreground"}
	if now != "" {
		arguments = append(arguments, "--now", now)
	}
	name := os.Getenv("WEIR_PROGRAM")
	if name == "" {
		name = "weir"
	}
	program := exec.Command(name, arguments...)
	var log strings.Builder
	program.Stderr = &log
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatalf("weirtest: %s does not start: %s; put bin/weir of a release's weir-linux-*.tar.gz into PATH, or name it in WEIR_PROGRAM; "+
			"where it does not run, WEIR_TEST_URL names a weir of virtual time that runs elsewhere", name, err)
	}
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- strings.TrimPrefix(strings.TrimSpace(line), "unix:")
		io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		program.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(patience, func() { program.Process.Kill() })
		program.Wait()
		kill.Stop()
	})
	select {
	case socket := <-said:
		if socket == "" {
			program.Wait()
			t.Fatalf("weirtest: %s", strings.TrimSpace(log.String()))
		}
		return socket
	case <-time.After(patience):
		t.Fatalf("weirtest: %s has not started within %s", name, patience)
	}
	return ""
}

// Advance has d pass, and returns when all that fell due meanwhile has been answered.
func (s *Server) Advance(d time.Duration) {
	s.t.Helper()
	if d <= 0 {
		return
	}
	s.must("WEIR.TIME", "ADVANCE", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
}

// Now is what its clock shows.
func (s *Server) Now() time.Time {
	s.t.Helper()
	now, err := time.Parse(time.RFC3339Nano, s.must("WEIR.TIME")[2])
	if err != nil {
		s.t.Fatalf("weirtest: %s", err)
	}
	return now
}

// must ends the test where the server refuses.
func (s *Server) must(words ...string) []string {
	s.t.Helper()
	told, err := s.line.Tell(words...)
	if err != nil {
		s.t.Fatalf("weirtest: %s: %s", strings.Join(words[:min(2, len(words))], " "), err)
	}
	return told
}
