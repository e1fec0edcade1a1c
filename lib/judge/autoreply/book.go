package autoreply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// Book is the record of drafts and people's decisions on them, as a fold of the decision log and the
// dispatcher's journal. Each log must be read in order, but the two may be interleaved in any way.
type Book struct {
	policy *Policy
	drafts []*Draft
	at     map[string]*Draft   // latest offer of each thread
	asked  map[string][]Asked  // by thread
	judged map[round]Judged    // of each round
	said   map[string][]remark // by thread
	drills []Drill
}

type round struct {
	key          string
	cycle, round int
}

// remark is a message in a thread; by is "" if it records that our reply was deleted.
type remark struct {
	at       time.Time
	by, text string
}

// Draft is an offered draft.
type Draft struct {
	Key    string
	Cycle  int
	Round  int
	SHA256 string
	At     time.Time // offered
	ReplyTo,
	text string
	Verdict string // of the offer's Meta: pass, bounce-then-pass, …

	Word    string    // approve, edit, …; "" while undecided
	By      string    //
	Decided time.Time //
	Posted  time.Time // claimed; zero: not claimed
	wrong   string    // why a person's decision makes it a false positive
}

// Passed reports whether the validator passed it, in any round.
func (d *Draft) Passed() bool { return d.Verdict == "pass" || d.Verdict == "bounce-then-pass" }

// newBook returns an empty book.
func newBook(p *Policy) *Book {
	return &Book{policy: p, at: map[string]*Draft{}, asked: map[string][]Asked{}, judged: map[round]Judged{},
		said: map[string][]remark{}}
}

// Asked records a message that a thread took up.
func (b *Book) Asked(a Asked) { b.asked[a.Key] = append(b.asked[a.Key], a) }

// Returned records the confidence of a round's draft.
func (b *Book) Returned(key string, cycle, n int, confidence string) {
	j := b.judged[round{key, cycle, n}]
	j.Confidence, j.Round = confidence, n
	b.judged[round{key, cycle, n}] = j
}

// Validated records the verdict on a round's draft.
func (b *Book) Validated(key string, cycle, n int, verdict, risk string) {
	j := b.judged[round{key, cycle, n}]
	j.Verdict, j.Risk, j.Round = verdict, risk, n
	b.judged[round{key, cycle, n}] = j
}

// Said records a message by a person, not by this program, in a thread.
func (b *Book) Said(key, by, text string, at time.Time) {
	b.said[key] = append(b.said[key], remark{at, by, text})
}

// Deleted records that a reply of this program was deleted in the chat.
func (b *Book) Deleted(key string, at time.Time) {
	b.said[key] = append(b.said[key], remark{at: at})
}

// Decided records the next record of the decision log; counts says whether it counts (decision.State).
func (b *Book) Decided(r *decision.Record, counts bool) {
	if !counts {
		return
	}
	at := text.ParseTime(r.At)
	if r.Kind == decision.Offer {
		d := &Draft{Key: r.Key, Cycle: r.Cycle, SHA256: r.DraftSHA256, At: at, text: r.Text}
		if r.Meta != nil {
			d.Verdict, d.Round = r.Meta.ValidatorVerdict, r.Meta.InvestigatorRounds
		}
		if r.Target != nil {
			d.ReplyTo = r.Target.ReplyToID
		}
		b.drafts, b.at[r.Key] = append(b.drafts, d), d
		return
	}
	d := b.at[r.Key]
	if d == nil || d.Cycle != r.Cycle {
		return
	}
	d.take(r, at)
}

func (d *Draft) take(r *decision.Record, at time.Time) {
	wrong := ""
	switch r.Kind {
	case decision.Claim:
		d.Posted = at
		return
	case decision.Approve, decision.Auto:
	case decision.Edit:
		if from, to := changed(d.text, r.Text); len(from)+len(to) > 0 {
			wrong = "edited: " + diff(from, to)
		}
	case decision.Dismiss, decision.Redo, decision.Escalate:
		wrong = map[string]string{decision.Dismiss: "dismissed", decision.Redo: "sent back",
			decision.Escalate: "sent on"}[r.Kind]
		if r.Note != "" {
			wrong += ": " + r.Note
		}
	case decision.Undo:
		if d.Word == decision.Auto && r.By != decision.Dispatcher { // a person revokes an automatic approval
			d.By, d.wrong = r.By, "taken back"
			return
		}
		d.Word, d.By, d.Decided, d.wrong = "", "", time.Time{}, ""
		return
	default:
		return
	}
	d.Word, d.By, d.Decided, d.wrong = r.Kind, r.By, at, wrong
}

// diff shows the changed words of an edit, at most a few.
func diff(from, to []string) string {
	cut := func(ws []string) string {
		if len(ws) > 6 {
			return strings.Join(ws[:6], " ") + " …"
		}
		return strings.Join(ws, " ")
	}
	return fmt.Sprintf("%q became %q", cut(from), cut(to))
}

// correctedWithin is how long after a post a correction still refers to it.
const correctedWithin = 7 * 24 * time.Hour

// wrongs says why a passed draft was wrong, or "" if it was not corrected. A person's decision takes
// precedence over messages below the answer.
func (b *Book) wrongs(d *Draft) string {
	if d.wrong != "" || d.Posted.IsZero() {
		return d.wrong
	}
	for _, r := range b.said[d.Key] {
		switch {
		case !r.at.After(d.Posted) || r.at.Sub(d.Posted) > correctedWithin || !b.latest(d, r.at):
		case r.by == "":
			return "our reply was deleted in the chat"
		case Corrects(r.text):
			return fmt.Sprintf("corrected by %s: %s", r.by, r.text)
		}
	}
	return ""
}

// Wrong says why the answer given in a cycle of a thread was wrong, or "" if it was not corrected.
func (b *Book) Wrong(key string, cycle int) (why string) {
	for _, d := range b.drafts {
		if d.Key == key && d.Cycle == cycle && !d.Posted.IsZero() {
			why = b.wrongs(d)
		}
	}
	return why
}

// latest reports whether d was the latest answer in its thread at a given time.
func (b *Book) latest(d *Draft, at time.Time) bool {
	last := b.at[d.Key]
	return last == d || last.Posted.IsZero() || at.Before(last.Posted) || last.Posted.Before(d.Posted)
}

// Asks combines the messages that a draft would answer into one question: a rule that holds for any of
// them, in any of its versions, holds for all. The last message determines whether the bot was mentioned.
// ok is false if a message was not recorded.
func (b *Book) Asks(key string, messages []string) (all Asked, ok bool) {
	for _, id := range messages {
		found := false
		for _, a := range b.asked[key] {
			if a.MessageID != id {
				continue
			}
			never, production := append(all.Never, a.Never...), append(all.Production, a.Production...)
			all, found = a, true
			all.Never, all.Production = never, production
		}
		if !found {
			return Asked{}, false
		}
	}
	return all, len(messages) > 0
}

// question returns the message that a draft answers.
func (b *Book) question(d *Draft) Asked {
	all := b.asked[d.Key]
	if i := slices.IndexFunc(all, func(a Asked) bool { return a.MessageID == d.ReplyTo }); i >= 0 {
		return all[i]
	}
	var last Asked
	for _, a := range all {
		if !a.At.After(d.At) {
			last = a
		}
	}
	return last
}
