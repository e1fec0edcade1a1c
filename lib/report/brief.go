package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/report/history"
)

// Brief is the daily report for an operator.
type Brief struct {
	At    string `json:"at"`
	Since string `json:"since"`

	Waiting  []Item `json:"waiting"`          // for a person, oldest first
	Ready    int    `json:"ready"`            // drafts offered since then
	Expired  int    `json:"expired"`          // of these, not decided in time
	Shadow   int    `json:"shadow,omitempty"` // of Waiting, drafts that were not offered for posting
	Long     []Item `json:"long"`             // escalations that ended since then, oldest first
	Moving   int    `json:"moving"`           // being investigated or validated
	Approved int    `json:"approved"`
	Parked   []Item `json:"parked"`

	Answered []Item `json:"answered"` // since then, oldest first
	// Automatic is how many of these were posted without review by a person; Refused how many runs had
	// to wait for budget; Missed the kinds of planted faults that the validator passed.
	Automatic int    `json:"automatic"`
	Refused   int    `json:"refused"`
	Missed    []Item `json:"missed,omitempty"`
	Failed    []Item `json:"failed"`
	// Alerts are changes of questions that moved nothing, such as an edit after the answer.
	Alerts []Item `json:"alerts,omitempty"`

	Messages   int            `json:"messages"`
	Actionable int            `json:"actionable"`
	Dropped    map[string]int `json:"dropped"` // by the first reason

	Spend    Spend    `json:"spend"`
	Troubles []string `json:"troubles,omitempty"`
}

// Item is one entry of a brief.
type Item struct {
	Key  string `json:"key"`
	Chat string `json:"chat,omitempty"`
	Who  string `json:"who,omitempty"`
	Text string `json:"text"`
	At   string `json:"at"`
	// Question is what Text answers.
	Question string `json:"question,omitempty"`
	Note     string `json:"note,omitempty"` // badge, reason, who approved
}

// Spend is the budget used today (UTC).
type Spend struct {
	Investigations int     `json:"investigations"`
	Limit          int     `json:"limit"` // 0: no limit
	CostUSD        float64 `json:"cost_usd"`
	Unknown        int     `json:"unknown"` // runs without a reported cost
	Tokens         int64   `json:"tokens"`
}

// Morning returns a brief of what is waiting now and of what happened since from.
func Morning(h *durable.Home, cfg *config.Config, now, from time.Time) *Brief {
	b := &Brief{
		At: now.UTC().Format(time.RFC3339), Since: from.UTC().Format(time.RFC3339), Dropped: map[string]int{},
		Waiting: []Item{}, Parked: []Item{}, Long: []Item{}, Answered: []Item{}, Failed: []Item{},
	}
	for _, part := range []func(*durable.Home, *config.Config, time.Time, time.Time) error{b.threads,
		b.alerts, b.long, b.posts, b.replies, b.failures, b.classified, b.spend, b.drills} {
		if err := part(h, cfg, now, from); err != nil {
			b.Troubles = append(b.Troubles, err.Error())
		}
	}
	return b
}

// threads collects the threads that are waiting. The logs of decisions and replies may be ahead of
// the threads.
func (b *Brief) threads(h *durable.Home, cfg *config.Config, _, from time.Time) error {
	standing, settled, ready, expired, err := words(h, cfg, from)
	b.Ready, b.Expired = ready, expired
	for t, err := range thread.Open(h) {
		if err != nil {
			b.Troubles = append(b.Troubles, err.Error())
		}
		if err != nil || settled[ofCycle{t.Key, t.Cycle}] {
			continue
		}
		st := standing(t.Key)
		decided := st != nil && st.Cycle == t.Cycle && st.Decision != nil && st.Void == ""
		switch {
		case t.Status != thread.PendingUser:
			b.Moving++
		case decided && st.Decision.Posts():
			b.Approved++
		case decided:
			b.Moving++
		default:
			if t.DraftPending != nil && (st == nil || st.Offer == nil) {
				b.Shadow++
			}
			b.Waiting = append(b.Waiting, waiting(t))
		}
	}
	slices.SortStableFunc(b.Waiting, func(x, y Item) int { return text.CompareTimes(x.At, y.At) })
	return err
}

// alerts collects the alerts of threads, open or closed, since a time.
func (b *Brief) alerts(h *durable.Home, _ *config.Config, _, from time.Time) error {
	for file, err := range thread.Files(h) {
		if err != nil {
			return err
		}
		info, err := h.Root().Lstat(file)
		if err != nil || info.ModTime().Before(from) {
			continue // not written since, or moved meanwhile
		}
		t, err := thread.LoadFile(h, file)
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		for _, n := range t.Alerts {
			if !text.ParseTime(n.At).Before(from) {
				b.Alerts = append(b.Alerts,
					Item{Key: t.Key, Chat: t.ChatName, Who: t.OriginalSenderName, Text: n.Text, At: n.At})
			}
		}
	}
	slices.SortStableFunc(b.Alerts, func(x, y Item) int { return text.CompareTimes(x.At, y.At) })
	return nil
}

type ofCycle struct {
	key   string
	cycle int
}

// long collects the escalations that ended, and whether the dispatcher has taken them up.
func (b *Brief) long(h *durable.Home, _ *config.Config, _, from time.Time) error {
	all, err := escalations(h, nil, from)
	for _, l := range all {
		it := Item{Key: l.Key, Text: l.Error, At: l.EndedAt, Note: string(l.Status)}
		if l.Status == run.Done {
			it.Text = "it gave a draft"
		}
		if l.By != run.Dispatcher {
			it.Note += ", for " + l.By
		}
		b.Long = append(b.Long, it)
	}
	return err
}

// words reads the decisions, the cycles that have their reply, and how many drafts were offered
// since a time.
func words(h *durable.Home, cfg *config.Config,
	from time.Time) (standing func(string) *decision.Standing, settled map[ofCycle]bool, ready,
	expired int, err error) {
	state, err := decision.Fold(h, decision.PolicyOf(cfg), func(r *decision.Record, counts bool, _ string) {
		if counts && r.Kind == decision.Offer && !text.ParseTime(r.At).Before(from) {
			ready++
		}
	})
	state.Keys(func(st *decision.Standing) {
		if st.Expired() && !text.ParseTime(st.VoidAt).Before(from) {
			expired++
		}
	})
	settled = map[ofCycle]bool{}
	replies := scan(h, repliesLog, 0, nil, func(line []byte) error {
		got := gjson.GetManyBytes(line, "key", "cycle")
		settled[ofCycle{got[0].String(), int(got[1].Int())}] = true
		return nil
	})
	return state.Standing, settled, ready, expired, errors.Join(err, replies)
}

func waiting(t *thread.Thread) Item {
	it := Item{Key: t.Key, Chat: t.ChatName, Who: t.OriginalSenderName, Note: t.Badge, At: t.StartedAt}
	if it.Who == "" {
		it.Who = t.OriginalSenderID
	}
	if n := len(t.StatusHistory); n > 0 {
		it.At = t.StatusHistory[n-1].At
	}
	if n := len(t.Messages); n > 0 {
		it.Text = t.Messages[n-1].Content
	}
	if t.Asked != "" {
		it.Note += ": " + t.Asked
	}
	return it
}

func (b *Brief) posts(h *durable.Home, _ *config.Config, _, _ time.Time) error {
	entries, err := outbox.Open(h)
	for _, e := range entries {
		if e.State == outbox.Parked {
			b.Parked = append(b.Parked, Item{Key: e.Key, Chat: e.ChatID, Text: e.Text, At: e.IntentAt,
				Note: e.Why})
		}
	}
	return err
}

func (b *Brief) replies(h *durable.Home, _ *config.Config, _, from time.Time) error {
	return history.Recent(h, repliesLog, "posted_at", from, func(line []byte) error {
		var r outbox.Reply
		err := json.Unmarshal(line, &r)
		if err != nil {
			return fmt.Errorf("read %s: %w", repliesLog, err)
		}
		if r.ValidatorVerdict == outbox.Notice {
			return nil // it answers nothing
		}
		it := Item{Key: r.Key, Chat: r.ChatID, Text: r.ReplyText, At: r.PostedAt, Note: r.Approval()}
		if r.Outcome == outbox.Posted {
			if r.ApprovedBy == decision.Dispatcher {
				b.Automatic++
				it.Note = "automatic, read by no person"
			}
			it.Question, err = asked(h, &r)
			b.Answered = append(b.Answered, it)
		} else {
			it.Note = r.Outcome + ": " + r.Why
			b.Failed = append(b.Failed, it)
		}
		return err
	})
}

// asked returns the message that a reply answers; "" if its thread does not have it.
func asked(h *durable.Home, r *outbox.Reply) (string, error) {
	t, err := thread.Load(h, r.Key)
	if err != nil || t == nil {
		return "", err
	}
	for _, m := range slices.Concat(t.Messages, t.Context) {
		if m.MessageID == r.ReplyToMessageID {
			return m.Content, nil
		}
	}
	return "", nil
}

// failures collects the runs that ended without a result.
func (b *Brief) failures(h *durable.Home, _ *config.Config, _, from time.Time) error {
	r := journal.NewReader(h)
	defer r.Close()
	return history.Recent(h, dispatchLog, "at", from, func(line []byte) error {
		if log := gjson.GetBytes(line, "ref.log").String(); !strings.HasPrefix(log, "runs/") &&
			!gjson.GetBytes(line, "run").Exists() && !gjson.GetBytes(line, "spent").Exists() {
			return nil
		}
		in, err := r.Input(line)
		if err != nil && !errors.Is(err, journal.ErrGone) {
			return err
		}
		switch {
		case in.Run != nil && in.Run.Status == run.Failed:
			b.Failed = append(b.Failed, Item{Key: in.Key, Text: in.Run.Error, At: in.At,
				Note: in.Run.Kind + " by " + in.Run.Agent})
		case in.Spent != nil:
			b.Refused++
		}
		return nil
	})
}

// classified counts the messages. A home whose dispatcher reads a pipe has no log of them: its
// journal counts.
func (b *Brief) classified(h *durable.Home, _ *config.Config, _, from time.Time) error {
	if !h.Exists(classifiedLog) {
		return history.Recent(h, dispatchLog, "at", from, func(line []byte) error {
			if e := gjson.GetBytes(line, "event.classification"); e.Exists() {
				b.Messages++
				if e.Str == event.Actionable {
					b.Actionable++
				}
			}
			return nil
		})
	}
	return history.Recent(h, classifiedLog, "classified_at", from, func(line []byte) error {
		got := gjson.GetManyBytes(line, "classification", "reasons.0")
		b.Messages++
		if got[0].String() == event.Actionable {
			b.Actionable++
		} else {
			b.Dropped[got[1].String()]++
		}
		return nil
	})
}

// drills collects the kinds of planted faults that passed the validator.
func (b *Brief) drills(h *durable.Home, _ *config.Config, _, from time.Time) error {
	all, err := autoreply.Drills(h, from)
	for _, d := range all {
		for _, f := range d.Faults {
			if f.Decidable && f.Missed > 0 {
				b.Missed = append(b.Missed, Item{Text: f.Fault, At: d.At})
			}
		}
	}
	return err
}

func (b *Brief) spend(h *durable.Home, cfg *config.Config, now, _ time.Time) error {
	if most := cfg.Budget.InvestigationsPerDay; most != nil {
		b.Spend.Limit = *most
	}
	day := now.UTC().Format(time.DateOnly)
	seen := map[string]bool{}
	return history.Recent(h, spendLog, "at", now.Add(-48*time.Hour), func(line []byte) error {
		var e budget.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read %s: %w", spendLog, err)
		}
		switch {
		case e.Day != day:
		case e.Kind == budget.Reserve && e.Investigates() && !seen[e.RunID]:
			seen[e.RunID] = true
			b.Spend.Investigations++
		case e.Kind == budget.Settle:
			b.Spend.Tokens += e.Tokens
			if e.CostUSD == nil {
				b.Spend.Unknown++
			} else {
				b.Spend.CostUSD += *e.CostUSD
			}
		}
		return nil
	})
}
