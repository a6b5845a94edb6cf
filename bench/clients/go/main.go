// One measurement of Go's clients, for bench/clients.py: asks for a while and prints what it took as JSON.
//
//	load CLIENT PORT [--callers N] [--seconds S] [--headers] [--rate N] [--waits N]
//
// CLIENT: weir, get (go-redis' GET), limits (redis_rate), and what the choice of our own RESP rests on: go-redis (its Do
// of weir's command, a connection for each call), go-redis-batched (what is asked at one moment in one Pipeline).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	weir "example.com/weir/go"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

const rule = "1000000/min"

var (
	background = context.Background()
	keys       [1000]string
)

// A question is one call; how many callers there will be decides how large a pool is.
type question func(key string) error

func weirQuestion(port string, _ int, headers bool) question {
	client, err := weir.Connect(background, "weir://127.0.0.1:"+port, weir.WithTimeout(5*time.Second), weir.WithOnError(weir.Fail))
	if err != nil {
		fail(err)
	}
	return func(key string) error {
		_, err := client.Check(background, weir.Question{Key: key, Rule: rule, Fields: headers})
		return err
	}
}

func redisClient(port string, callers int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, PoolSize: callers})
}

func getQuestion(port string, callers int, _ bool) question {
	client := redisClient(port, callers)
	return func(key string) error {
		if err := client.Get(background, key).Err(); err != redis.Nil {
			return err
		}
		return nil
	}
}

// redis_rate's answer has all that headers need.
func limitsQuestion(port string, callers int, _ bool) question {
	limiter := redis_rate.NewLimiter(redisClient(port, callers))
	return func(key string) error {
		_, err := limiter.Allow(background, key, redis_rate.PerMinute(1_000_000))
		return err
	}
}

func goRedisQuestion(port string, callers int, _ bool) question {
	client := redisClient(port, callers)
	return func(key string) error { return client.Do(background, "WEIR.THROTTLE", "KEYS", key, rule).Err() }
}

func batchedQuestion(port string, _ int, _ bool) question {
	client := redisClient(port, 1)
	type asked struct {
		command *redis.Cmd
		done    chan struct{}
	}
	asks := make(chan *asked, 1024)
	go func() {
		for first := range asks {
			batch, pipe := []*asked{first}, client.Pipeline()
			pipe.Process(background, first.command)
			for more := true; more; {
				select {
				case next := <-asks:
					batch = append(batch, next)
					pipe.Process(background, next.command)
				default:
					more = false
				}
			}
			pipe.Exec(background)
			for _, each := range batch {
				close(each.done)
			}
		}
	}()
	return func(key string) error {
		one := &asked{redis.NewCmd(background, "WEIR.THROTTLE", "KEYS", key, rule), make(chan struct{})}
		asks <- one
		<-one.done
		return one.command.Err()
	}
}

var clients = map[string]func(port string, callers int, headers bool) question{"weir": weirQuestion, "get": getQuestion,
	"limits": limitsQuestion, "go-redis": goRedisQuestion, "go-redis-batched": batchedQuestion}

func main() {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	callers := flags.Int("callers", 1, "goroutines that ask")
	seconds := flags.Float64("seconds", 1, "how long")
	headers := flags.Bool("headers", false, "with the fields that a response carries")
	rate := flags.Int("rate", 0, "calls a second, to measure their times; 0 is as many as there can be")
	waits := flags.Int("waits", -1, "acquires in line beside the calls of --rate")
	if len(os.Args) < 3 || clients[os.Args[1]] == nil {
		fail(fmt.Errorf("the form is load weir|get|limits|go-redis|go-redis-batched PORT [flags]"))
	}
	flags.Parse(os.Args[3:])
	for i := range keys {
		keys[i] = "user:" + strconv.Itoa(i)
	}
	if *waits >= 0 {
		beside, kib := stand(os.Args[2], *waits)
		show(map[string]float64{"p99_us": paced(beside, *rate, time.Duration(*seconds*float64(time.Second))), "kib": kib})
		return
	}
	ask := clients[os.Args[1]](os.Args[2], *callers, *headers)
	if err := ask(keys[0]); err != nil {
		fail(err)
	}
	span := time.Duration(*seconds * float64(time.Second))
	if *rate > 0 {
		show(map[string]float64{"p99_us": paced(ask, *rate, span)})
		return
	}
	began, cpu := time.Now(), cpuTime()
	calls := float64(many(ask, *callers, began.Add(span)))
	show(map[string]float64{"rate": calls / time.Since(began).Seconds(), "cpu_us": float64(cpuTime()-cpu) / 1e3 / calls})
}

func many(ask question, callers int, end time.Time) int64 {
	var all atomic.Int64
	var group sync.WaitGroup
	for n := 0; n < callers; n++ {
		group.Add(1)
		go func(start int) {
			defer group.Done()
			done := start
			for ; time.Now().Before(end); done++ {
				if err := ask(keys[done%len(keys)]); err != nil {
					fail(err)
				}
			}
			all.Add(int64(done - start))
		}(17 * n)
	}
	group.Wait()
	return all.Load()
}

// stand has as many acquires in line on the connection of all calls, and tells what each keeps here.
func stand(port string, waits int) (question, float64) {
	client, err := weir.Connect(background, "weir://127.0.0.1:"+port, weir.WithTimeout(5*time.Second), weir.WithOnError(weir.Fail))
	if err != nil {
		fail(err)
	}
	ask := func(key string) error {
		_, err := client.Check(background, weir.Question{Key: key, Rule: rule})
		return err
	}
	if err := ask(keys[0]); err != nil {
		fail(err)
	}
	server, before := redisClient(port, 1), resident()
	for n := 0; n < waits; n++ {
		go client.Acquire(background, weir.Question{Key: "line", Rule: "in_flight=1"}, weir.Waiting{MaxWait: time.Hour, Hold: time.Hour})
	}
	for inLine := 0; inLine < waits-1; time.Sleep(10 * time.Millisecond) {
		told, _ := server.Info(background, "clients").Result()
		if _, after, found := strings.Cut(told, "blocked_clients:"); found {
			fmt.Sscanf(after, "%d", &inLine)
		}
	}
	return ask, float64(resident()-before) / 1024 / float64(max(waits, 1))
}

func resident() int64 {
	pages, _ := os.ReadFile("/proc/self/statm")
	var all, here int64
	fmt.Sscan(string(pages), &all, &here)
	return here * 4096
}

// paced is the 99th percentile of a call's time in microseconds.
func paced(ask question, rate int, span time.Duration) float64 {
	began := time.Now()
	var times []float64
	for n := 0; n < int(float64(rate)*span.Seconds()); n++ {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		asked := time.Now()
		if err := ask(keys[n%len(keys)]); err != nil {
			fail(err)
		}
		times = append(times, float64(time.Since(asked))/1e3)
	}
	sort.Float64s(times)
	return times[len(times)*99/100]
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func show(figures map[string]float64) { json.NewEncoder(os.Stdout).Encode(figures) }

func fail(err error) {
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(1)
}
