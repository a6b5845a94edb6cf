package weir

import (
	"sync"
	"time"
)

const (
	mostRemembered    = 10_000
	longestRemembered = 10 * time.Second
)

// A memory has denials that need not be asked again. A nil one has none.
type memory struct {
	mu      sync.Mutex
	denials map[string]denial
}

type denial struct {
	decision Decision
	told, to time.Time
}

// recall is the denial of the same words, by now; none is a Decision that is not decided.
func (m *memory) recall(words string) Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.denials[words]
	if !ok {
		return Decision{}
	}
	now := time.Now()
	if !now.Before(known.to) {
		delete(m.denials, words)
		return Decision{}
	}
	d := known.decision
	d.RetryAfter -= now.Sub(known.told)
	if d.ResetAfter -= now.Sub(known.told); d.ResetAfter < d.RetryAfter {
		d.ResetAfter = d.RetryAfter
	}
	return d
}

// keep remembers a denial that time ends. Fields are as of then, so an answer that has them is asked again.
func (m *memory) keep(words string, d Decision) {
	if d.Allowed || d.Never || d.RetryAfter <= 0 || d.Fields != nil {
		return
	}
	now := time.Now()
	span := d.RetryAfter
	if span > longestRemembered {
		span = longestRemembered
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.denials == nil {
		m.denials = map[string]denial{}
	}
	for any := range m.denials {
		if len(m.denials) < mostRemembered {
			break
		}
		delete(m.denials, any)
	}
	m.denials[words] = denial{d, now, now.Add(span)}
}

// forget is for what may let a denied one pass.
func (m *memory) forget() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.denials = nil
	m.mu.Unlock()
}
