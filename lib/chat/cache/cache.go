// Package cache remembers what a platform answered about people and chats, so that
// each is asked for once: for a time, and never more than a bound.
package cache

import (
	"sync"
	"time"
)

// max is how many entries a Map holds. Past it all are forgotten and asked for again.
const max = 20_000

// Map is what is known by id. Its zero value is ready for use, from several
// goroutines.
type Map[V any] struct {
	Life time.Duration    // how long an entry is good; zero: until it is forgotten
	Now  func() time.Time // needed where there is a Life

	mu sync.Mutex
	by map[string]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// Get returns what is known of id.
func (m *Map[V]) Get(id string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.by[id]
	if !ok || m.Life > 0 && !m.Now().Before(e.until) {
		var none V
		return none, false
	}
	return e.value, true
}

// Put remembers v.
func (m *Map[V]) Put(id string, v V) {
	e := entry[V]{value: v}
	if m.Life > 0 {
		e.until = m.Now().Add(m.Life)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil || len(m.by) >= max {
		m.by = map[string]entry[V]{}
	}
	m.by[id] = e
}

// Forget has id asked for again.
func (m *Map[V]) Forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, id)
}

// Ask returns what is known of id, or what ask answers, which is remembered unless
// it is an error. It does not hold others back while it asks.
func (m *Map[V]) Ask(id string, ask func() (V, error)) (V, error) {
	if v, ok := m.Get(id); ok {
		return v, nil
	}
	v, err := ask()
	if err == nil {
		m.Put(id, v)
	}
	return v, err
}
