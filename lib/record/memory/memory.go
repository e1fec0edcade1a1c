// Package memory is what a team has approved, corrected or dismissed with a reason: a fold of decisions,
// replies and memory.ndjson, the words that people add. Chat text and agents write nothing into it.
package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/outbox"
)

// LogName is the log of people's words below a home.
const LogName = "memory.ndjson"

// Kinds of word.
const (
	Note    = "note"    // an entry of a person's own
	Propose = "propose" // an imported entry; it is not used until it is kept
	Keep    = "keep"    // use a proposed or quarantined entry
	Promote = "promote" // make it a core lesson
	Forget  = "forget"  // never use it again
)

// A Word is one line of memory.ndjson.
type Word struct {
	At   string `json:"at"` // RFC 3339
	Kind string `json:"kind"`
	By   string `json:"by"` // a person's id
	// ID is the entry that a keep, promote or forget is about.
	ID string `json:"id,omitempty"`
	// The following are set in a note and a propose.
	Text     string      `json:"text,omitempty"`
	Category string      `json:"category,omitempty"`
	Codebase string      `json:"codebase,omitempty"` // its name in the configuration, or its folder
	Refs     []draft.Ref `json:"refs,omitempty"`
}

// Categories of an entry. A hypothesis and a todo are kept, and never recalled.
const (
	Pattern     = "PATTERN"
	Decision    = "DECISION"
	Observation = "OBSERVATION"
	Hypothesis  = "HYPOTHESIS"
	Todo        = "TODO"
)

// Categories lists them.
var Categories = []string{Pattern, Decision, Observation, Hypothesis, Todo}

// Sources of an entry.
const (
	Answered  = "answered"  // a posted answer that a person approved
	Corrected = "corrected" // a posted text that a person wrote in place of a draft
	Refused   = "refused"   // a dismissed draft; Text is the person's reason
	Noted     = "noted"
	Imported  = "imported"
	Reflected = "reflected" // proposed by code: what a person wrote and the draft did not say
)

// An Entry is one thing that a team knows.
type Entry struct {
	ID       string      `json:"id"` // m- and 12 hex digits of the SHA-256 of codebase, text, refs and chat
	Source   string      `json:"source"`
	Category string      `json:"category"`
	Codebase string      `json:"codebase"`
	Platform string      `json:"platform,omitempty"` // with ChatID: where it was posted, and who may see it
	ChatID   string      `json:"chat_id,omitempty"`
	Key      string      `json:"key,omitempty"` // of the thread
	Question string      `json:"question,omitempty"`
	Text     string      `json:"text"`
	Refs     []draft.Ref `json:"refs,omitempty"`
	By       []string    `json:"by"` // who approved it
	At       string      `json:"at"` // RFC 3339
	Core     bool        `json:"core,omitempty"`
	Kept     bool        `json:"kept,omitempty"` // by a person, after it was proposed or quarantined
	// Out says why the entry is not used: proposed, forgotten or superseded.
	Out string `json:"out,omitempty"`

	outAt time.Time // when it was superseded
	older string    // the id without the chat, which entries had once
}

// identify sets e's ids.
func (e *Entry) identify() {
	h := sha256.New()
	id := func() string { return "m-" + hex.EncodeToString(h.Sum(nil))[:12] }
	fmt.Fprintf(h, "%s\x00%s", e.Codebase, e.Text)
	for _, r := range e.Refs {
		fmt.Fprintf(h, "\x00%s %s", r.Kind, r.Ref)
	}
	e.older = id()
	if e.ChatID != "" { // what one chat may see is no other's
		fmt.Fprintf(h, "\x00in %s %s", e.Platform, e.ChatID)
	}
	e.ID = id()
}

// Fold computes the entries from the records of a home, each log in its order. Decisions come before the
// replies that refer to them, words at any time.
type Fold struct {
	offers  map[string]*decision.Record // by thread and cycle
	entries map[string]*Entry
	words   map[string][]Word // of people on an entry, which may not be there yet
	older   map[string]*Entry // the first of each id without the chat
	order   []string
	answers map[string]*Entry // the latest to a question of a chat, and in a thread
	read    int64             // bytes of memory.ndjson
}

// NewFold returns an empty fold.
func NewFold() *Fold {
	return &Fold{offers: map[string]*decision.Record{}, entries: map[string]*Entry{},
		words: map[string][]Word{}, older: map[string]*Entry{}, answers: map[string]*Entry{}}
}

func place(key string, cycle int) string { return fmt.Sprintf("%s %d", key, cycle) }

// Decision folds a record of the decision log that counts.
func (f *Fold) Decision(r *decision.Record) {
	switch r.Kind {
	case decision.Offer:
		f.offers[place(r.Key, r.Cycle)] = r
	case decision.Dismiss, decision.Redo:
		offer := f.offers[place(r.Key, r.Cycle)]
		if offer == nil || offer.Target == nil || strings.TrimSpace(r.Note) == "" {
			return
		}
		f.add(Entry{
			Source: Refused, Category: Observation, Codebase: offer.Codebase, Platform: offer.Target.Platform,
			ChatID: offer.Target.ChatID, Key: r.Key, Question: question(offer), Text: r.Note,
			Refs: offer.Evidence, By: []string{r.By}, At: r.At,
		})
	}
}

// question returns what was asked, from the sources of an offer: its summary and notes come first.
func question(offer *decision.Record) string {
	return strings.Join(offer.Sources[min(2, len(offer.Sources)):], "\n")
}

// Reply folds a line of replies.ndjson. Only a text that a person has read becomes an entry, and only if it
// cites something: without a receipt it could not be checked later.
func (f *Fold) Reply(r *outbox.Reply) {
	offer := f.offers[place(r.Key, r.Cycle)]
	if r.Outcome != "posted" || len(r.ReadBy) == 0 || offer == nil || !cites(offer.Evidence) {
		return
	}
	delete(f.offers, place(r.Key, r.Cycle)) // a cycle has one answer
	if lesson := Lesson(offer, r.ReplyText); r.EditedBy != "" && lesson != nil {
		lesson.By, lesson.At = r.ReadBy, r.PostedAt
		defer f.add(*lesson) // after the answer
	}
	e := Entry{
		Source: Answered, Category: Observation, Codebase: offer.Codebase, Platform: r.Platform,
		ChatID: r.ChatID,
		Key:    r.Key, Question: question(offer), Text: r.ReplyText, Refs: offer.Evidence, By: r.ReadBy,
		At: r.PostedAt,
	}
	if r.EditedBy != "" {
		e.Source = Corrected
	}
	added := f.add(e)
	if added == nil {
		added = f.renew(e)
	}
	at := fmt.Sprintf("%s\x00%s\x00%s\x00", e.Codebase, e.Platform, e.ChatID)
	names := []string{at + "key " + e.Key}
	if asked := strings.ToLower(strings.Join(strings.Fields(e.Question), " ")); asked != "" {
		names = append(names, at+asked)
	}
	for _, name := range names {
		if old := f.answers[name]; old != nil && old != added {
			old.Out = superseded + added.ID
			old.outAt, _ = time.Parse(time.RFC3339, r.PostedAt)
		}
		f.answers[name] = added
	}
}

// Lesson proposes what a text says that the draft of its offer did not, with the lines that the draft cites.
// It is nil if there is no such sentence or no such line. A lesson is not used until a person keeps it: it is
// then for every chat of the codebase.
func Lesson(offer *decision.Record, said string) *Entry {
	plain := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	var drafted, added []string
	for _, s := range text.Sentences(offer.Text) {
		drafted = append(drafted, plain(s))
	}
	for _, s := range text.Sentences(said) {
		if !slices.Contains(drafted, plain(s)) {
			added = append(added, s)
		}
	}
	if len(added) == 0 || !cites(offer.Evidence) {
		return nil
	}
	e := &Entry{Source: Reflected, Category: Decision, Codebase: offer.Codebase, Key: offer.Key,
		Text: text.Cut(strings.Join(added, " "), maxLesson), Refs: offer.Evidence, Out: "proposed"}
	e.identify()
	return e
}

// maxLesson bounds the text of a lesson, in characters.
const maxLesson = 500

func cites(refs []draft.Ref) bool {
	return slices.ContainsFunc(refs, func(r draft.Ref) bool {
		return r.Receipt != nil || r.Kind == draft.KindGitCommit
	})
}

// Word folds a line of memory.ndjson.
func (f *Fold) Word(w *Word) {
	switch w.Kind {
	case Note, Propose:
		e := Entry{Source: Noted, Category: w.Category, Codebase: w.Codebase, Text: w.Text, Refs: w.Refs,
			By: []string{w.By}, At: w.At}
		if w.Kind == Propose {
			e.Source, e.Out = Imported, "proposed"
		}
		f.add(e)
		return
	}
	f.words[w.ID] = append(f.words[w.ID], *w)
}

// heed applies what people have said of an entry. What they forgot remains so until they keep it, whatever is
// approved or superseded; what they kept is not used any more once a later answer supersedes it.
func (f *Fold) heed(e *Entry) {
	words := f.words[e.ID]
	if f.older[e.older] == f.entries[e.ID] && f.entries[e.older] == nil {
		words = slices.Concat(f.words[e.older], words)
	}
	forgotten := ""
	for _, w := range words {
		if w.Kind == Forget {
			forgotten = "forgotten by " + w.By
			continue
		}
		forgotten, e.Kept, e.Core = "", true, e.Core || w.Kind == Promote
		if w.Kind == Keep && !slices.Contains(e.By, w.By) {
			e.By = append(slices.Clone(e.By), w.By)
		}
		if at, _ := time.Parse(time.RFC3339, w.At); !at.Before(e.outAt) {
			e.Out = ""
		}
	}
	e.Out = cmp.Or(forgotten, e.Out)
}

// add adds an entry and returns it; nil if there is one with the same text and refs in its chat.
func (f *Fold) add(e Entry) *Entry {
	e.identify()
	if f.entries[e.ID] != nil {
		return nil
	}
	f.entries[e.ID] = &e
	f.older[e.older] = cmp.Or(f.older[e.older], &e)
	f.order = append(f.order, e.ID)
	return &e
}

// renew takes from an answer that was approved again what is new: its receipts, from when they are and who
// read it.
func (f *Fold) renew(e Entry) *Entry {
	e.identify()
	old := f.entries[e.ID]
	*old = e
	f.order = append(slices.DeleteFunc(f.order, func(id string) bool { return id == e.ID }), e.ID)
	return old
}

const superseded = "superseded by "

// Entries returns all entries, oldest first.
func (f *Fold) Entries() []Entry {
	all := make([]Entry, len(f.order))
	for i, id := range f.order {
		all[i] = *f.entries[id]
		f.heed(&all[i])
	}
	return all
}

// Check returns an error unless w is complete.
func (w *Word) Check() error {
	switch w.Kind {
	case Note, Propose:
		switch {
		case strings.TrimSpace(w.Text) == "":
			return errors.New("the entry has no text")
		case !slices.Contains(Categories, w.Category):
			return fmt.Errorf("category %q: want one of %s", w.Category, strings.Join(Categories, ", "))
		case !cites(w.Refs):
			return errors.New("the entry cites no line that exists now; only code can be checked later")
		}
	case Keep, Promote, Forget:
		if w.ID == "" {
			return fmt.Errorf("%s names no entry", w.Kind)
		}
	default:
		return fmt.Errorf("there is no kind %q", w.Kind)
	}
	return nil
}

// Say stamps At, if empty, and durably appends words to memory.ndjson. Every author must be allowed by the
// policy.
func Say(h *durable.Home, p decision.Policy, words ...Word) error {
	for _, w := range words {
		if !p.Allows(w.By) {
			err := sysexit.With(sysexit.NoPerm, fmt.Errorf("%q may not change the memory", w.By))
			return sysexit.Hint(err, "team.approvers names who may")
		}
	}
	log, err := h.OpenLog(LogName)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.Append(func(int64) (lines []byte, err error) {
		for _, w := range words {
			if w.At == "" {
				w.At = text.Timestamp(time.Now())
			}
			if err := w.Check(); err != nil {
				return nil, sysexit.With(sysexit.Data, fmt.Errorf("append to %s: %w", LogName, err))
			}
			b, err := json.Marshal(w)
			if err != nil {
				return nil, fmt.Errorf("append to %s: %w", LogName, err)
			}
			lines = append(append(lines, b...), '\n')
		}
		return lines, nil
	})
	return err
}

// Words folds what memory.ndjson of a home has more than at the last call.
func (f *Fold) Words(h *durable.Home) error {
	if err := h.Check(LogName, f.read); err != nil {
		return err
	}
	return h.Tail(LogName, f.read, func(line []byte, next int64) error {
		f.read = next
		var w Word
		if err := ndjson.Decode(line, &w); err != nil {
			return fmt.Errorf("read %s: %w", LogName, err)
		}
		f.Word(&w)
		return nil
	})
}

// Read returns the entries of a home, oldest first. Decisions count by the policy.
func Read(h *durable.Home, p decision.Policy) ([]Entry, error) {
	f := NewFold()
	if _, err := decision.Fold(h, p, func(r *decision.Record, counts bool, _ string) {
		if counts {
			f.Decision(r)
		}
	}); err != nil {
		return nil, err
	}
	err := h.Lines("replies.ndjson", 0, func(line []byte) error {
		var r outbox.Reply
		if err := ndjson.Decode(line, &r); err != nil {
			return fmt.Errorf("read replies.ndjson: %w", err)
		}
		f.Reply(&r)
		return nil
	})
	if err == nil {
		err = f.Words(h)
	}
	return f.Entries(), err
}
