package dispatch

import (
	"slices"
	"strings"

	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// maxReplied is how many of the latest approved replies of a chat are used as hints.
const maxReplied = 10

// audience is a group that may share findings: the people of one chat, about one codebase. A reply in one
// chat is no hint in another, which other people read.
type audience struct {
	place
	codebase string
}

func audienceOf(t *thread.Thread) audience {
	return audience{place{t.Platform, t.ChatID}, t.Codebase}
}

// hints returns findings approved for the audience of t: the summaries of threads whose draft passed and,
// for an investigation, the replies posted before.
func (d *Dispatcher) hints(j job, t *thread.Thread) (hints []Hint) {
	for _, other := range d.sorted() {
		v := other.ValidatorReturn
		if other.Key != t.Key && audienceOf(other) == audienceOf(t) && other.InvestigatorReturn != nil && v != nil && v.Verdict == verdict.Pass {
			hints = append(hints, Hint{Source: other.Key, Text: other.InvestigatorReturn.SummaryForOrchestrator})
		}
	}
	if j.kind == run.Investigate {
		hints = append(hints, d.replied[audienceOf(t)]...)
	}
	return hints
}

// noteOffer records the audience of an offer.
func (d *Dispatcher) noteOffer(r *decision.Record) {
	if r.Target != nil {
		d.audiences[r.Key] = audience{place{r.Target.Platform, r.Target.ChatID}, r.Codebase}
	}
}

// notePosted keeps an approved reply as a hint.
func (d *Dispatcher) notePosted(r *outbox.Reply) {
	at := d.audiences[r.Key]
	hints := append(d.replied[at], Hint{Source: "approved reply " + r.PostedAt, Text: r.ReplyText})
	d.replied[at] = hints[max(0, len(hints)-maxReplied):]
}

// around returns a copy of t that includes the earlier messages of the other items of its thread.
func (d *Dispatcher) around(t *thread.Thread) (*thread.Thread, error) {
	snapshot := *t
	if t.Root == "" {
		return &snapshot, nil
	}
	root, err := d.load(t.Root)
	if err != nil {
		return nil, err
	}
	said := slices.Concat(root.Context, root.Messages, t.Context)
	slices.SortStableFunc(said, func(a, b thread.Message) int { return strings.Compare(a.At, b.At) })
	snapshot.Context = slices.CompactFunc(said, func(a, b thread.Message) bool { return a.MessageID == b.MessageID })
	return &snapshot, nil
}
