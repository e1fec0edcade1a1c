package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/search"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

func init() {
	parts = append(parts, part{"search", "search: do the lines found answer the question?", searchPart})
}

var misses = flag.Bool("misses", false,
	"search: name the questions of the tuned halves whose file does not come first")

var onlyHalf = flag.String("half", "",
	"search: only the questions of `NAME`: tuned, untouched, unseen, reports; without speed and strangers")

const most = 8 // references of an answer

// ref is one place that a search names.
type ref struct {
	path       string
	start, end int
}

// tally counts for one language and half.
type tally struct {
	n, hit1, hit3, line1, line8, shown int
}

// add judges the references of one question. A hit is a reference into a file
// that answers; a line is one that overlaps the lines that do.
func (t *tally) add(refs []ref, places []place) {
	t.n++
	file, line := most, most
	for i, r := range refs {
		for _, p := range places {
			if r.path != p.File {
				continue
			}
			file = min(file, i)
			if r.start <= p.End && p.Start <= r.end {
				line = min(line, i)
			}
		}
		t.shown += r.end - r.start + 1
	}
	count := func(n *int, at, below int) {
		if at < below {
			*n++
		}
	}
	count(&t.hit1, file, 1)
	count(&t.hit3, file, 3)
	count(&t.line1, line, 1)
	count(&t.line8, line, most)
}

func (t *tally) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%-30s %4d", name, t.n)
	for _, hits := range []int{t.hit1, t.hit3, t.line1, t.line8} {
		share, low, high := interval(hits, t.n)
		fmt.Fprintf(out, "  %5.1f (%2.0f-%3.0f)", 100*share, 100*low, 100*high)
	}
	fmt.Fprintf(out, "  %5.1f\n", float64(t.shown)/float64(max(t.n, 1)))
}

func searchPart(out io.Writer, in inputs) error {
	ours, theirs := map[string]*tally{}, map[string]*tally{}
	var order []string
	sure := map[string]*tally{} // by half and confidence
	for _, c := range codebases {
		dir, cleanup, err := c.locate()
		defer cleanup()
		if err != nil {
			fmt.Fprintf(out, "left out: %s is not on this machine (%v)\n", c.name, err)
			continue
		}
		base, err := newPlain(dir)
		if err != nil {
			return err
		}
		finder := search.New()
		for _, half := range []string{"tuned", "untouched", "unseen", "reports"} {
			if *onlyHalf != "" && half != *onlyHalf {
				continue
			}
			all, err := questions(in.data, dir, c.name, half)
			if err != nil {
				return err
			}
			keys := []string{c.lang + " " + half}
			if *misses && half == "tuned" {
				keys = append(keys, "  "+c.name+" "+half)
			}
			for _, q := range all {
				refs, confidence, err := answered(finder, dir, q.Question)
				if err != nil {
					return err
				}
				key := half + " " + confidence
				if sure[key] == nil {
					sure[key] = new(tally)
				}
				sure[key].add(refs, q.places())
				baseRefs := base.search(q.Question)
				for _, key := range keys {
					if ours[key] == nil {
						ours[key], theirs[key] = new(tally), new(tally)
						order = append(order, key)
					}
					ours[key].add(refs, q.places())
					theirs[key].add(baseRefs, q.places())
				}
				if *misses && half == "tuned" {
					missed(out, c.name, q, refs)
				}
			}
		}
	}
	fmt.Fprintf(out, "%-30s %4s  %-14s  %-14s  %-14s  %-14s  %s\n", "", "N", "hit@1 %", "hit@3 %", "line@1 %",
		"line@8 %", "lines shown")
	for _, key := range order {
		theirs[key].print(out, key+", plain BM25")
		ours[key].print(out, key+", search")
	}
	fmt.Fprintln(out, "drafts by confidence: is their first place right?")
	for _, key := range slices.Sorted(maps.Keys(sure)) {
		sure[key].print(out, key)
	}
	if *onlyHalf != "" {
		return nil
	}
	return errors.Join(speed(out), foreign(out, in), tokens(out, in))
}

// answered are the references of the draft that the search makes, none where it
// says that it found nothing: what a person gets, and not what a ranking knows.
func answered(finder *search.Client, dir, question string) ([]ref, string, error) {
	ret, err := returned(finder, dir, question)
	if ret == nil {
		return nil, "nothing", err
	}
	return refsOf(ret), ret.Confidence, nil
}

// returned is the draft that the search makes, nil where it says that it found nothing.
func returned(finder *search.Client, dir, question string) (*draft.Return, error) {
	res, err := finder.Run(context.Background(), agent.Task{Question: question, Codebase: dir})
	if errors.Is(err, agent.ErrNothing) {
		return nil, nil
	}
	ret := new(draft.Return)
	if err == nil {
		err = json.Unmarshal(res.Value, ret)
	}
	if err != nil {
		return nil, err
	}
	return ret, nil
}

// refsOf are the places in files that a draft cites.
func refsOf(ret *draft.Return) (refs []ref) {
	for _, r := range ret.EvidenceRefs {
		if p, err := evidence.Parse(r.Ref); err == nil && r.Kind == draft.KindFile {
			refs = append(refs, ref{p.Path, p.Start, max(p.Start, p.End)})
		}
	}
	return refs
}

// missed names a question that search answers badly, to learn from.
func missed(out io.Writer, name string, q asked, refs []ref) {
	var t tally
	t.add(refs, q.places())
	if t.hit1 == 1 && t.line1 == 1 {
		return
	}
	var got []string
	for _, r := range refs[:min(len(refs), 4)] {
		got = append(got, fmt.Sprintf("%s:%d-%d", r.path, r.start, r.end))
	}
	fmt.Fprintf(out, "%s: %q hit@1 %d hit@3 %d line@8 %d\n  want %s:%d-%d\n  got  %s\n", name, q.Question,
		t.hit1, t.hit3, t.line8,
		q.File, q.Start, q.End, strings.Join(got, " "))
}
