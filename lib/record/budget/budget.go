// Package budget reserves money and runs per day in spend.ndjson before a run starts, so that
// neither a crash nor a loop overspends. Until a run reports its usage, and permanently if it
// never does, its reservation counts.
package budget

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// LogName is the spend log's name below a home.
const LogName = "spend.ndjson"

const file = LogName

// Kinds of entry.
const (
	Reserve = "reserve"
	Settle  = "settle"
)

// Kinds of paid work.
const (
	Investigate = "investigate"
	Escalate    = "escalate" // a longer investigation
	Validate    = "validate" // by an agent; validation by code alone is free
	Box         = "box"      // a run of tri-box
	Panel       = "panel"    // a question to a persona
	Intent      = "intent"   // which of two intents a message of an inbox has
)

// Entry is one line of spend.ndjson.
type Entry struct {
	At      string   `json:"at"` // RFC 3339
	Kind    string   `json:"kind"`
	Day     string   `json:"day"` // UTC, 2006-01-02
	RunID   string   `json:"run_id"`
	Key     string   `json:"key"`            // thread; "" for none
	Person  string   `json:"person"`         // who asked
	Work    string   `json:"work,omitempty"` // "" means investigate
	Agent   string   `json:"agent,omitempty"`
	CostUSD *float64 `json:"cost_usd"` // of a settle; null if unknown
	Tokens  int64    `json:"tokens,omitempty"`
	// ReservedUSD and ReservedTokens are the reservation of a reserve. In a settle they replace
	// the figures that the run did not report.
	ReservedUSD    float64 `json:"reserved_usd,omitempty"`
	ReservedTokens int64   `json:"reserved_tokens,omitempty"`
	// Ordered says that a person asked for the run; no limit applies to it.
	Ordered bool `json:"ordered,omitempty"`
}

// Run is a run to be started.
type Run struct {
	ID, Key, Person, Work, Agent string

	// USD and Tokens are the run's own caps. 0 means no cap: the amount reserved then follows
	// earlier runs of the kind.
	USD     float64
	Tokens  int64
	Ordered bool // by a person: no limit applies
}

// ErrSpent reports that a limit is reached. The error is an *Over.
var ErrSpent = errors.New("budget spent")

// Over says which limit stopped a run.
type Over struct {
	Limit string // "usd of the day"
	Who   string // the person, thread or agent; "" for the day
	why   string
}

func (o *Over) Error() string { return ErrSpent.Error() + ": " + o.why }

// Is reports whether target is ErrSpent.
func (o *Over) Is(target error) bool { return target == ErrSpent }

// Book is the spend log with the sums of its latest day. Several processes may have it open: each
// reads the others' entries before it appends.
type Book struct {
	log      *durable.Log
	at       int64 // bytes of the log read so far
	limits   config.Budget
	sums     Sums
	reserved map[string]Entry // of all days, by run
	settled  map[string]bool
	usual    map[string]*usual // by agent and work
}

// Open reads the log.
func Open(h *durable.Home, limits config.Budget) (*Book, error) {
	b := &Book{limits: limits, reserved: map[string]Entry{}, settled: map[string]bool{},
		usual: map[string]*usual{}}
	log, err := h.OpenLog(file) // makes the existing content durable
	if err != nil {
		return nil, err
	}
	b.log = log
	if err := b.read(h); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return b, nil
}

func (b *Book) read(h *durable.Home) error {
	if err := h.Check(file, 0); err != nil {
		return err
	}
	text, err := h.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return b.take(text[:bytes.LastIndexByte(text, '\n')+1]) // an incomplete last line is torn
}

// take adds whole lines that follow those read so far.
func (b *Book) take(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, ndjson.MaxLine)
	for n := 1; lines.Scan(); n++ {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s: line %d behind byte %d: %w", file, n, b.at, err)
		}
		b.count(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	b.at += int64(len(text))
	return nil
}

// catchUp reads the entries of other processes, up to the current end of the log.
func (b *Book) catchUp(end int64) error {
	if end < b.at {
		return sysexit.With(sysexit.Data,
			fmt.Errorf("read %s: it was cut after %d bytes were read", file, b.at))
	}
	text := make([]byte, end-b.at)
	if _, err := b.log.File().ReadAt(text, b.at); err != nil && len(text) > 0 {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", file, err))
	}
	return b.take(text)
}

// Close closes the log.
func (b *Book) Close() error { return b.log.Close() }

func (b *Book) count(e Entry) {
	b.sums.Add(&e)
	switch _, again := b.reserved[e.RunID]; {
	case e.Kind == Reserve && !again:
		b.reserved[e.RunID] = e
	case e.Kind == Settle && !b.settled[e.RunID]:
		b.settled[e.RunID] = true
		b.learn(&e)
	}
}

// Fits reports whether a run would be allowed now.
func (b *Book) Fits(r Run, now time.Time) bool {
	b.sums.turn(day(now))
	return b.over(b.entry(r, now), r.Ordered) == nil
}

// Take durably reserves the estimated cost of a run, or fails with ErrSpent. A run that already
// has a reservation keeps it.
func (b *Book) Take(r Run, now time.Time) error {
	if _, has := b.reserved[r.ID]; has {
		return nil
	}
	return b.append(func() (*Entry, error) {
		if _, has := b.reserved[r.ID]; has {
			return nil, nil
		}
		b.sums.turn(day(now))
		e := b.entry(r, now)
		return &e, b.over(e, r.Ordered)
	})
}

// entry returns the reservation of a run. A clock set back does not open a new day.
func (b *Book) entry(r Run, now time.Time) Entry {
	e := Entry{
		At: now.UTC().Format(time.RFC3339), Kind: Reserve, Day: max(b.sums.Day, day(now)), RunID: r.ID,
		Key: r.Key, Person: r.Person, Work: r.Work, Agent: r.Agent, Ordered: r.Ordered,
	}
	e.ReservedUSD, e.ReservedTokens = b.estimate(r)
	return e
}

// over returns the limit that a reservation would exceed, nil if none.
func (b *Book) over(e Entry, ordered bool) error {
	if ordered {
		return nil
	}
	for _, l := range limits(&b.limits, &e) {
		if why := l.over(b.sums.Of(l.scope), &e); why != nil {
			return why
		}
	}
	return nil
}

// Settled reports whether the run has been settled.
func (b *Book) Settled(runID string) bool { return b.settled[runID] }

// Reserved reports whether the run has a reservation.
func (b *Book) Reserved(runID string) bool {
	_, has := b.reserved[runID]
	return has
}

// Unsettled returns the runs of a kind of work that have a reservation and no settlement, sorted
// by id.
func (b *Book) Unsettled(work string) (runIDs []string) {
	for id, e := range b.reserved {
		if e.work() == work && !b.settled[id] {
			runIDs = append(runIDs, id)
		}
	}
	slices.Sort(runIDs)
	return runIDs
}

// For returns the thread and the person that a run was reserved for, "" if it has no reservation.
func (b *Book) For(runID string) (key, person string) {
	e := b.reserved[runID]
	return e.Key, e.Person
}

// Settle records the usage of a run, once. If u is nil, or what an agent reported is negative, the usage is
// unknown and the reservation counts.
func (b *Book) Settle(runID, key, person string, u *draft.Usage, now time.Time) error {
	if b.settled[runID] {
		return nil
	}
	return b.append(func() (*Entry, error) {
		if b.settled[runID] {
			return nil, nil
		}
		return b.settle(runID, key, person, u, now), nil
	})
}

func (b *Book) settle(runID, key, person string, u *draft.Usage, now time.Time) *Entry {
	r := b.reserved[runID]
	e := &Entry{
		At: now.UTC().Format(time.RFC3339), Kind: Settle, Day: day(now), RunID: runID, Key: key,
		Person: person,
		Work:   r.Work, Agent: r.Agent, ReservedUSD: r.ReservedUSD, ReservedTokens: r.ReservedTokens,
	}
	if u == nil {
		return e
	}
	known := u.Known()
	e.CostUSD, e.Tokens = known.CostUSD, known.InputTokens+known.OutputTokens
	if e.CostUSD != nil {
		e.ReservedUSD = 0
	}
	if !known.TokensUnknown {
		e.ReservedTokens = 0
	}
	return e
}

// append writes the entry that make returns, after reading all entries before it. A nil entry
// writes nothing.
func (b *Book) append(make func() (*Entry, error)) error {
	var line []byte
	end, err := b.log.Append(func(end int64) ([]byte, error) {
		if err := b.catchUp(end); err != nil {
			return nil, err
		}
		e, err := make()
		if err != nil || e == nil {
			return nil, err
		}
		if line, err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("append to %s: %w", file, err)
		}
		line = append(line, '\n')
		return line, nil
	})
	if err != nil || line == nil {
		return err
	}
	if end != b.at {
		return fmt.Errorf("append to %s: at byte %d, not %d", file, end, b.at)
	}
	return b.take(line)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (e *Entry) work() string { return cmp.Or(e.Work, Investigate) }

// person returns who asked as platform:id, since ids of two platforms may be equal.
func (e *Entry) person() string {
	if platform, _, ok := strings.Cut(e.Key, "."); ok && e.Person != "" {
		return platform + ":" + e.Person
	}
	return e.Person
}

// Investigates reports whether the run is an investigation. Limits on investigations do not count
// validations.
func (e *Entry) Investigates() bool { return e.work() == Investigate || e.work() == Escalate }
