package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"unicode"

	"tri/lib/judge/recall"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// maxOthers is how many open threads are used as hints for one.
const maxOthers = 20

// audience is a group that may share findings: the people of one chat, about one codebase. A reply in one
// chat is not a hint in another, which other people read.
type audience = recall.Readers

func audienceOf(t *thread.Thread) audience {
	return audience{Codebase: t.Codebase, Platform: t.Platform, ChatID: t.ChatID}
}

// hints gives runs what was found for the same audience before.
type hints struct {
	quiet
	*Options
	store    *store
	memory   *memory.Fold
	subjects map[string]subject // of open threads, by key
}

func newHints(d *Dispatcher) *hints {
	return &hints{Options: &d.Options, store: d.store, memory: memory.NewFold(),
		subjects: map[string]subject{}}
}

// hints returns findings approved for the audience of t: the summaries of threads whose draft passed, of
// many those nearest to t, and,
// for an investigation, what the team's memory has on the question. Memory is optional: without it the round
// continues.
func (h *hints) hints(j job, t *thread.Thread) (all []Hint) {
	for _, other := range h.near(t) {
		all = append(all, Hint{Source: other.Key, Text: other.InvestigatorReturn.SummaryForOrchestrator})
	}
	if j.kind != run.Investigate {
		return all
	}
	if err := h.memory.Words(h.Home); err != nil {
		h.Say("%s: memory is not used: %v", t.Key, err)
		return all
	}
	entries, err := recall.Rank(context.Background(), h.memory.Entries(), audienceOf(t), t.Text())
	if err != nil {
		h.Say("%s: memory is not used: %v", t.Key, err)
	}
	for _, e := range entries {
		source := fmt.Sprintf("%s, %s by %s on %s, its cited lines unchanged since", e.ID, e.Source,
			strings.Join(e.By, ", "), e.At)
		all = append(all, Hint{Source: source, Text: e.Text, Refs: e.Refs})
	}
	return all
}

// near returns the open threads of t's audience whose draft passed, at most maxOthers: those that share
// most words with t, then the latest.
func (h *hints) near(t *thread.Thread) []*thread.Thread {
	var others []*thread.Thread
	for _, o := range h.store.open {
		v := o.ValidatorReturn
		if o.Key != t.Key && audienceOf(o) == audienceOf(t) && o.InvestigatorReturn != nil && v != nil &&
			v.Verdict == verdict.Pass {
			others = append(others, o)
		}
	}
	if len(others) <= maxOthers {
		slices.SortFunc(others, newest)
		return others
	}
	type other struct {
		*thread.Thread
		shared int
	}
	var best []other // of ten thousand, few are wanted
	mine := h.subject(t)
	for _, o := range others {
		o := other{o, common(mine, h.subject(o))}
		i, _ := slices.BinarySearchFunc(best, o, func(a, b other) int {
			return cmp.Or(b.shared-a.shared, newest(a.Thread, b.Thread))
		})
		if i < maxOthers {
			best = slices.Insert(best[:min(len(best), maxOthers-1)], i, o)
		}
	}
	for i, o := range best {
		others[i] = o.Thread
	}
	return others[:len(best)]
}

func newest(a, b *thread.Thread) int {
	return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(a.Key, b.Key))
}

// moved forgets the subjects of closed threads.
func (h *hints) moved(ts ...*thread.Thread) error {
	for _, t := range ts {
		if t.Status == thread.Closed {
			delete(h.subjects, t.Key)
		}
	}
	return nil
}

// subject is the words of a question and of the summary of its investigation, as sorted hashes.
type subject struct {
	of    *draft.Return
	words []uint32
}

func (h *hints) subject(t *thread.Thread) []uint32 {
	if s, ok := h.subjects[t.Key]; ok && s.of == t.InvestigatorReturn {
		return s.words
	}
	said := t.Text()
	if t.InvestigatorReturn != nil {
		said += " " + t.InvestigatorReturn.SummaryForOrchestrator
	}
	var words []uint32
	for w := range strings.FieldsFuncSeq(strings.ToLower(said), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		sum := fnv.New32a()
		io.WriteString(sum, w)
		words = append(words, sum.Sum32())
	}
	slices.Sort(words)
	words = slices.Clip(slices.Compact(words))
	h.subjects[t.Key] = subject{t.InvestigatorReturn, words}
	return words
}

// common counts the elements that two sorted lists share.
func common(a, b []uint32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}

// recorded folds the records that count.
func (h *hints) recorded(r *decision.Record, counts bool) {
	if counts {
		h.memory.Decision(r)
	}
}

// posted folds a reply.
func (h *hints) posted(r *outbox.Reply) { h.memory.Reply(r) }
