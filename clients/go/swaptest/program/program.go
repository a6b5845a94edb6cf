// Package program is one that was written for golang.org/x/time/rate, and uses all of it.
package program

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// A Fetcher asks a vendor, no faster than it may.
type Fetcher struct {
	limiter *rate.Limiter
	get     func(string) error
}

// New makes one for r calls a second, b at once.
func New(r rate.Limit, b int, get func(string) error) *Fetcher {
	return &Fetcher{limiter: rate.NewLimiter(r, b), get: get}
}

// Fetch waits for its turn.
func (f *Fetcher) Fetch(ctx context.Context, url string) error {
	if err := f.limiter.Wait(ctx); err != nil {
		return err
	}
	return f.get(url)
}

// FetchAll waits for all of its turns at once.
func (f *Fetcher) FetchAll(ctx context.Context, urls []string) error {
	if len(urls) > f.limiter.Burst() {
		f.limiter.SetBurst(len(urls))
	}
	return f.limiter.WaitN(ctx, len(urls))
}

// FetchSoon goes ahead if that is soon, and else not at all.
func (f *Fetcher) FetchSoon(url string, soon time.Duration) (bool, error) {
	now := time.Now()
	booked := f.limiter.ReserveN(now, 1)
	if !booked.OK() || booked.DelayFrom(now) > soon || booked.Delay() == rate.InfDuration {
		booked.CancelAt(now)
		return false, nil
	}
	time.Sleep(booked.Delay())
	return true, f.get(url)
}

// Peek says how many calls would pass, and how fast.
func (f *Fetcher) Peek() (float64, rate.Limit) {
	return f.limiter.Tokens() + 0*f.limiter.TokensAt(time.Now()), f.limiter.Limit()
}

// Slower halves the rate.
func (f *Fetcher) Slower() {
	if f.limiter.Limit() == rate.Inf {
		f.limiter.SetLimitAt(time.Now(), rate.Every(time.Second))
		f.limiter.SetBurstAt(time.Now(), 1)
		return
	}
	f.limiter.SetLimit(f.limiter.Limit() / 2)
}

// Protect denies what comes too fast.
func Protect(l *rate.Limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.Allow() || !l.AllowN(time.Now(), 0) {
			http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Skip gives back what is not needed after all.
func Skip(l *rate.Limiter) {
	booked := l.Reserve()
	booked.Cancel()
}
