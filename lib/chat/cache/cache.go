// Package cache remembers a platform's answers about people and chats for a limited time and up to
// a maximum number, so that each is requested once.
package cache

import (
	"sync"
	"time"
)

// max is the capacity of a Map. When it is exceeded, all entries are dropped and requested again.
const max = 20_000

// Map is a cache by id. Its zero value is ready for use and safe for several goroutines.
type Map[V any] struct {
	Life time.Duration    // lifetime of an entry; zero: until it is dropped
	Now  func() time.Time // required if Life is set

	mu sync.Mutex
	by map[string]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// Get returns the entry of id.
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

// Put stores v as the entry of id.
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

// Forget drops the entry of id, so that it is requested again.
func (m *Map[V]) Forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, id)
}

// Ask returns the entry of id, or the result of ask, which is stored unless it is an error. Other
// callers are not blocked while ask runs.
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
