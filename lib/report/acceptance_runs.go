package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/stats"
	"tri/lib/base/text"
	"tri/lib/record/journal"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
	"tri/lib/report/history"
)

// maxTokens is the limit of AC-02, minInvestigations the minimum sample size.
const (
	maxTokens         = 2000
	minInvestigations = 20
)

// context computes AC-02: how much the orchestrator prints for one investigation, from the question
// to its end. Its output is a function of the journal. A token of any byte-level tokenizer is at
// least one byte long, so the number of bytes is an upper bound that needs no tokenizer;
// scripts/bench measures how far below it the number of tokens is.
func context(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-02", Says: "what is printed for an investigation, 7 days",
		Bar: "at most 2,000 tokens", Unit: tokens, Result: stats.Unsure}
	keys := map[string]bool{}
	for _, r := range f.month.Runs {
		if r.Kind == run.Investigate && !r.Ended.Before(f.from) {
			keys[r.Key] = true
		}
	}
	sizes, err := printed(f, keys)
	if err != nil {
		return c, err
	}
	if c.N = len(sizes); c.N > 0 {
		c.set(stats.Median(sizes))
	}
	if c.judge(minInvestigations, 0, maxTokens); c.Value != nil {
		c.Note = strings.TrimPrefix(c.Note+"; ", "; ") + "counted as bytes: no token is shorter"
	}
	if c.Result == stats.Fail { // the bytes exceed the limit, the tokens may not
		c.Result = stats.Unsure
	}
	return c, nil
}

// printed replays the threads and returns the bytes printed for each cycle's moves.
func printed(f *facts, keys map[string]bool) ([]float64, error) {
	off, err := history.Since(f.home, history.Journal, "at", f.from.Add(-14*day))
	if err != nil {
		return nil, err
	}
	threads := map[string]thread.Thread{}
	type cycle struct {
		key string
		n   int
	}
	bytes := map[cycle]int{}
	r := journal.NewReader(f.home)
	defer r.Close()
	err = f.home.Lines(history.Journal, off, func(line []byte) error {
		key := gjson.GetBytes(line, "key").String()
		var in thread.Input
		if !keys[key] {
			return nil
		}
		if in, err = r.Input(line); err != nil && !errors.Is(err, journal.ErrGone) {
			return err
		}
		old := threads[key]
		next, _ := thread.Apply(old, in)
		threads[key] = next
		for _, m := range next.Moves(&old) {
			if !text.ParseTime(m.At).Before(f.from) {
				line, _ := json.Marshal(m) // it contains only strings and a number
				bytes[cycle{key, m.Cycle}] += len(line) + 1
			}
		}
		return nil
	})
	var sizes []float64
	for _, n := range bytes {
		sizes = append(sizes, float64(n))
	}
	return sizes, err
}

// minPairs is the minimum sample size of AC-03.
const minPairs = 20

// concurrent computes AC-03: of the investigations that ran at the same time, how many offered
// another thread's draft, or answered in another thread's place.
func concurrent(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-03", Says: "drafts swapped between investigations at the same time", Bar: "none",
		Unit: counts, Result: stats.Unsure}
	drafts := map[string]*history.Draft{} // by run
	swapped := 0
	for _, d := range f.month.Drafts {
		if d.Meta == nil {
			continue
		}
		drafts[d.Meta.InvestigatorTaskID] = d
		if r := f.month.Run(d.Meta.InvestigatorTaskID); r != nil &&
			(r.Key != d.Key || r.Cycle != d.Cycle || r.SHA256 != d.DraftSHA256) {
			swapped++
		}
	}
	for _, r := range f.month.Replies {
		d := drafts[r.InvestigatorTaskID]
		if d != nil && d.Target != nil && (d.Key != r.Key || d.Target.ChatID != r.ChatID ||
			d.Target.ReplyToID != r.ReplyToMessageID) {
			swapped++
		}
	}
	c.N = overlapping(f.month.Runs, drafts)
	if c.N == 0 {
		c.Note = "no two investigations that led to a draft ran at the same time"
		return c, nil
	}
	low, high := stats.Share{Hits: min(swapped, c.N), N: c.N}.Interval()
	c.set(float64(swapped), low*float64(c.N), high*float64(c.N))
	c.Note = "of pairs that overlapped, in 28 days"
	switch {
	case swapped > 0:
		c.Result = stats.Fail
	case c.N >= minPairs:
		c.Result = stats.Pass
	default:
		c.Note += fmt.Sprintf("; at least %d are needed", minPairs)
	}
	return c, nil
}

// overlapping counts the pairs of investigations of different threads that ran at the same time and
// both led to a draft.
func overlapping(runs []*history.Run, drafts map[string]*history.Draft) (pairs int) {
	var with []*history.Run
	for _, r := range runs {
		if r.Kind == run.Investigate && drafts[r.ID] != nil {
			with = append(with, r)
		}
	}
	slices.SortFunc(with, func(a, b *history.Run) int { return a.Started.Compare(b.Started) })
	for i, a := range with {
		for _, b := range with[i+1:] {
			if !b.Started.Before(a.Ended) {
				break
			}
			if a.Key != b.Key {
				pairs++
			}
		}
	}
	return pairs
}

// minBounces and minFixed are the limits of AC-06.
const (
	minBounces = 10
	minFixed   = 7
)

// bounced computes AC-06: of the latest ten bounces, in how many round 2 has none of the objections
// of round 1, and a different draft or different references.
func bounced(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-06", Says: "bounces whose objections round 2 removes, the latest 10",
		Bar: "at least 7 of 10", Result: stats.Unsure}
	type round struct {
		kind, key string
		cycle, n  int
	}
	by := map[round]*history.Run{}
	for _, r := range f.month.Runs {
		if r.Status == run.Done {
			by[round{r.Kind, r.Key, r.Cycle, r.Round}] = r
		}
	}
	var s, partly stats.Share
	for _, second := range slices.Backward(f.month.Runs) {
		if second.Kind != run.Validate || second.Round != 2 || second.Verdict == "" || s.N == minBounces {
			continue
		}
		at := func(kind string, n int) *history.Run { return by[round{kind, second.Key, second.Cycle, n}] }
		first, one, two := at(run.Validate, 1), at(run.Investigate, 1), at(run.Investigate, 2)
		if first == nil || one == nil || two == nil || first.Verdict != verdict.Bounce {
			continue
		}
		gone, left := resolved(first, second)
		changed := one.SHA256 != two.SHA256 ||
			one.Value("evidence_refs.#.ref").Raw != two.Value("evidence_refs.#.ref").Raw
		s.Add(changed && left == 0)
		partly.Add(changed && left > 0 && gone > 0)
	}
	c.share(s)
	switch {
	case s.N < minBounces:
		c.Note = fmt.Sprintf("at least %d bounces are needed, in 28 days", minBounces)
	case s.Hits >= minFixed:
		c.Result = stats.Pass
	default:
		c.Result = stats.Fail
	}
	if partly.Hits > 0 {
		c.Note = strings.TrimPrefix(fmt.Sprintf("%s; in %d more a part of the objections is gone", c.Note,
			partly.Hits), "; ")
	}
	return c, nil
}

// resolved returns how many objections of the first verdict the second no longer has, and how many it
// still has.
func resolved(first, second *history.Run) (gone, left int) {
	still := map[string]bool{}
	for _, o := range objections(second) {
		still[o] = true
	}
	for _, o := range objections(first) {
		if still[o] {
			left++
		} else {
			gone++
		}
	}
	return gone, left
}

// objections returns the objections of a verdict. An objection to a reference is identified by what
// was found, not by the reference's number: round 2 may cite in another order, and may cite a
// rejected place again.
func objections(v *history.Run) (out []string) {
	v.Value("checks").ForEach(func(_, check gjson.Result) bool {
		name, result := check.Get("name").String(), check.Get("result").String()
		if result != verdict.Fail && result != verdict.Contradicts && result != verdict.Fabricated {
			return true
		}
		if strings.HasPrefix(name, "ref ") {
			name = "ref"
		}
		out = append(out, cmp.Or(name, "a check")+": "+result)
		return true
	})
	if len(out) == 0 && v.Verdict != verdict.Pass {
		v.Value("reasons").ForEach(func(_, reason gjson.Result) bool {
			out = append(out, reason.String())
			return true
		})
	}
	return out
}
