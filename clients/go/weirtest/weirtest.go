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
// The weir program is that of WEIR_PROGRAM, or the one in PATH. It runs on Linux.
package weirtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	weir "example.com/weir/go"
)

// patience is for the program: no busy machine takes that long.
const patience = 20 * time.Second

// A Server is a weir of its own: it counts in memory, and ends with its test.
type Server struct {
	URL    string
	Client *weir.Client // fails where a call has no answer

	t      testing.TB
	time   net.Conn
	reader *bufio.Reader
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

// Start starts a weir and ends it after the test. What keeps it from starting ends the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	var set settings
	for _, each := range options {
		each(&set)
	}
	arguments := []string{"local", "--virtual-time", "--foreground"}
	if set.limits != "" {
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte(set.limits), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, "--limits", file)
	}
	if set.now != "" {
		arguments = append(arguments, "--now", set.now)
	}
	s := &Server{t: t, URL: "unix:" + run(t, arguments)}
	var err error
	if s.time, err = net.Dial("unix", strings.TrimPrefix(s.URL, "unix:")); err != nil {
		t.Fatal(err)
	}
	s.reader = bufio.NewReader(s.time)
	s.Client = s.Connect()
	t.Cleanup(func() { s.time.Close() })
	return s
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
func run(t testing.TB, arguments []string) string {
	t.Helper()
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
		t.Fatalf("weirtest: %s does not start: %s; set WEIR_PROGRAM to the weir program, or put it into PATH", name, err)
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
	if _, err := s.tell(fmt.Sprintf("WEIR.TIME ADVANCE %d", (d+time.Millisecond-1)/time.Millisecond)); err != nil {
		s.t.Fatalf("weirtest: Advance(%s): %s", d, err)
	}
}

// Now is what its clock shows.
func (s *Server) Now() time.Time {
	s.t.Helper()
	text, err := s.tell("WEIR.TIME")
	if err != nil {
		s.t.Fatalf("weirtest: %s", err)
	}
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		s.t.Fatalf("weirtest: %s", err)
	}
	return now
}

// tell sends a line and reads the three values of WEIR.TIME: two integers and the clock.
func (s *Server) tell(line string) (string, error) {
	s.time.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(s.time, line+"\r\n"); err != nil {
		return "", err
	}
	var last string
	for i := 0; i < 5; i++ { // *3, two integers, the clock's length and its text
		text, err := s.reader.ReadString('\n')
		if err != nil {
			return "", err
		}
		if last = strings.TrimSpace(text); strings.HasPrefix(last, "-") {
			return "", fmt.Errorf("%s", strings.TrimPrefix(last, "-ERR "))
		}
	}
	return last, nil
}
