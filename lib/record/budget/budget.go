// Package budget reserves money and runs per day in spend.ndjson before a run starts, so
// that no crash and no loop overspends. Until a run has said what it took, and for ever
// where it does not say, what was reserved for it counts.
package budget

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// Kinds of work that are paid for.
const (
	Investigate = "investigate"
	Escalate    = "escalate" // an investigation too, a longer one
	Validate    = "validate" // by an agent; what code alone judges costs nothing
	Canary      = "canary"
	Box         = "box" // a run of tri-box
)

// Entry is one line of spend.ndjson.
type Entry struct {
	At      string   `json:"at"` // RFC 3339
	Kind    string   `json:"kind"`
	Day     string   `json:"day"` // UTC, 2006-01-02
	RunID   string   `json:"run_id"`
	Key     string   `json:"key"`            // thread; "" of a canary
	Person  string   `json:"person"`         // who asked
	Work    string   `json:"work,omitempty"` // "" is investigate
	Agent   string   `json:"agent,omitempty"`
	CostUSD *float64 `json:"cost_usd"` // of a settle; null when unknown
	Tokens  int64    `json:"tokens,omitempty"`
	// ReservedUSD and ReservedTokens are set aside by a reserve; in a settle they
	// stand for what the run did not tell.
	ReservedUSD    float64 `json:"reserved_usd,omitempty"`
	ReservedTokens int64   `json:"reserved_tokens,omitempty"`
	// Ordered says that a person asked for the run, which no limit held back.
	Ordered bool `json:"ordered,omitempty"`
}

// Run is one that is to begin.
type Run struct {
	ID, Key, Person, Work, Agent string

	// USD and Tokens are its own caps, the most that it can take; 0: it has none,
	// and what such runs took before is reserved.
	USD     float64
	Tokens  int64
	Ordered bool // by a person: it begins whatever is left
}

// ErrSpent means that a limit is reached; it is an *Over.
var ErrSpent = errors.New("budget spent")

// Over says which limit holds a run back.
type Over struct {
	Limit string // "usd of the day"
	Who   string // the person, thread or agent; "" of the day
	why   string
}

func (o *Over) Error() string { return ErrSpent.Error() + ": " + o.why }

// Is makes it ErrSpent.
func (o *Over) Is(target error) bool { return target == ErrSpent }

// Book is the spend log, with the sums of its latest day. Several processes may
// have one open: each takes in what the others wrote before it writes.
type Book struct {
	log      *durable.Log
	at       int64 // bytes of it that are taken in
	limits   config.Budget
	sums     Sums
	reserved map[string]Entry // of every day, by run
	settled  map[string]bool
	usual    map[string]*usual // by agent and work
}

// Open reads the log.
func Open(h *durable.Home, limits config.Budget) (*Book, error) {
	b := &Book{limits: limits, reserved: map[string]Entry{}, settled: map[string]bool{}, usual: map[string]*usual{}}
	log, err := h.OpenLog(file) // what stands there is durable now
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
	text, err := h.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return b.take(text[:bytes.LastIndexByte(text, '\n')+1]) // what stands behind is torn
}

// take takes in whole lines that stand behind those that were.
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

// catchUp takes in what others wrote, up to where the log ends now.
func (b *Book) catchUp(end int64) error {
	if end < b.at {
		return sysexit.With(sysexit.Data, fmt.Errorf("read %s: it was cut after %d bytes were read", file, b.at))
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

// Fits reports whether nothing would hold a run back now.
func (b *Book) Fits(r Run, now time.Time) bool {
	b.sums.turn(day(now))
	return b.over(b.entry(r, now), r.Ordered) == nil
}

// Take reserves what a run may take, durably, or fails with ErrSpent. A run that
// has its reservation keeps it.
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

// entry is the reservation of a run. A clock that went back opens no new day.
func (b *Book) entry(r Run, now time.Time) Entry {
	e := Entry{
		At: now.UTC().Format(time.RFC3339), Kind: Reserve, Day: max(b.sums.Day, day(now)), RunID: r.ID,
		Key: r.Key, Person: r.Person, Work: r.Work, Agent: r.Agent, Ordered: r.Ordered,
	}
	e.ReservedUSD, e.ReservedTokens = b.estimate(r)
	return e
}

// over says which limit a reservation would break, nil for none.
func (b *Book) over(e Entry, ordered bool) error {
	if ordered {
		return nil
	}
	for _, l := range Limits(&b.limits, &e) {
		if why := l.over(b.sums.Of(l.scope), &e); why != nil {
			return why
		}
	}
	return nil
}

// Settled reports whether it is known what a run took.
func (b *Book) Settled(runID string) bool { return b.settled[runID] }

// Reserved reports whether something was set aside for a run.
func (b *Book) Reserved(runID string) bool {
	_, has := b.reserved[runID]
	return has
}

// Unsettled are the runs of a kind of work of which nobody has said what they took,
// in the order of their names.
func (b *Book) Unsettled(work string) (runIDs []string) {
	for id, e := range b.reserved {
		if e.work() == work && !b.settled[id] {
			runIDs = append(runIDs, id)
		}
	}
	slices.Sort(runIDs)
	return runIDs
}

// For is who a run was reserved for: the thread and the person who asked, ""
// where nothing was.
func (b *Book) For(runID string) (key, person string) {
	e := b.reserved[runID]
	return e.Key, e.Person
}

// Settle records what a run took, once; u is nil where nobody knows, and then what
// was reserved for it stands.
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
		At: now.UTC().Format(time.RFC3339), Kind: Settle, Day: day(now), RunID: runID, Key: key, Person: person,
		Work: r.Work, Agent: r.Agent, ReservedUSD: r.ReservedUSD, ReservedTokens: r.ReservedTokens,
	}
	if u == nil {
		return e
	}
	e.CostUSD, e.Tokens = u.CostUSD, u.InputTokens+u.OutputTokens
	if e.CostUSD != nil {
		e.ReservedUSD = 0
	}
	if !u.TokensUnknown {
		e.ReservedTokens = 0
	}
	return e
}

// append writes what make says, with everything taken in that stands before it;
// nil is nothing.
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

// Investigates reports whether a run looks for an answer: a validation and a canary
// do not, and no limit of investigations counts them.
func (e *Entry) Investigates() bool { return e.work() == Investigate || e.work() == Escalate }
