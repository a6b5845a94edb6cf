package weir_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirhttp"
)

// Examples share a weir of this machine that ends with the tests.
func TestMain(m *testing.M) {
	flag.Parse()
	if !needs.HasProgram() {
		fmt.Println("no example is run: there is no weir program, WEIR_PROGRAM is not set")
		flag.Set("test.skip", "^Example")
	}
	folder, err := os.MkdirTemp("", "weir")
	if err != nil {
		panic(err)
	}
	weir.BePatient()
	os.Unsetenv("WEIR_URL")
	os.Setenv("XDG_RUNTIME_DIR", folder)
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

var ctx = context.Background()

// Without a URL, and without WEIR_URL, a weir of this machine is started or joined: for development, with nothing to
// start by hand.
func Example() {
	client, err := weir.Connect(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for i := 0; i < 3; i++ {
		d, err := client.Check(ctx, weir.Question{Key: "user:42", Rule: "2/h"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 30m0s
}

func ExampleClient_Check_limitsFile() {
	file := filepath.Join(os.TempDir(), "weir-example.yaml")
	os.WriteFile(file, []byte("version: 1\nattributes: [user]\nlimits:\n  login: { by: [user], rate: 5/h }\n"), 0o600)
	defer os.Remove(file)

	client, err := weir.Connect(ctx, "weir+local:", weir.WithLimits(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	d, err := client.Check(ctx, weir.Question{Attributes: map[string]string{"user": "ann"}, Fields: true})
	fmt.Println(d.Allowed, d.By, err)
	for _, each := range d.Fields {
		fmt.Println(each.Name+":", each.Value)
	}
	// Output:
	// true login <nil>
	// RateLimit-Policy: "login";q=5;w=3600
	// RateLimit: "login";r=4;t=2880
}

// A worker that must act sooner or later waits for its moment.
func ExampleClient_Acquire() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	job := weir.Question{Key: "vendor", Rule: "20/s burst 1"}
	for i := 0; i < 3; i++ {
		if _, err := client.Acquire(ctx, job, weir.Waiting{MaxWait: 10 * time.Second}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("call", i+1, "acts")
	}
	_, err := client.Acquire(ctx, weir.Question{Key: "slow vendor", Rule: "1/h", Cost: 2}, weir.Waiting{MaxWait: time.Second})
	var denied *weir.Denied
	fmt.Println(errors.As(err, &denied), err)
	// Output:
	// call 1 acts
	// call 2 acts
	// call 3 acts
	// true weir: denied by slow vendor; waiting does not help
}

// At most two at once, and the tokens of a call are known only afterwards.
func ExampleClient_SlotFor() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	calls := weir.Question{Rules: []weir.KeyRule{{Key: "openai:calls", Rule: "in_flight=2"}, {Key: "openai:tokens", Rule: "100000/h"}}, Cost: 2000}
	err := client.SlotFor(ctx, calls, weir.Waiting{}, func(ctx context.Context, r *weir.Reservation) error {
		used := int64(150) // what the answer says
		_, err := r.Settle(ctx, weir.Used(used))
		return err
	})
	d, _ := client.Look(ctx, weir.Question{Key: "openai:tokens", Rule: "100000/h"})
	fmt.Println(err, d.Remaining/1000) // in thousands: it was 98, until only 150 of the 2000 turned out to be used
	// Output: <nil> 99
}

// The vendor says 429: everybody stays away for as long as it says.
func ExampleClient_Charge() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	vendor := weir.Question{Key: "vendor:2", Rule: "10/s"}
	client.Charge(ctx, vendor, weir.Outside{Pause: time.Hour})
	d, _ := client.Check(ctx, vendor)
	fmt.Println(d.Allowed, d.RetryAfter.Round(time.Minute))
	// Output: false 1h0m0s
}

// The methods are those of golang.org/x/time/rate.
func ExampleClient_NewLimiter() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	limiter := client.NewLimiter("mails", weir.Every(time.Hour), 2)
	fmt.Println(limiter.Allow(), limiter.Allow(), limiter.Allow())
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fmt.Println(limiter.Wait(soon) == nil)
	// Output:
	// true true false
	// false
}

// Requests beyond 2 an hour from one address are answered 429, with the server's fields.
func Example_middleware() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	server := httptest.NewServer(weirhttp.Middleware(client, weirhttp.WithRules("2/h"))(mux))
	defer server.Close()
	for i := 0; i < 3; i++ {
		answer, err := http.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		answer.Body.Close()
		fmt.Printf("%d, Retry-After %q\n", answer.StatusCode, answer.Header.Get("Retry-After"))
	}
	// Output:
	// 200, Retry-After ""
	// 200, Retry-After ""
	// 429, Retry-After "1800"
}

// Who is denied is told by an error, so that nobody acts on a moment that does not exist.
func ExampleClient_Reserve() {
	client, _ := weir.Connect(ctx, "weir+local:")
	defer client.Close()
	mail := weir.Question{Key: "mails to reserve", Rule: "1/h"}
	for i := 0; i < 3; i++ {
		r, err := client.Reserve(ctx, mail, weir.Waiting{MaxWait: time.Minute})
		if err != nil {
			fmt.Println(errors.As(err, new(*weir.Denied)))
			continue
		}
		wait, _ := r.Wait()
		fmt.Println("act after", wait)
	}
	// Output:
	// act after 0s
	// true
	// true
}

// Of guesses at a password the wrong ones count. Each is reserved before the password is looked at, so that of forty at
// once five find room; a right one costs nothing.
func ExampleClient_Reserve_logIn() {
	client, _ := weir.Connect(ctx, "weir+local:", weir.WithOnError(weir.Fail)) // nobody guesses while weir is away
	defer client.Close()
	logIn := func(account, password string) error {
		guess := weir.Question{Key: "guesses:" + account, Rule: "5/15min"}
		r, err := client.Reserve(ctx, guess, weir.Waiting{Hold: 30 * time.Second})
		if err != nil {
			return err // of *weir.Denied the answer is 429, and the password is not looked at
		}
		if password != "right" {
			return errors.New("wrong password")
		}
		_, err = r.Settle(ctx, weir.Used(0))
		return err
	}
	for i := 0; i < 9; i++ {
		if err := logIn("ann", "right"); err != nil {
			fmt.Println(err)
		}
	}
	for i := 0; i < 6; i++ {
		err := logIn("ann", "guessed")
		fmt.Println(errors.As(err, new(*weir.Denied)))
	}
	// Output:
	// false
	// false
	// false
	// false
	// false
	// true
}
