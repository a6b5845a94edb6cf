package weir

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// A dialer makes connections, one at a time for each client: at once, then after 10 ms doubling to 1 s, each with full
// jitter, so that a fleet comes back spread.
type dialer struct {
	set    *settings
	place  place
	outage *outage
	turn   chan struct{} // of one: the goroutine that has it dials
	local  address       // of the weir of this machine, once it is known

	mu    sync.Mutex
	index int // of the address that is tried next
	pause time.Duration
	next  time.Time // not before
	err   error     // of the last attempt
}

func newDialer(set *settings, where place, out *outage) *dialer {
	d := &dialer{set: set, place: where, outage: out, turn: make(chan struct{}, 1)}
	if n := len(where.addresses); n > 1 {
		d.index = rand.Intn(n)
	}
	return d
}

// dial returns a connection that has been greeted. While a pause lasts that is longer than ctx, it fails at once.
func (d *dialer) dial(ctx context.Context) (*conn, error) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, d.lastError(ctx.Err())
	}
	defer func() { <-d.turn }()
	if err := d.rest(ctx); err != nil {
		return nil, err
	}
	var err error
	for range d.tries() {
		where := d.current()
		var c *conn
		if c, err = d.open(ctx, where); err == nil {
			d.succeeded()
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, err // ours, not the server's
		}
		d.advance()
	}
	d.failed(err)
	return nil, err
}

func (d *dialer) tries() []address {
	if d.place.local {
		return make([]address, 1)
	}
	return d.place.addresses
}

func (d *dialer) current() address {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.place.local {
		return address{}
	}
	return d.place.addresses[d.index%len(d.place.addresses)]
}

func (d *dialer) advance() {
	d.mu.Lock()
	d.index++
	d.mu.Unlock()
}

func (d *dialer) rest(ctx context.Context) error {
	d.mu.Lock()
	next, last := d.next, d.err
	d.mu.Unlock()
	wait := time.Until(next)
	if wait <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && end.Before(next) {
		return last
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return d.lastError(ctx.Err())
	}
}

func (d *dialer) succeeded() {
	d.mu.Lock()
	d.pause, d.next, d.err = 0, time.Time{}, nil
	d.mu.Unlock()
}

func (d *dialer) failed(err error) {
	d.mu.Lock()
	d.pause *= 2
	if d.pause < firstPause {
		d.pause = firstPause
	}
	if d.pause > lastPause {
		d.pause = lastPause
	}
	d.next = time.Now().Add(time.Duration(rand.Int63n(int64(d.pause))))
	d.err = err
	d.mu.Unlock()
}

// waitsUntil says when the next attempt is due, and why the last one failed.
func (d *dialer) waitsUntil() (time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next, d.err
}

func (d *dialer) lastError(otherwise error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	return otherwise
}

// open makes one connection to one address, or to the weir of this machine.
func (d *dialer) open(ctx context.Context, where address) (*conn, error) {
	if d.place.local {
		var err error
		if where, err = d.findLocal(ctx); err != nil {
			return nil, err
		}
	}
	patience := d.set.connectTimeout
	if d.set.password != "" {
		patience += time.Second // after which a weir says that it is wrong
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	network, err := reach(bounded, where)
	if err != nil {
		return nil, awayOf(where.name(), err)
	}
	end, _ := bounded.Deadline()
	network.SetDeadline(end)
	stop := context.AfterFunc(bounded, func() { network.SetDeadline(time.Unix(1, 0)) })
	c := &conn{net: network, server: where.name(), reader: bufio.NewReaderSize(network, 16<<10), patience: d.set.timeout,
		silence: d.set.silence}
	err = d.secure(bounded, c, where.host)
	if err == nil {
		err = d.greet(c)
	}
	if err != nil {
		stop()
		network.Close()
		return nil, awayOf(where.name(), err)
	}
	if !stop() {
		network.Close()
		return nil, awayOf(where.name(), bounded.Err())
	}
	c.net.SetDeadline(time.Time{})
	d.outage.heed(c, d.set.timeout)
	return c, nil
}

func reach(ctx context.Context, where address) (net.Conn, error) {
	var plain net.Dialer
	return plain.DialContext(ctx, where.network, where.text)
}

// findLocal is the weir of this machine: the socket of the last time if somebody answers there, or what the program
// says, which starts one. The caller has the turn.
func (d *dialer) findLocal(ctx context.Context) (address, error) {
	if d.local.text != "" {
		if found, err := reach(ctx, d.local); err == nil {
			found.Close()
			return d.local, nil
		}
	}
	var err error
	d.local, err = startLocal(ctx, d.set.limits)
	return d.local, err
}

func (d *dialer) secure(ctx context.Context, c *conn, host string) error {
	if !d.place.tls {
		return nil
	}
	config := d.set.tls.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	secured := tls.Client(c.net, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	c.net = secured
	c.reader.Reset(secured)
	return nil
}

// A greeting is what a server says of itself.
type greeting struct {
	version       string // weir's
	storeDeadline time.Duration
	maxWait       time.Duration // 0: an older one does not say it
	tags          bool          // many may stand in line on one connection
}

// greet says HELLO, with the password if there is one, and finds out whether this is a weir.
func (d *dialer) greet(c *conn) error {
	words := []string{"HELLO", "3"}
	if d.set.password != "" || d.set.user != "" {
		user := d.set.user
		if user == "" {
			user = "default"
		}
		words = append(words, "AUTH", user, d.set.password)
	}
	told, err := ask(c, words...)
	if err == nil && strings.HasPrefix(told.text, "NOPROTO") {
		words[1] = "2"
		told, err = ask(c, words...)
	}
	if err != nil {
		return err
	}
	if told.kind == '-' {
		return d.notLetIn(c.server, told.text)
	}
	var server, version string
	for i := 0; i+1 < len(told.array); i += 2 {
		value := told.array[i+1]
		switch told.array[i].text {
		case "server":
			server = value.text
		case "version":
			version = value.text
		case "weir_version":
			c.greeting.version = value.text
		case "store_deadline_ms":
			c.greeting.storeDeadline = fromMilliseconds(value.number)
		case "max_wait_ms":
			c.greeting.maxWait = fromMilliseconds(value.number)
		case "max_waiters":
			c.greeting.tags = words[1] == "3"
		}
	}
	if c.greeting.version == "" {
		if err := olderOrOther(c, server, version); err != nil {
			return err
		}
	}
	if !speaksWith(c.greeting.version) {
		return refuse("%s is weir %s; this client, %s, speaks with one minor version older or newer", c.server,
			c.greeting.version, Version)
	}
	return nil
}

func (d *dialer) notLetIn(server, text string) error {
	user := d.set.user
	if user == "" {
		user = "default"
	}
	switch {
	case strings.HasPrefix(text, "NOAUTH"):
		return &Unauthorized{Server: server, Text: "it wants a password: give it in the URL, by WithPassword or in WEIR_PASSWORD"}
	case strings.HasPrefix(text, "WRONGPASS"):
		return &Unauthorized{Server: server, Text: "it does not know this password of user '" + user + "'"}
	case strings.HasPrefix(text, "ERR unknown command"):
		return refuse("%s is not a weir: it has no HELLO; start `weir serve` and connect to that", server)
	}
	return errorOf(server, text)
}

// speaksWith says whether a server's version is ours, or one minor version beside it.
func speaksWith(version string) bool {
	var theirs, ours [2]int
	if n, err := fmt.Sscanf(version, "%d.%d", &theirs[0], &theirs[1]); err != nil || n != 2 {
		return false
	}
	fmt.Sscanf(Version, "%d.%d", &ours[0], &ours[1])
	beside := theirs[1] - ours[1]
	return theirs[0] == ours[0] && -1 <= beside && beside <= 1
}

// olderOrOther asks one that does not say weir_version in HELLO. A weir of 0.1 says it in INFO alone.
func olderOrOther(c *conn, server, version string) error {
	told, err := ask(c, "INFO", "server")
	if err != nil {
		return err
	}
	if _, after, found := strings.Cut(told.text, "weir_version:"); found {
		c.greeting.version, _, _ = strings.Cut(after, "\r\n")
		return nil
	}
	name := "Redis"
	if server != "" && server != "redis" {
		name = strings.ToUpper(server[:1]) + server[1:]
	}
	return refuse("%s is a %s %s, not a weir; start `weir serve --store` and connect to that", c.server, name, version)
}

func ask(c *conn, words ...string) (reply, error) {
	var asked command
	asked.begin(words[0])
	for _, word := range words[1:] {
		asked.word(word)
	}
	var told reply
	if _, err := c.net.Write(asked.encoded()); err != nil {
		return told, err
	}
	err := told.read(c.reader)
	return told, err
}

// awayOf is what an error of the network means to a call.
func awayOf(server string, err error) error {
	var (
		refused      *Refused
		unauthorized *Unauthorized
		certificate  *tls.CertificateVerificationError
		network      *net.OpError
	)
	switch {
	case errors.As(err, &refused), errors.As(err, &unauthorized):
		return err
	case errors.As(err, &certificate):
		return &Unauthorized{Server: server, Text: "its certificate: " + certificate.Err.Error(), cause: err}
	case errors.As(err, &network) && network.Op == "remote error": // an alert of TLS
		return &Unauthorized{Server: server, Text: "it refuses our side of TLS: " + network.Err.Error(), cause: err}
	}
	if away, ok := isUnavailable(err); ok {
		return away
	}
	reason := err.Error()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it closed the connection"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		reason, err = "no answer in time", os.ErrDeadlineExceeded // never to be taken for the caller's own context
	case errors.As(err, &network):
		reason = network.Err.Error()
	}
	return &Unavailable{Server: server, Reason: reason, cause: err}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
