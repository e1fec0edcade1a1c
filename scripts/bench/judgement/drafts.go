package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/flow/validate"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
	"tri/lib/report/faults"
)

func init() {
	parts = append(parts, part{"drafts", "Drafts written by hand on four codebases: true, minimally falsified, unrelated to their quote", drafts})
}

// draftModules are the codebases of data/drafts. No rule was made from them.
var draftModules = map[string]string{
	"chi": "github.com/go-chi/chi/v5@v5.2.3", "zap": "go.uber.org/zap@v1.27.0",
	"bbolt": "go.etcd.io/bbolt@v1.4.3", "cron": "github.com/robfig/cron/v3@v3.0.1",
}

// unrelatedWanted is how many claims are put beside the lines of a file of another
// codebase, and as many beside those of another file of its own.
const unrelatedWanted = 300

// written is a line of data/drafts: lines of a file, what is true of them in
// natural words, and the same made false by as little as possible.
type written struct {
	dir, file, lines, kind string
	half                   string
	quote                  string
	truth, falsehood       string
}

// drafts judges each by code alone.
func drafts(out io.Writer, in inputs) error {
	var all []written
	for name, module := range draftModules {
		dir, _, err := codebase{module: module}.locate()
		if err != nil {
			return fmt.Errorf("find codebase %s: %w", name, err)
		}
		rows, err := writtenDrafts(filepath.Join(in.data, "drafts", name+".tsv"), dir)
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b written) int {
		return strings.Compare(a.dir+a.file+a.truth, b.dir+b.file+b.truth)
	})
	t := &draftTable{out: out, validator: &validate.Validator{Now: time.Now}}
	for _, w := range all {
		t.add("true", w.half, w.verdict(t, w.truth, w))
		t.add("false: "+w.kind, w.half, w.verdict(t, w.falsehood, w))
		t.add("false, all", w.half, w.verdict(t, w.falsehood, w))
	}
	if err := t.plant(all); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, inside := range []bool{false, true} {
		name := map[bool]string{false: "unrelated", true: "unrelated, same"}[inside]
		for n := 0; n < unrelatedWanted; {
			a, b := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
			if (a.dir == b.dir) != inside || a.file == b.file {
				continue
			}
			t.add(name, a.half, a.verdict(t, a.truth, b))
			n++
		}
	}
	return t.print()
}

// writtenDrafts reads a file of data/drafts; every second line is untouched.
func writtenDrafts(file, dir string) ([]written, error) {
	var all []written
	err := eachLine(file, func(line []byte) error {
		f := strings.Split(string(line), "\t")
		if len(f) != 5 {
			return fmt.Errorf("%s: a line has %d fields, want 5", file, len(f))
		}
		text, err := os.ReadFile(filepath.Join(dir, f[0]))
		if err != nil {
			return err
		}
		place, err := evidence.Parse(f[0] + ":" + f[1])
		if err != nil {
			return err
		}
		quote := strings.Join(strings.Split(string(text), "\n")[place.Start-1:place.End], "\n")
		all = append(all, written{
			dir: dir, file: f[0], lines: f[1], kind: f[2], half: halves[len(all)%2],
			quote: quote, truth: f[3], falsehood: f[4],
		})
		return nil
	})
	return all, err
}

// verdict judges a claim beside the lines of a row.
func (w written) verdict(t *draftTable, claim string, at written) *verdict.Verdict {
	ret := at.asReturn(claim)
	v, err := t.judge(ret, at)
	if err != nil {
		t.err = err
		return &verdict.Verdict{}
	}
	if os.Getenv("SHOW") != "" && w.half == "tuned" {
		fmt.Fprintf(t.out, "%s\t%s\t%s\t%s\n", v.Verdict, at.file+":"+at.lines, claim, strings.Join(v.Reasons, "; "))
	}
	return v
}

// judge is the verdict of code on a return about a row's codebase.
func (t *draftTable) judge(ret *draft.Return, at written) (*verdict.Verdict, error) {
	v, err := t.validator.Run(context.Background(), validate.Request{Return: ret, Codebase: at.dir})
	if err != nil {
		return nil, fmt.Errorf("judge %s:%s: %w", at.file, at.lines, err)
	}
	return v, nil
}

// asReturn is a draft that says a claim of the row's lines.
func (at written) asReturn(claim string) *draft.Return {
	place := at.file + ":" + at.lines
	return &draft.Return{
		Confidence: draft.High, ConfidenceReason: "The lines were read.", SummaryForOrchestrator: claim,
		DraftReply: strings.TrimSuffix(claim, ".") + " (" + place + ").", DraftLanguage: "en",
		EvidenceRefs:  []draft.Ref{{Kind: draft.KindFile, Ref: place, SupportsClaim: claim, Quote: at.quote}},
		OpenQuestions: []string{}, InvestigatorRound: 1,
	}
}

// planted are the kinds of fault that code is to catch always.
var planted = []string{
	faults.BadPath, faults.BadLine, faults.BadContent, faults.OffLine, faults.InvertedNumber, faults.InvertedUnit,
	faults.InventedName,
}

// plant plants these in the true drafts that pass.
func (t *draftTable) plant(all []written) error {
	for i, w := range all {
		good := faults.Record{Return: w.asReturn(w.truth)}
		v, err := t.judge(good.Return, w)
		if err != nil || v.Verdict != verdict.Pass {
			continue
		}
		root, err := os.OpenRoot(w.dir)
		if err != nil {
			return err
		}
		d := &faults.Drill{Root: root, Seed: 1}
		for _, kind := range planted {
			bad, err := d.Plant(good, kind, w.file, uint64(i))
			if errors.Is(err, faults.ErrNoPlace) || err == nil && !bad.Drill.Decidable {
				continue
			}
			if err != nil {
				return err
			}
			if v, err = t.judge(bad.Return, w); err != nil {
				return err
			}
			if os.Getenv("SHOW") != "" && w.half == "tuned" && v.Verdict == verdict.Pass {
				fmt.Fprintf(t.out, "missed\t%s:%s\t%s\t%s\n", w.file, w.lines, bad.Drill.What, bad.DraftReply)
			}
			t.add("planted: "+kind, w.half, v)
		}
		if err := root.Close(); err != nil {
			return err
		}
	}
	return nil
}

// draftTable counts verdicts by group and half.
type draftTable struct {
	out       io.Writer
	validator *validate.Validator
	names     []string
	counts    map[string]*[2][3]int // by half: all, not passed, contradicted
	err       error
}

func (t *draftTable) add(name, half string, v *verdict.Verdict) {
	if t.counts == nil {
		t.counts = map[string]*[2][3]int{}
	}
	c := t.counts[name]
	if c == nil {
		c = new([2][3]int)
		t.counts[name], t.names = c, append(t.names, name)
	}
	h := &c[slices.Index(halves, half)]
	h[0]++
	if v.Verdict != verdict.Pass {
		h[1]++
	}
	if contradicted(v) {
		h[2]++
	}
}

// contradicted reports whether code said that something is wrong, and not only
// that it could not tell.
func contradicted(v *verdict.Verdict) bool {
	return slices.ContainsFunc(v.Checks, func(c verdict.Check) bool {
		return c.Result == verdict.Contradicts || c.Result == verdict.Fabricated || (c.Name == "claims" || c.Name == "traceable") && c.Result == verdict.Fail
	})
}

func (t *draftTable) print() error {
	if t.err != nil {
		return t.err
	}
	slices.Sort(t.names)
	fmt.Fprintf(t.out, "%-18s %5s  %-24s %-24s %-24s\n", "", "N", "not passed, tuned", "not passed, untouched", "contradicted by code")
	for _, name := range t.names {
		c := t.counts[name]
		n := c[0][0] + c[1][0]
		fmt.Fprintf(t.out, "%-18s %5d  %-24s %-24s %-24s\n", name, n, percent(c[0][1], c[0][0]), percent(c[1][1], c[1][0]), percent(c[0][2]+c[1][2], n))
	}
	return nil
}
