// Package history reads the logs of a home into one list of questions: who asked, runs, costs,
// offers, decisions, posts. It reads them in one pass and decodes only what is needed.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
)

// The logs of a home that this package reads.
const (
	ClassifiedLog = "events-classified.ndjson"
	Journal       = journal.Name
	RepliesLog    = "replies.ndjson"
	SpendLog      = "spend.ndjson"
)

// before is how much older than the window a question may be that is decided or answered in it.
const before = 14 * 24 * time.Hour

// Ledger contains what was recorded from a time on, each list ordered by time.
type Ledger struct {
	From, To time.Time

	Runs     []*Run
	Drafts   []*Draft
	Replies  []*Reply
	Refused  []Refused  // runs refused because no budget was left
	Reserved []Reserved // reservations for investigations

	asked map[messageKey]*Question
	taken map[string]*Question // by thread, the latest question taken up
	ended map[string]*Run      // by run id
	last  map[string]*Draft    // by thread, the latest
	// Started is when the dispatcher took up its first message, zero if it has not: earlier questions
	// were answered by people alone.
	Started time.Time
}

// messageKey identifies a message of a thread.
type messageKey struct{ key, message string }

// Question is a message that a thread took up.
type Question struct {
	MessageID, ChatName, PersonID, Person, Type, Text string

	At    time.Time // when it was written
	Taken time.Time // when the dispatcher took it up
}

// Run is the end of one run of an agent.
type Run struct {
	ID, Kind, Key, Agent, Model, Error string
	Status                             run.Phase

	Cycle, Round   int
	Started, Ended time.Time
	Taken          time.Time // when the dispatcher took it up
	CostUSD        *float64  // nil: not reported
	Tokens         int64     // -1: not reported
	Asked          *Question // the question; nil if it is before the log

	Verdict string // of a validation
	SHA256  string // of the draft that an investigation returned
	value   []byte // the return or verdict, for Value
}

// Value returns a member of the run's return or verdict.
func (r *Run) Value(path string) gjson.Result { return gjson.GetBytes(r.value, path) }

// Draft is an offer and its result.
type Draft struct {
	*decision.Record           // the offer
	At               time.Time // when it was offered
	Asked            *Question // the question; nil if it is before the log

	Word     string    // the valid decision, "" if there is none
	By       string    // who decided
	Decided  time.Time // when
	Distance int       // of an edit, in characters
	Note     string
}

// Reply is the result of posting a reply.
type Reply struct {
	outbox.Reply
	At    time.Time
	Asked *Question // nil if it is before the log
}

// Refused is a run that was not started.
type Refused struct {
	Key, Why string
	At       time.Time
}

// Reserved is the budget reserved for a run.
type Reserved struct{ Day, RunID, Person string }

// Read returns what was recorded from a time on; the zero time means all. Decisions are read from
// the log's beginning, because the validity of one depends on those before.
func Read(h *durable.Home, who decision.Policy, from, to time.Time) (*Ledger, error) {
	l := &Ledger{From: from, To: to, asked: map[messageKey]*Question{}, taken: map[string]*Question{},
		ended: map[string]*Run{}, last: map[string]*Draft{}}
	var err error
	if l.Started, err = First(h, Journal, "at"); err != nil {
		return nil, err
	}
	early := from
	if !early.IsZero() {
		early = from.Add(-before)
	}
	off, err := Since(h, Journal, "at", early)
	if err != nil {
		return nil, err
	}
	words := make(chan counted, 1)
	go func() { words <- decisions(h, who) }()
	err = journal.Lines(h, off, l.input)
	said := <-words
	if err := errors.Join(err, said.err); err != nil {
		return nil, err
	}
	l.decisions(said.records)
	if err := Recent(h, RepliesLog, "posted_at", from, l.reply); err != nil {
		return nil, err
	}
	return l, Recent(h, SpendLog, "at", from, l.spend)
}

// Since returns the part of the ledger from a time on.
func (l *Ledger) Since(from time.Time) *Ledger {
	part := *l
	part.From = from
	part.Runs = slices.DeleteFunc(slices.Clone(l.Runs), func(r *Run) bool { return r.Taken.Before(from) })
	part.Drafts = slices.DeleteFunc(slices.Clone(l.Drafts), func(d *Draft) bool {
		return d.At.Before(from) && d.Decided.Before(from)
	})
	part.Replies = slices.DeleteFunc(slices.Clone(l.Replies), func(r *Reply) bool {
		return r.At.Before(from)
	})
	part.Refused = slices.DeleteFunc(slices.Clone(l.Refused), func(r Refused) bool {
		return r.At.Before(from)
	})
	return &part
}

// within reports whether a time is in the window.
func (l *Ledger) within(at time.Time) bool { return !at.Before(l.From) && !at.After(l.To) }

// input processes a line of the journal. Its time and thread come first; a line that is not needed
// is not parsed further.
func (l *Ledger) input(line []byte) error {
	v := gjson.ParseBytes(line)
	key := v.Get("key").String()
	at := text.ParseTime(v.Get("at").String())
	v.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "event":
			l.event(key, at, value, v.Get("facts.question_type").String())
		case "run":
			if l.within(at) {
				l.run(key, at, value)
			}
		case "spent":
			if l.within(at) {
				l.Refused = append(l.Refused, Refused{key, value.Get("why").String(), at})
			}
		default:
			return true
		}
		return false
	})
	return nil
}

func (l *Ledger) event(key string, at time.Time, e gjson.Result, kind string) {
	var a Question
	actionable := false
	e.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "chat_name":
			a.ChatName = value.String()
		case "message_id":
			a.MessageID = value.String()
		case "create_time":
			a.At = text.ParseTime(value.String())
		case "content":
			a.Text = value.String()
		case "sender":
			a.PersonID, a.Person = value.Get("id").String(), value.Get("name").String()
		case "classification":
			actionable = value.Str == "actionable"
		}
		return true
	})
	if a.Person == "" {
		a.Person = a.PersonID
	}
	a.Type, a.Taken = kind, at
	l.asked[messageKey{key, a.MessageID}] = &a
	if actionable {
		l.taken[key] = &a
	}
}

func (l *Ledger) run(key string, at time.Time, v gjson.Result) {
	r := &Run{Tokens: -1, Key: key, Taken: at, Asked: l.taken[key]}
	v.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "run_id":
			r.ID = value.Str
		case "kind":
			r.Kind = value.Str
		case "cycle":
			r.Cycle = int(value.Int())
		case "round":
			r.Round = int(value.Int())
		case "agent":
			r.Agent = value.String()
		case "model":
			r.Model = value.String()
		case "status":
			r.Status = run.Phase(value.Str)
		case "error":
			r.Error = value.String()
		case "started_at":
			r.Started = text.ParseTime(value.Str)
		case "ended_at":
			r.Ended = text.ParseTime(value.Str)
		case "usage":
			r.usage(value)
		case "value":
			r.value = []byte(value.Raw)
		}
		return true
	})
	if r.Kind == run.Validate && r.CostUSD == nil && r.Tokens < 0 && r.Model == "code" {
		r.CostUSD, r.Tokens = new(0.0), 0 // no agent ran, so there is no cost
	}
	if r.Status == run.Done && r.Kind == run.Validate {
		r.Verdict = r.Value("verdict").String()
	} else if r.Status == run.Done {
		r.SHA256 = decision.Sum(r.Value("draft_reply").String())
	}
	l.Runs = append(l.Runs, r)
	l.ended[r.ID] = r
}

func (r *Run) usage(v gjson.Result) {
	if cost := v.Get("cost_usd"); cost.Type == gjson.Number {
		r.CostUSD = new(cost.Float())
	}
	r.Tokens = v.Get("input_tokens").Int() + v.Get("output_tokens").Int()
	if v.Get("tokens_unknown").Bool() {
		r.Tokens = -1
	}
}

// Run returns the run with an id, nil if it is not in the window.
func (l *Ledger) Run(id string) *Run { return l.ended[id] }

// counted are the valid decisions.
type counted struct {
	records []*decision.Record
	err     error
}

func decisions(h *durable.Home, who decision.Policy) (c counted) {
	_, c.err = decision.Fold(h, who, func(r *decision.Record, counts bool, _ string) {
		if counts {
			c.records = append(c.records, r)
		}
	})
	return c
}

func (l *Ledger) decisions(records []*decision.Record) {
	for _, r := range records {
		l.word(r)
	}
	l.Drafts = slices.DeleteFunc(l.Drafts, func(d *Draft) bool {
		return d.At.Before(l.From) && d.Decided.Before(l.From)
	})
}

func (l *Ledger) word(r *decision.Record) {
	at := text.ParseTime(r.At)
	if r.Kind == decision.Offer {
		d := &Draft{Record: r, At: at}
		if r.Target != nil {
			d.Asked = l.asked[messageKey{r.Key, r.Target.ReplyToID}]
		}
		l.Drafts, l.last[r.Key] = append(l.Drafts, d), d
		return
	}
	d := l.last[r.Key]
	if d == nil || d.Cycle != r.Cycle {
		return
	}
	switch r.Kind {
	case decision.Approve, decision.Edit, decision.Auto, decision.Dismiss, decision.Redo, decision.Answer,
		decision.Escalate,
		decision.Tell, decision.Redirect, decision.Cancel, decision.Reopen:
		d.Word, d.By, d.Decided, d.Distance, d.Note = r.Kind, r.By, at, r.Distance, r.Note
	case decision.Undo:
		d.Word, d.By, d.Decided, d.Distance, d.Note = "", "", time.Time{}, 0, ""
	}
}

func (l *Ledger) reply(line []byte) error {
	r := new(Reply)
	if err := json.Unmarshal(line, &r.Reply); err != nil {
		return broken(RepliesLog, err)
	}
	if r.At = text.ParseTime(r.PostedAt); l.within(r.At) && r.ValidatorVerdict != outbox.Notice {
		r.Asked = l.asked[messageKey{r.Key, r.ReplyToMessageID}]
		l.Replies = append(l.Replies, r)
	}
	return nil
}

// Wait returns how long the asker waited for the reply; false if that is unknown.
func (r *Reply) Wait() (time.Duration, bool) {
	if r.Asked == nil || r.Asked.At.IsZero() || r.Outcome != outbox.Posted {
		return 0, false
	}
	return max(0, r.At.Sub(r.Asked.At)), true
}

func (l *Ledger) spend(line []byte) error {
	v := gjson.ParseBytes(line)
	if v.Get("kind").Str == budget.Reserve {
		l.Reserved = append(l.Reserved, Reserved{v.Get("day").String(), v.Get("run_id").String(),
			v.Get("person").String()})
	}
	return nil
}

func broken(name string, err error) error {
	return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", name, err))
}
