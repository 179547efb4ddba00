package platformtest

import (
	"errors"
	"maps"
	"sync"

	"herald/platforms"
)

var _ platforms.Memo = (*Memo)(nil)

// errMemo is what a failing Memo answers.
var errMemo = errors.New("the store is not writable")

// Memo is a delivery's notepad in memory. It can be told to fail, as a store
// does whose disk is full.
type Memo struct {
	mu     sync.Mutex
	values map[string]string
	sets   int
	failAt int // this Set fails; 0: none
	gone   <-chan struct{}
}

// NewMemo returns an empty notepad.
func NewMemo() *Memo { return &Memo{values: map[string]string{}} }

// Get returns what Set stored.
func (m *Memo) Get(key string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return v, ok
}

// Set stores value, or fails as told by [Memo.FailAt] and [Memo.DieWith].
func (m *Memo) Set(key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets++
	select {
	case <-m.gone:
		return errMemo
	default:
	}
	if m.sets == m.failAt {
		return errMemo
	}
	m.values[key] = value
	return nil
}

// FailAt makes the n-th Set from now on fail, counted from 1; 0 makes none fail.
func (m *Memo) FailAt(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets, m.failAt = 0, n
}

// DieWith makes every Set fail once gone is closed, as for a process that has
// ended; nil brings the notepad back with what it holds.
func (m *Memo) DieWith(gone <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = gone
}

// Sets returns how often Set was called since the last FailAt.
func (m *Memo) Sets() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sets
}

// All returns a copy of what is stored.
func (m *Memo) All() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.values)
}
