package dispatch

import (
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

// hints gives runs what was found for the same audience before.
type hints struct {
	quiet
	store     *store
	replied   map[audience][]Hint // the latest approved replies
	audiences map[string]audience // of each offer, by key
}

func newHints(d *Dispatcher) *hints {
	return &hints{store: d.store, replied: map[audience][]Hint{}, audiences: map[string]audience{}}
}

// hints returns findings approved for the audience of t: the summaries of threads whose draft passed and,
// for an investigation, the replies posted before.
func (h *hints) hints(j job, t *thread.Thread) (all []Hint) {
	for _, other := range h.store.sorted() {
		v := other.ValidatorReturn
		if other.Key != t.Key && audienceOf(other) == audienceOf(t) && other.InvestigatorReturn != nil && v != nil && v.Verdict == verdict.Pass {
			all = append(all, Hint{Source: other.Key, Text: other.InvestigatorReturn.SummaryForOrchestrator})
		}
	}
	if j.kind == run.Investigate {
		all = append(all, h.replied[audienceOf(t)]...)
	}
	return all
}

// recorded keeps the audience of an offer.
func (h *hints) recorded(r *decision.Record, counts bool) {
	if counts && r.Kind == decision.Offer && r.Target != nil {
		h.audiences[r.Key] = audience{place{r.Target.Platform, r.Target.ChatID}, r.Codebase}
	}
}

// posted keeps an approved reply as a hint.
func (h *hints) posted(r *outbox.Reply) {
	at := h.audiences[r.Key]
	replied := append(h.replied[at], Hint{Source: "approved reply " + r.PostedAt, Text: r.ReplyText})
	h.replied[at] = replied[max(0, len(replied)-maxReplied):]
}
