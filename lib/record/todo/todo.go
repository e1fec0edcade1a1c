// Package todo is todos.ndjson, the list of what people want done and be reminded of, and the fold that says
// what is open. Only tri-dispatch appends to it: of messages, and of the decisions of people at a terminal.
package todo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// Name is the log's name below the home.
const Name = "todos.ndjson"

// Kinds of line.
const (
	Add    = "add"
	Done   = "done"
	Undone = "undone" // takes a done back
	Told   = "told"   // the reminder was shown
)

// Line is one line of the log. Fields after By are those of an add.
type Line struct {
	ID        string `json:"id"` // of the entry
	At        string `json:"at"` // RFC 3339
	Kind      string `json:"kind"`
	By        string `json:"by"` // platform:sender, or the name of who said it at a terminal
	Text      string `json:"text,omitempty"`
	Due       string `json:"due,omitempty"`        // RFC 3339: a reminder
	Key       string `json:"key,omitempty"`        // of the item that added it, or of a done: that asked for it
	MessageID string `json:"message_id,omitempty"` // of an add or done: the message that asked for it
	Run       string `json:"run,omitempty"`        // of a done: the run, or reaction, that it is from
	N         int64  `json:"n,omitempty"`          // of the decision that it carries out
}

// Entry is one entry of the list.
type Entry struct {
	Line
	DoneAt string `json:"done_at,omitempty"`
	Told   bool   `json:"told,omitempty"`

	before int // how often it was shown at earlier times
}

// List is the fold of the log: all entries, the oldest first.
type List struct {
	Entries []Entry
	N       int64             // of the last decision that it has
	runs    map[string]string // the entries of its lines of the kind Done, and of Undone with a run: see Has
	off     int64             // bytes of the log that it has
	at      map[string]int    // in Entries, by id
}

// MaxText is the maximum length of an entry, in bytes.
const MaxText = 1000

// ID returns the name of an entry that a message, or anything else that is read more than once, adds.
func ID(of string) string {
	return "t-" + text.SHA256(of)[:12]
}

// Read folds the log of a home.
func Read(h *durable.Home) (*List, error) {
	l := &List{}
	return l, l.Refresh(h)
}

// Refresh folds what was appended since.
func (l *List) Refresh(h *durable.Home) error {
	f, err := h.Root().Open(Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", Name, err))
	}
	defer f.Close()
	return l.fold(f)
}

func (l *List) fold(r io.ReaderAt) error {
	b, err := io.ReadAll(io.NewSectionReader(r, l.off, 1<<40))
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", Name, err))
	}
	for {
		n := bytes.IndexByte(b, '\n') + 1 // a torn end was never acknowledged
		if n == 0 {
			return nil
		}
		var line Line
		if err := ndjson.Unmarshal(b[:n-1], &line); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s at byte %d: %w", Name, l.off, err))
		}
		l.apply(line)
		l.off, b = l.off+int64(n), b[n:]
	}
}

// apply adds a line. One of an unknown entry has no effect. An add of a known one changes its text and time.
func (l *List) apply(line Line) {
	e := l.Get(line.ID)
	l.N = max(l.N, line.N)
	if l.at == nil {
		l.at, l.runs = map[string]int{}, map[string]string{}
	}
	if line.Kind == Done || line.Kind == Undone {
		l.runs[line.Run] = line.ID
		if line.Kind == Done {
			l.runs[cmp.Or(line.Key, line.By)+" "+line.MessageID] = line.ID
		}
	}
	switch {
	case line.Kind == Add && e == nil:
		l.at[line.ID] = len(l.Entries)
		l.Entries = append(l.Entries, Entry{Line: line})
	case e == nil:
	case line.Kind == Add:
		if e.Told && e.Due != line.Due {
			e.Told, e.before = false, e.before+1
		}
		e.Text, e.Due = line.Text, line.Due
	case line.Kind == Done:
		e.DoneAt = cmp.Or(e.DoneAt, line.At)
	case line.Kind == Undone:
		e.DoneAt = ""
	case line.Kind == Told:
		e.Told = true
	}
}

// Has reports whether a line of the kind Done was appended instead of a run, or because of a message: by
// is the key of its item and its id. Old lines have no key: the person in its place.
func (l *List) Has(by string) bool { return l.Struck(by) != nil }

// Struck returns the entry that a run, or a message of an item, has struck off, nil if there is none.
func (l *List) Struck(by string) *Entry {
	if by == "" {
		return nil
	}
	return l.Get(l.runs[by])
}

// Get returns the entry of an id, nil if there is none.
func (l *List) Get(id string) *Entry {
	if i, ok := l.at[id]; ok {
		return &l.Entries[i]
	}
	return nil
}

// Open returns the open entries of a person, the oldest first; of all people if by is "".
func (l *List) Open(by string) (open []Entry) {
	for _, e := range l.Entries {
		if e.DoneAt == "" && (by == "" || e.By == by) {
			open = append(open, e)
		}
	}
	return open
}

// Due returns the open reminders whose time has come and that were not shown.
func (l *List) Due(now time.Time) (due []Entry) {
	for _, e := range l.Open("") {
		if at, err := time.Parse(time.RFC3339, e.Due); err == nil && !e.Told && !at.After(now) {
			due = append(due, e)
		}
	}
	return due
}

// Meant returns the open entry of a person that words refer to: the one of which most is in the words, or by
// its number in their list, as "task 3". ok is false if none does, or two do alike.
func (l *List) Meant(by, words string) (meant Entry, ok bool) {
	open, most := l.Open(by), minShare
	said := pairs(words)
	for _, e := range open {
		switch n := share(pairs(e.Text), said); {
		case n > most:
			meant, most, ok = e, n, true
		case n == most:
			ok = false
		}
	}
	if numbers := number.FindAllStringSubmatch(words, 2); meant.ID == "" && len(numbers) == 1 {
		n, _ := strconv.Atoi(cmp.Or(numbers[0][1], numbers[0][2], numbers[0][3]))
		if i := slices.IndexFunc(open, func(e Entry) bool { return l.Number(e) == n }); i >= 0 {
			return open[i], true
		}
	}
	return meant, ok
}

// Number returns the number of an entry in its person's list, which stays when others are done: 1 is the
// oldest.
func (l *List) Number(of Entry) (n int) {
	for _, e := range l.Entries {
		if e.By == of.By {
			n++
		}
		if e.ID == of.ID {
			break
		}
	}
	return n
}

// minShare is how much of an entry must be in the words that refer to it.
const minShare = 0.5

// number matches the number of an entry: behind # or a word for an entry, or as the first or last word.
var number = lazyregexp.New(`(?i)(?:#|\b(?:task|item|todo|entry|number|no|nr|aufgabe|punkt|nummer|tarea|tarefa|` +
	`t[âa]che|punto|n[úu]mero|tugas|nomor)\.? *|タスク|第|任务)([0-9]{1,4})(?:[^\pL\pN]|$|番|个|項|项)` +
	`|^\s*([0-9]{1,4})(?:[^\pL\pN]|$)|[^\pL\pN]([0-9]{1,4})[\s.!]*$`)

// pairs are the pairs of neighbouring letters of a text, in any script.
func pairs(s string) map[[2]rune]bool {
	all := map[[2]rune]bool{}
	last := ' '
	for _, r := range strings.ToLower(s) {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			r = ' '
		} else if last != ' ' {
			all[[2]rune{last, r}] = true
		}
		last = r
	}
	return all
}

// share returns the share of a that is in b.
func share(a, b map[[2]rune]bool) float64 {
	n := 0
	for p := range a {
		if b[p] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)))
}

// Of returns the line that carries out a decision of the kind todo.
func Of(r *decision.Record) Line {
	return Line{ID: strings.TrimPrefix(r.Key, decision.TodoKey("")), At: r.At, Kind: r.Outcome, By: r.By,
		Text: text.CutBytes(r.Note, MaxText), N: r.N}
}

// Append appends lines to the log and the list, durably, without those that change nothing, and without
// decisions that it has.
func (l *List) Append(h *durable.Home, lines ...Line) error {
	log, err := h.OpenLog(Name)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	_, err = log.Append(func(int64) ([]byte, error) {
		if err := l.fold(log.File()); err != nil {
			return nil, err
		}
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		for _, line := range lines {
			if !l.changes(line) {
				continue
			}
			line.Text = text.CutBytes(line.Text, MaxText)
			if err := enc.Encode(line); err != nil {
				return nil, fmt.Errorf("append to %s: %w", Name, err)
			}
			l.apply(line)
		}
		return buf.Bytes(), nil
	})
	if err == nil {
		l.off += int64(buf.Len())
	}
	return errors.Join(err, log.Close())
}

func (l *List) changes(line Line) bool {
	e := l.Get(line.ID)
	if line.N > 0 { // also without effect: it is not carried out after what comes later
		return line.N > l.N
	}
	switch line.Kind {
	case Add:
		return e == nil || e.Text != text.CutBytes(line.Text, MaxText) || e.Due != line.Due
	case Done:
		return e != nil && e.DoneAt == ""
	case Undone:
		return e != nil && e.DoneAt != ""
	}
	return e != nil && !e.Told
}
