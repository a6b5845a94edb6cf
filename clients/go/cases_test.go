package weir

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The cases that all clients share: clients/cases/README.md says what their words mean.

type (
	object = map[string]any
	step   struct {
		Call, Save, Of, Background, Await, Proxy string
		GiveUp                                   string `json:"give_up"`
		With, Expect                             object
		Eventually                               bool
		TookAtLeast                              float64 `json:"took_at_least_ms"`
		AtOnce                                   int     `json:"at_once"`
		Each                                     [][2]any
		Slot                                     object
		Steps                                    []step
		Advance                                  int64   `json:"advance_ms"`
		Sleep                                    float64 `json:"sleep_ms"`
		Connections                              *int
		Log                                      *[]string
		Calls                                    *[]object
	}
	sharedCase struct {
		Name    string
		Limits  *string
		Options object
		Server  *[]string
		NotIn   map[string]string `json:"not_in"`
		Steps   []step
	}
)

// What Go does otherwise.
var notInGo = map[string]string{
	"a cost of 0 takes nothing": "a Question's Cost of 0 is 1; Look takes nothing",
}

func TestCases(t *testing.T) {
	weir := weirProgram(t)
	files, err := filepath.Glob("../cases/*.json")
	if err != nil || len(files) == 0 {
		t.Skipf("the cases are in weir's repository: %v", err)
	}
	proxy := startProxy(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []sharedCase
		if text[0] == '{' {
			continue // a table, with a test of its own
		}
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %s", file, err)
		}
		for _, each := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+each.Name, func(t *testing.T) {
				why := each.NotIn["go"]
				if why == "" {
					why = notInGo[each.Name]
				}
				if why != "" {
					t.Skip(why)
				}
				(&run{T: t, sharedCase: each, proxy: proxy, saved: map[string]*Reservation{}, background: map[string]*later{}}).all(weir)
			})
		}
	}
}

func weirProgram(t *testing.T) string {
	found, err := program()
	if err != nil {
		t.Skip(err)
	}
	return found
}

// A run is one case.
type run struct {
	*testing.T
	sharedCase
	proxy      *proxy
	side       *conn // ours, to the weir itself
	url        string
	client     *Client
	refused    error // what Connect said
	saved      map[string]*Reservation
	background map[string]*later
	log        lines

	mu    sync.Mutex
	calls []object
}

type later struct {
	cancel context.CancelFunc
	done   chan any
}

func (r *run) all(weir string) {
	r.startWeir(weir)
	whole, _ := json.Marshal([]any{r.Options, r.raw()})
	if text := string(whole); strings.Contains(text, `"proxy"`) || strings.Contains(text, `"connections"`) || strings.Contains(text, "{proxy") {
		r.proxy.say(r.T, "to "+r.url)
		r.proxy.say(r.T, "mode up")
		r.url = r.proxy.Unix
	}
	if r.Steps[0].Call != "connect" {
		r.connect(r.Options)
	}
	r.do(r.Steps)
	if r.client != nil {
		r.client.Close()
	}
}

// raw are the names of the steps that need the proxy.
func (r *run) raw() []string {
	var names []string
	for _, each := range r.Steps {
		if each.Proxy != "" {
			names = append(names, "proxy")
		}
		if each.Connections != nil {
			names = append(names, "connections")
		}
	}
	return names
}

func (r *run) startWeir(weir string) {
	folder, err := os.MkdirTemp("", "weir") // t.TempDir may be too long for a socket
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	arguments := []string{"local", "--virtual-time", "--foreground", "--socket", socket}
	if r.Server != nil {
		arguments = append([]string{"serve", "--resp", "127.0.0.1:0", "--unix-socket", socket}, *r.Server...)
	}
	if r.Limits != nil {
		file := filepath.Join(folder, "limits.yaml")
		if err := os.WriteFile(file, []byte(*r.Limits), 0o600); err != nil {
			r.Fatal(err)
		}
		arguments = append(arguments, "--limits", file)
	}
	command := exec.Command(weir, arguments...)
	command.Stderr = new(logged)
	if err := command.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	})
	r.url = "unix:" + socket
	until(r.T, "weir listens", func() bool {
		network, err := net.Dial("unix", socket)
		if err == nil {
			r.side = &conn{net: network, reader: bufio.NewReader(network)}
			r.Cleanup(func() { network.Close() })
		}
		return err == nil
	})
}

func (r *run) connect(given object) error {
	var options []Option
	url := r.url
	for name, value := range given {
		text, _ := value.(string)
		text = r.proxy.filled(text)
		number, _ := value.(float64)
		span := time.Duration(number * float64(time.Millisecond))
		switch name {
		case "url":
			url = text
		case "user":
			options = append(options, WithUser(text))
		case "password":
			options = append(options, WithPassword(text))
		case "limits":
			options = append(options, WithLimits(text))
		case "ca":
			pool := x509.NewCertPool()
			pem, _ := os.ReadFile(text)
			pool.AppendCertsFromPEM(pem)
			options = append(options, WithTLS(&tls.Config{RootCAs: pool}))
		case "timeout_ms":
			options = append(options, WithTimeout(span))
		case "connect_timeout_ms":
			options = append(options, WithConnectTimeout(span))
		case "remember_denials":
			options = append(options, WithRememberedDenials())
		case "max_connections":
			options = append(options, WithMaxConnections(int(number)))
		case "max_in_flight":
			options = append(options, WithMaxInFlight(int(number)))
		case "on_error":
			if decide := onErrorOf(value); decide != nil {
				options = append(options, WithOnError(decide))
				break
			}
			return errCompiler
		default:
			return errCompiler
		}
	}
	options = append(options, r.log.option(), WithOnCall(r.watch))
	r.client, r.refused = Connect(context.Background(), url, options...)
	return r.refused
}

// errCompiler stands for what would not compile.
var errCompiler = errors.New("the compiler refuses that")

func onErrorOf(value any) func(*Unavailable, Question) (bool, error) {
	switch value {
	case "allow":
		return Allow
	case "deny":
		return Deny
	case "raise":
		return Fail
	}
	words, ok := value.(object)
	if !ok {
		return nil
	}
	return func(_ *Unavailable, q Question) (bool, error) {
		for _, each := range q.Attributes {
			if each == words["allows"] {
				return true, nil
			}
		}
		return q.Key == words["allows"], nil
	}
}

func (r *run) watch(_ context.Context, call Call) {
	told := object{"verb": call.Verb, "by": orNull(call.Limit), "allowed": nil, "decided": call.Decided}
	var raised *Unavailable
	switch call.Verb {
	case "check", "look", "reserve", "acquire":
		if !errors.As(call.Err, &raised) {
			told["allowed"] = call.Allowed
		}
	}
	r.mu.Lock()
	r.calls = append(r.calls, told)
	r.mu.Unlock()
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (r *run) do(steps []step) {
	for i, each := range steps {
		if text, _ := json.Marshal(each); !r.Failed() {
			r.one(each)
			if r.Failed() {
				r.Logf("step %d: %s", i, text)
			}
		}
	}
}

func (r *run) one(s step) {
	switch {
	case s.AtOnce > 0:
		r.atOnce(s)
	case s.Background != "":
		before := r.waiting()
		ctx, cancel := context.WithCancel(context.Background())
		one := &later{cancel, make(chan any, 1)}
		r.background[s.Background] = one
		go func() { one.done <- r.answer(ctx, s) }()
		until(r.T, "it waits", func() bool { return r.waiting() > before })
	case s.Call != "":
		r.call(s)
	case s.Await != "":
		r.expect(<-r.background[s.Await].done, s.Expect)
	case s.GiveUp != "":
		r.background[s.GiveUp].cancel()
	case s.Slot != nil:
		r.slot(s)
	case s.Advance > 0:
		if told, err := ask(r.side, "WEIR.TIME", "ADVANCE", strconv.FormatInt(s.Advance, 10)); err != nil || told.kind != '*' {
			r.Fatalf("%+v, %v", told, err)
		}
	case s.Sleep > 0:
		time.Sleep(time.Duration(s.Sleep * float64(time.Millisecond)))
	case s.Proxy != "":
		r.proxy.say(r.T, "mode "+s.Proxy)
		r.proxy.say(r.T, "connections") // what it has closed is closed when it answers the next command
	case s.Connections != nil:
		until(r.T, "that many connections", func() bool { return r.proxy.say(r.T, "connections") == fmt.Sprint(*s.Connections) })
	case s.Log != nil:
		r.logged(*s.Log)
	case s.Calls != nil:
		r.mu.Lock()
		r.equal(r.calls, *s.Calls)
		r.calls = nil
		r.mu.Unlock()
	default:
		r.Errorf("this runner does not know the step")
	}
}

func (r *run) call(s step) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		began := time.Now()
		answer := r.answer(context.Background(), s)
		took := time.Since(began)
		if s.Eventually && r.differs(answer, s.Expect) != "" && time.Now().Before(end) {
			continue
		}
		r.expect(answer, s.Expect)
		if took < time.Duration(s.TookAtLeast*float64(time.Millisecond)) {
			r.Errorf("it took %s", took)
		}
		if made, ok := answer.(*Reservation); ok && s.Save != "" {
			r.saved[s.Save] = made
		}
		return
	}
}

func (r *run) atOnce(s step) {
	answers := make(chan any)
	for i := 0; i < s.AtOnce; i++ {
		go func() { answers <- r.answer(context.Background(), s) }()
	}
	counted := make([]int, len(s.Each))
	for i := 0; i < s.AtOnce; i++ {
		answer := <-answers
		for n, each := range s.Each {
			if r.differs(answer, each[1].(object)) == "" {
				counted[n]++
			}
		}
	}
	for n, each := range s.Each {
		if float64(counted[n]) != each[0] {
			r.Errorf("%d answers are %v, expected %v", counted[n], each[1], each[0])
		}
	}
}

func (r *run) slot(s step) {
	entered := false
	err := r.client.Slot(context.Background(), s.Slot["api"].(string), waitingOf(s.Slot), func(context.Context, *Reservation) error {
		entered = true
		r.do(s.Steps)
		return nil
	})
	if !entered || s.Expect != nil {
		r.expect(err, s.Expect)
	}
}

func waitingOf(with object) Waiting {
	w := Waiting{MaxWait: span(with, "max_wait_ms"), Hold: span(with, "hold_ms"), Bound: with["bound"] == true}
	if with["max_wait_ms"] == 0.0 {
		w.MaxWait = -1 // 0 is the usual one
	}
	return w
}

func span(from object, name string) time.Duration {
	number, _ := from[name].(float64)
	return time.Duration(number * float64(time.Millisecond))
}

func (r *run) waiting() int {
	told, err := ask(r.side, "INFO", "clients")
	if err != nil {
		r.Error(err)
	}
	_, after, _ := strings.Cut(told.text, "blocked_clients:")
	digits, _, _ := strings.Cut(after, "\r\n")
	n, _ := strconv.Atoi(digits)
	return n
}

// answer is what a call returns: an error, or what it is.
func (r *run) answer(ctx context.Context, s step) any {
	if s.Call == "connect" {
		return r.connect(s.With)
	}
	if r.client == nil {
		return r.refused
	}
	answer, err := r.asked(ctx, s)
	if err != nil {
		return err
	}
	return answer
}

func (r *run) asked(ctx context.Context, s step) (any, error) {
	q, id, with := questionOf(s.With), "", s.With
	w := waitingOf(with)
	limit, _ := with["limit"].(string)
	id, _ = with["id"].(string)
	if of := r.saved[s.Of]; of != nil {
		return ofReservation(ctx, of, s)
	}
	c := r.client
	switch s.Call {
	case "check":
		return c.Check(ctx, q)
	case "look":
		return c.Look(ctx, q)
	case "reserve":
		return c.Reserve(ctx, q, w)
	case "try_reserve":
		return c.TryReserve(ctx, q, w)
	case "acquire":
		return c.Acquire(ctx, q, w)
	case "charge":
		o := Outside{Pause: span(with, "pause_ms"), Limit: limit}
		o.Window, _ = with["window"].(string)
		o.Afresh = with["afresh"] == true
		if n, ok := with["remaining"].(float64); ok {
			o.Remaining = Units(int64(n))
		}
		return c.Charge(ctx, q, o)
	case "refund":
		return c.Refund(ctx, q)
	case "reset":
		if limit != "" {
			return c.Reset(ctx, q, limit)
		}
		return c.Reset(ctx, q)
	case "cancel":
		return c.Cancel(ctx, id)
	case "settle":
		return c.Settle(ctx, id, actualsOf(with)...)
	case "extend":
		return c.Extend(ctx, id, span(with, "for_ms"))
	case "moment":
		return momentOf(c.Moment(ctx, id))
	case "close":
		return nil, c.Close()
	}
	return nil, fmt.Errorf("this runner does not know the call %s", s.Call)
}

func ofReservation(ctx context.Context, of *Reservation, s step) (any, error) {
	switch s.Call {
	case "cancel":
		return of.Cancel(ctx)
	case "settle":
		return of.Settle(ctx, actualsOf(s.With)...)
	case "extend":
		return of.Extend(ctx, span(s.With, "for_ms"))
	}
	return momentOf(of.Moment(ctx))
}

func momentOf(left time.Duration, known bool, err error) (any, error) {
	if !known {
		left = Gone
	}
	return left, err
}

func actualsOf(with object) (actuals []Actual) {
	if n, ok := with["actual"].(float64); ok {
		return []Actual{Used(int64(n))}
	}
	named, _ := with["by_limit"].(object)
	for name, n := range named {
		actuals = append(actuals, Actual{name, int64(n.(float64))})
	}
	return actuals
}

func questionOf(with object) (q Question) {
	q.Key, _ = with["key"].(string)
	q.Rule, _ = with["rule"].(string)
	q.Class, _ = with["class"].(string)
	q.Fields, _ = with["fields"].(bool)
	cost, _ := with["cost"].(float64)
	least, _ := with["at_least"].(float64)
	q.Cost, q.AtLeast = int64(cost), int64(least)
	rules, _ := with["rules"].(object)
	for _, key := range sortedNames(rules) {
		q.Rules = append(q.Rules, KeyRule{key, rules[key].(string)})
	}
	if costs, ok := with["costs"].(object); ok {
		q.Costs = map[string]int64{}
		for name, n := range costs {
			q.Costs[name] = int64(n.(float64))
		}
	}
	if attributes, ok := with["attributes"].(object); ok {
		q.Attributes = map[string]string{}
		for name, value := range attributes {
			if value != nil {
				q.Attributes[name] = fmt.Sprint(value)
			}
		}
	}
	return q
}

func (r *run) expect(answer any, expected object) {
	if wrong := r.differs(answer, expected); wrong != "" {
		r.Error(wrong)
	}
}

// differs says in what an answer is not as expected.
func (r *run) differs(answer any, expected object) string {
	if err, ok := answer.(error); ok {
		return differsError(err, expected)
	}
	told := told(answer)
	for name, want := range expected {
		got, known := told[name]
		if name == "text" {
			if text, _ := got.(string); !strings.Contains(text, want.(string)) {
				return fmt.Sprintf("the error is %q, expected %q", text, want)
			}
		} else if !known || !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s is %v, expected %v: %v", name, got, want, told)
		}
	}
	return ""
}

func differsError(err error, expected object) string {
	kind := kindOf(err)
	if err == errCompiler {
		return ""
	}
	if want := expected["error"]; kind != want && !(kind == "REFUSED" && want == "INVALID") {
		return fmt.Sprintf("%T %v, expected %v", err, err, expected)
	}
	if text, _ := expected["text"].(string); !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(text)) {
		return fmt.Sprintf("%v, expected %v", err, text)
	}
	if text, ok := expected["not_text"].(string); ok && strings.Contains(err.Error(), text) {
		return fmt.Sprintf("%v says %v", err, text)
	}
	return ""
}

func kindOf(err error) string {
	switch err.(type) {
	case *Unavailable:
		return "UNAVAILABLE"
	case *Refused:
		return "REFUSED"
	case *Unauthorized:
		return "UNAUTHORIZED"
	case *Denied:
		return "DENIED"
	}
	return fmt.Sprintf("%T", err)
}

// told is an answer in the names of the cases, as JSON has them.
func told(answer any) object {
	ms := func(d time.Duration) any { return float64(d) / float64(time.Millisecond) }
	switch a := answer.(type) {
	case Decision:
		fields := []any{}
		for _, each := range a.Fields {
			fields = append(fields, []any{each.Name, each.Value})
		}
		o := object{"allowed": a.Allowed, "limit": nil, "remaining": nil, "retry_after_ms": nil, "reset_after_ms": ms(a.ResetAfter),
			"by": orNull(a.By), "never": a.Never, "granted": float64(a.Granted), "decided": a.Decided, "error": nil, "fields": fields}
		if a.Limit >= 0 {
			o["limit"] = float64(a.Limit)
		}
		if a.Remaining >= 0 {
			o["remaining"] = float64(a.Remaining)
		}
		if a.RetryAfter > 0 {
			o["retry_after_ms"] = ms(a.RetryAfter)
		}
		if a.Err != nil {
			o["error"], o["text"] = kindOf(a.Err), a.Err.Error()
		}
		return o
	case *Reservation:
		o := told(a.Decision)
		if wait, granted := a.Wait(); granted {
			o["wait_ms"] = ms(wait)
		} else {
			o["wait_ms"] = nil
		}
		o["id"] = a.ID != ""
		return o
	case Charged:
		return object{"charged": float64(a.Charged), "owed": float64(a.Owed), "wait_ms": ms(a.Wait), "reset_after_ms": ms(a.ResetAfter), "by": orNull(a.By)}
	case time.Duration:
		if a == Gone {
			return object{"value": nil}
		}
		return object{"value": ms(a)}
	case int64:
		return object{"value": float64(a)}
	}
	return object{}
}

func (r *run) equal(got, want any) {
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		r.Errorf("%s\nexpected %s", a, b)
	}
}

// lines are a client's log since it was read last.
type lines struct {
	logged
	read int
}

func (r *run) logged(texts []string) {
	var all []string
	for _, each := range r.log.lines() {
		if each != "" {
			all = append(all, each)
		}
	}
	fresh := all[r.log.read:]
	r.log.read = len(all)
	if len(fresh) != len(texts) {
		r.Fatalf("%q, expected %q", fresh, texts)
	}
	for i, text := range texts {
		if !strings.Contains(fresh[i], text) {
			r.Errorf("%q, expected %q", fresh[i], text)
		}
	}
}

// A proxy is clients/cases/proxy.py.
type proxy struct {
	Unix    string
	Port    int
	TLSPort int `json:"tls_port"`
	CA      string
	dead    int
	in      io.Writer
	out     *bufio.Reader
}

func startProxy(t *testing.T) *proxy {
	python := os.Getenv("WEIR_PYTHON")
	if python == "" {
		python = "python3"
	}
	folder, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	command := exec.Command(python, "../cases/proxy.py", folder)
	command.Stderr = os.Stderr
	in, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatalf("the proxy of the cases: %s", err)
	}
	t.Cleanup(func() {
		in.Close()
		command.Wait()
	})
	p := &proxy{in: in, out: bufio.NewReader(out)}
	line, err := p.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), p)
	}
	if err != nil {
		t.Fatalf("the proxy of the cases: %s", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.dead = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	return p
}

func (p *proxy) say(t *testing.T, line string) string {
	fmt.Fprintln(p.in, line)
	told, err := p.out.ReadString('\n')
	told = strings.TrimSpace(told)
	if _, number := strconv.Atoi(told); err != nil || told != "ok" && number != nil {
		t.Fatalf("the proxy says %q to %q", told, line)
	}
	return told
}

func (p *proxy) filled(text string) string {
	return strings.NewReplacer("{proxy}", fmt.Sprint(p.Port), "{proxy_tls}", fmt.Sprint(p.TLSPort), "{proxy_ca}", p.CA, "{dead}", fmt.Sprint(p.dead)).Replace(text)
}
