// Package budget is what may be spent in a day and what has been: a reservation
// is durable in spend.ndjson before any run starts, so that no crash and no loop
// can spend without a trace.
package budget

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tri/lib/config"
	"tri/lib/disk"
	"tri/lib/draft"
	"tri/lib/ndjson"
)

const file = "spend.ndjson"

// Kinds of entry.
const (
	Reserve = "reserve"
	Settle  = "settle"
)

// Entry is one line of spend.ndjson.
type Entry struct {
	At      string   `json:"at"` // RFC 3339
	Kind    string   `json:"kind"`
	Day     string   `json:"day"` // UTC, 2006-01-02
	RunID   string   `json:"run_id"`
	Key     string   `json:"key"`      // thread
	Person  string   `json:"person"`   // who asked
	CostUSD *float64 `json:"cost_usd"` // of a settle; null when unknown
	Tokens  int64    `json:"tokens,omitempty"`
}

// ErrSpent means that the day's limit is reached.
var ErrSpent = errors.New("budget spent")

// Book is the spend log, with the counts of its latest day.
type Book struct {
	log      *disk.Log
	limits   config.Budget
	day      string
	total    int
	persons  map[string]int
	reserved map[string]Entry // of every day, by run
	settled  map[string]bool
}

// Open reads the log.
func Open(h *disk.Home, limits config.Budget) (*Book, error) {
	b := &Book{limits: limits, persons: map[string]int{}, reserved: map[string]Entry{}, settled: map[string]bool{}}
	text, err := h.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[:i+1]
	} else {
		text = nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, ndjson.MaxLine)
	for n := 1; lines.Scan(); n++ {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		b.count(e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	b.log, err = h.OpenLog(file)
	return b, err
}

// Close closes the log.
func (b *Book) Close() error { return b.log.Close() }

func (b *Book) count(e Entry) {
	if e.Kind == Settle {
		b.settled[e.RunID] = true
	}
	if _, again := b.reserved[e.RunID]; e.Kind != Reserve || again {
		return
	}
	b.reserved[e.RunID] = e
	b.turn(e.Day)
	if e.Day == b.day {
		b.total++
		b.persons[e.Person]++
	}
}

// turn starts a new day's counts; a clock that went back starts none.
func (b *Book) turn(day string) {
	if day > b.day {
		b.day, b.total, b.persons = day, 0, map[string]int{}
	}
}

func limit(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Take reserves an investigation for a run, durably, or fails with ErrSpent. A
// run that has its reservation keeps it.
func (b *Book) Take(runID, key, person string, now time.Time) error {
	if _, has := b.reserved[runID]; has {
		return nil
	}
	b.turn(now.UTC().Format(time.DateOnly))
	if most := limit(b.limits.InvestigationsPerDay); most > 0 && b.total >= most {
		return fmt.Errorf("%w: %d of %d investigations today", ErrSpent, b.total, most)
	}
	if most := limit(b.limits.InvestigationsPerPersonPerDay); most > 0 && b.persons[person] >= most {
		return fmt.Errorf("%w: %d of %d investigations today for %q", ErrSpent, b.persons[person], most, person)
	}
	e := Entry{At: now.UTC().Format(time.RFC3339), Kind: Reserve, Day: b.day, RunID: runID, Key: key, Person: person}
	if err := b.append(e); err != nil {
		return err
	}
	b.count(e)
	return nil
}

// Settled reports whether it is known what a run took.
func (b *Book) Settled(runID string) bool { return b.settled[runID] }

// For is who a run was reserved for: the thread and the person who asked, ""
// where nothing was.
func (b *Book) For(runID string) (key, person string) {
	e := b.reserved[runID]
	return e.Key, e.Person
}

// Settle records what a run took, once; u is nil where nobody knows.
func (b *Book) Settle(runID, key, person string, u *draft.Usage, now time.Time) error {
	if b.settled[runID] {
		return nil
	}
	e := Entry{At: now.UTC().Format(time.RFC3339), Kind: Settle, Day: now.UTC().Format(time.DateOnly), RunID: runID, Key: key, Person: person}
	if u != nil {
		e.CostUSD, e.Tokens = u.CostUSD, u.InputTokens+u.OutputTokens
	}
	if err := b.append(e); err != nil {
		return err
	}
	b.count(e)
	return nil
}

func (b *Book) append(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("append to %s: %w", file, err)
	}
	_, err = b.log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil })
	return err
}
