package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/flow/validate"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
	"tri/lib/report/faults"
)

func init() {
	parts = append(parts,
		part{"drafts", "Drafts written by hand on fifteen codebases: true, minimally falsified, unrelated to their lines", drafts})
}

// draftCodebases are the codebases of data/drafts, by file. No rule was made from those of the untouched
// half.
var draftCodebases = map[string]codebase{
	"chi": {module: "github.com/go-chi/chi/v5@v5.2.3"}, "zap": {module: "go.uber.org/zap@v1.27.0"},
	"bbolt": {module: "go.etcd.io/bbolt@v1.4.3"}, "cron": {module: "github.com/robfig/cron/v3@v3.0.1"},
	"raft": {module: "github.com/hashicorp/raft@v1.7.3"}, "nsq": {module: "github.com/nsqio/nsq@v1.3.0"},
	"nats":    {module: "github.com/nats-io/nats.go@v1.37.0"},
	"fastify": {fetch: "npm pack --silent fastify@5.2.1 && tar -xzf fastify-5.2.1.tgz", dir: "package"},
	"gunicorn": {fetch: "apt-get download python3-gunicorn=20.1.0-6+deb12u1 && dpkg-deb -x *.deb .",
		dir: "usr/lib/python3/dist-packages/gunicorn"},
	"got": {fetch: "npm pack --silent got@14.4.2 && tar -xzf got-14.4.2.tgz", dir: "package"},
	"uvicorn": {fetch: "apt-get download python3-uvicorn=0.17.6-1 && dpkg-deb -x *.deb .",
		dir: "usr/lib/python3/dist-packages"},
	"kafka": {module: "github.com/segmentio/kafka-go@v0.4.47"}, "pgx": {module: "github.com/jackc/pgx/v5@v5.7.1"},
	"ws": {fetch: "npm pack --silent ws@8.18.0 && tar -xzf ws-8.18.0.tgz", dir: "package"},
	"tornado": {fetch: "apt-get download python3-tornado=6.2.0-3+deb12u4 && dpkg-deb -x *.deb .",
		dir: "usr/lib/python3/dist-packages"},
}

// secondSet are those whose drafts were written when the checks were done, and which rows of their own show.
var secondSet = []string{"kafka", "pgx", "tornado", "ws"}

// setOf returns what begins the rows of a codebase.
func setOf(codebase string) string {
	if slices.Contains(secondSet, codebase) {
		return "second set, "
	}
	return ""
}

// unrelatedWanted is how many claims are put beside the lines of a file of another
// codebase, and as many beside those of another file of its own.
const unrelatedWanted = 300

// moreUnrelated is how many further claims are put beside lines of another file of their codebase.
const moreUnrelated = 3000

// pair is a line of data/drafts: what somebody wrote of some lines in natural words, and the same made
// false by as little as possible.
type pair struct {
	Codebase  string  `json:"codebase"`
	Half      string  `json:"half"` // "": by the hash of the true draft
	Kind      string  `json:"kind"`
	Question  string  `json:"question"`
	True      string  `json:"true"`
	False     string  `json:"false"`
	Refs      []cited `json:"refs"`
	FalseRefs []cited `json:"false_refs"`
	dir       string
}

type cited struct{ Ref, Claim, Quote string }

func (c cited) file() string { file, _, _ := strings.Cut(c.Ref, ":"); return file }

// pairsOf reads the pairs about some codebases, by name; remove takes away what was made for it.
func pairsOf(out io.Writer, in inputs, names []string) (all []pair, remove func(), err error) {
	var made []func()
	remove = func() {
		for _, f := range made {
			f()
		}
	}
	for _, name := range names {
		file := filepath.Join(in.data, "drafts", name+".ndjson")
		if _, err := os.Stat(file); err != nil {
			continue
		}
		dir, cleanup, err := draftCodebases[name].locate()
		made = append(made, cleanup)
		if err != nil {
			fmt.Fprintf(out, "%s is not here: %v\n", name, err)
			continue
		}
		err = eachLine(file, func(line []byte) error {
			p := pair{dir: dir}
			if err := json.Unmarshal(line, &p); err != nil {
				return err
			}
			h := fnv.New32a()
			h.Write([]byte(p.True))
			p.Half = cmp.Or(p.Half, halves[h.Sum32()>>16&1])
			all = append(all, p)
			return nil
		})
		if err != nil {
			return nil, remove, err
		}
	}
	return all, remove, nil
}

// drafts judges each by code alone.
func drafts(out io.Writer, in inputs) error {
	all, remove, err := pairsOf(out, in, slices.Sorted(maps.Keys(draftCodebases)))
	defer remove()
	if err != nil {
		return err
	}
	t := &draftTable{out: out, validator: &validate.Validator{Now: time.Now}, file: os.Getenv("DRAFTS_SHOWN"),
		drills: map[string]*faults.Drill{}}
	if t.file != "" {
		all = slices.DeleteFunc(all, func(p pair) bool { return p.Half != halves[0] })
	}
	for _, p := range all {
		set := setOf(p.Codebase)
		t.judge(set+"true", p, p.True, p.Refs)
		t.judge(set+"true, no quote", p, p.True, unquoted(p.Refs))
		t.judge("true in "+p.Codebase, p, p.True, p.Refs)
		t.judge(set+"false: "+p.Kind, p, p.False, p.FalseRefs)
		t.judge(set+"false, all", p, p.False, p.FalseRefs)
	}
	for i, p := range all {
		if err := t.plant(p, i); err != nil {
			return err
		}
	}
	for _, set := range []string{"", setOf(secondSet[0])} {
		t.unrelated(set, slices.DeleteFunc(slices.Clone(all), func(p pair) bool {
			return setOf(p.Codebase) != set
		}))
	}
	dirs, removeAll, err := locateAll()
	if err != nil {
		return err
	}
	defer removeAll()
	err = opposites(in, dirs, func(p pair, good, bad *draft.Return) {
		t.add("returns, true", p, good, "")
		t.add("returns, opposite", p, bad, "")
	})
	if err != nil {
		return err
	}
	return t.print()
}

// opposites calls fn with each return of data/returns that was written with its opposite; the half is that
// of its file.
func opposites(in inputs, dirs map[string]string, fn func(p pair, good, bad *draft.Return)) error {
	files, err := filepath.Glob(filepath.Join(in.data, "returns", "pair-*.ndjson"))
	for _, file := range files {
		half := halves[0]
		if strings.Contains(filepath.Base(file), halves[1]) {
			half = halves[1]
		}
		err = errors.Join(err, eachLine(file, func(line []byte) error {
			var r struct {
				draft.Return
				Codebase string
				Inverted struct {
					Draft string `json:"draft_reply"`
					Claim string `json:"supports_claim"`
				}
			}
			if err := json.Unmarshal(line, &r); err != nil || dirs[r.Codebase] == "" {
				return err
			}
			bad := r.Return
			bad.DraftReply, bad.SummaryForOrchestrator = r.Inverted.Draft, r.Inverted.Claim
			bad.EvidenceRefs = slices.Clone(r.EvidenceRefs)
			bad.EvidenceRefs[0].SupportsClaim = r.Inverted.Claim
			fn(pair{dir: dirs[r.Codebase], Half: half, Codebase: r.Codebase}, &r.Return, &bad)
			return nil
		}))
	}
	return err
}

func unquoted(refs []cited) []cited {
	out := slices.Clone(refs)
	for i := range out {
		out[i].Quote = ""
	}
	return out
}

// unrelated puts claims beside lines that they are not about.
func (t *draftTable) unrelated(set string, all []pair) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, draw := range []struct {
		name   string
		inside bool
		wanted int
	}{
		{"unrelated", false, unrelatedWanted}, {"unrelated, same codebase", true, unrelatedWanted},
		{"unrelated, more of these", true, moreUnrelated},
	} {
		for n := 0; len(all) > 0 && n < draw.wanted; {
			a, b := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
			if (a.dir == b.dir) != draw.inside || slices.ContainsFunc(b.Refs, func(c cited) bool {
				return c.file() == a.Refs[0].file()
			}) {
				continue
			}
			refs := slices.Clone(b.Refs[:1])
			refs[0].Claim = a.Refs[0].Claim
			b.Half = a.Half
			t.judge(set+draw.name, b, a.Refs[0].Claim, refs)
			n++
		}
	}
}

// asReturn is a draft about some lines.
func asReturn(question, text string, refs []cited) *draft.Return {
	r := &draft.Return{
		Confidence: draft.High, ConfidenceReason: "The lines were read.",
		SummaryForOrchestrator: refs[0].Claim,
		DraftReply:             text, DraftLanguage: "en", Question: question, OpenQuestions: []string{},
		InvestigatorRound: 1,
	}
	for _, c := range refs {
		r.EvidenceRefs = append(r.EvidenceRefs,
			draft.Ref{Kind: draft.KindFile, Ref: c.Ref, SupportsClaim: c.Claim, Quote: c.Quote})
	}
	return r
}

// planted are the kinds of fault that code is to catch always.
var planted = []string{
	faults.BadPath, faults.BadLine, faults.BadContent, faults.OffLine, faults.InvertedNumber,
	faults.InvertedUnit,
	faults.InventedName,
}

// plant plants these in a true draft that passes.
func (t *draftTable) plant(p pair, i int) error {
	good := faults.Record{Return: asReturn(p.Question, p.True, p.Refs)}
	if t.run(good.Return, p).Verdict != verdict.Pass {
		return nil
	}
	d := t.drills[p.dir]
	if d == nil {
		root, err := os.OpenRoot(p.dir)
		if err != nil {
			return err
		}
		d = &faults.Drill{Root: root, Seed: 1} // it reads the whole codebase, once
		t.drills[p.dir] = d
	}
	for _, kind := range planted {
		bad, err := d.Plant(good, kind, p.Refs[0].Ref, uint64(i))
		if errors.Is(err, faults.ErrNoPlace) || err == nil && !bad.Drill.Decidable {
			continue
		}
		if err != nil {
			return err
		}
		t.add(setOf(p.Codebase)+"planted: "+kind, p, bad.Return, bad.Drill.What)
	}
	return nil
}

// draftTable counts verdicts by group and half.
type draftTable struct {
	out       io.Writer
	validator *validate.Validator
	drills    map[string]*faults.Drill // by folder
	names     []string
	counts    map[string]*[2]outcomes
	file      string // to which the tuned half is written; set: the other one is not judged
	shown     bytes.Buffer
	err       error
}

// outcomes counts the drafts of a group: those that were refused, those left to a person since code could
// decide neither way, those of which code says that something is wrong, and those that passed as covered and
// decided, sentence by sentence.
type outcomes struct {
	all, refused, left, contradicted, silent int
	by                                       map[string]int // drafts refused, by the kind of what was found
}

func (t *draftTable) judge(name string, p pair, text string, refs []cited) {
	t.add(name, p, asReturn(p.Question, text, refs), "")
}

func (t *draftTable) run(ret *draft.Return, p pair) *verdict.Verdict {
	ret.Drill = nil
	v, err := t.validator.Run(context.Background(), validate.Request{Return: ret, Codebase: p.dir})
	if err != nil {
		t.err = fmt.Errorf("judge %s in %s: %w", ret.EvidenceRefs[0].Ref, p.dir, err)
		return &verdict.Verdict{}
	}
	return v
}

func (t *draftTable) add(name string, p pair, ret *draft.Return, note string) {
	if t.file != "" && p.Half != halves[0] {
		return
	}
	v := t.run(ret, p)
	if t.counts == nil {
		t.counts = map[string]*[2]outcomes{}
	}
	if t.counts[name] == nil {
		t.counts[name], t.names = new([2]outcomes), append(t.names, name)
	}
	c := &t.counts[name][slices.Index(halves, p.Half)]
	c.all++
	switch {
	case v.Proved == verdict.Undecided:
		c.left++
	case v.Verdict != verdict.Pass:
		c.refused++
		c.blame(v)
	case v.Proved == verdict.Covered && decided(v):
		c.silent++
	}
	if contradicted(v) {
		c.contradicted++
	}
	if t.file != "" && name != "true in "+p.Codebase && name != setOf(p.Codebase)+"false, all" {
		line, _ := json.Marshal(map[string]any{
			"group": name, "verdict": v.Verdict, "proved": v.Proved, "decided": decided(v),
			"text": ret.DraftReply, "refs": ret.EvidenceRefs, "what": note,
			"reasons": v.Reasons, "sentences": v.Sentences, "codebase": p.Codebase,
		})
		t.shown.Write(append(line, '\n'))
	}
}

// blame counts the kinds of fault for which a draft is refused.
func (c *outcomes) blame(v *verdict.Verdict) {
	if c.by == nil {
		c.by = map[string]int{}
	}
	kinds := map[string]bool{}
	for _, check := range v.Checks {
		kind, _, _ := strings.Cut(check.Name, " ")
		switch {
		case check.Result == verdict.Contradicts && strings.HasPrefix(check.Note, "the claim says"):
			kind = "claims"
		case check.Result == verdict.Contradicts, check.Result == verdict.Fabricated:
			kind += " " + check.Result
		case check.Result != verdict.Fail || kind == verdict.Traced:
			continue
		}
		kinds[kind] = true
	}
	for k := range kinds {
		c.by[k]++
	}
}

// refusals prints for each group the kinds of fault for which drafts are refused, of both halves.
func (t *draftTable) refusals() {
	for _, set := range []string{"", setOf(secondSet[0])} {
		said := func(name string) (n int) {
			if c := t.counts[set+name]; c != nil {
				n = c[0].contradicted + c[1].contradicted
			}
			return n
		}
		if right, wrong := said("false, all"), said("true"); right+wrong > 0 {
			fmt.Fprintf(t.out, "\n%scalled wrong by code: %d, of which false %s\n", set, right+wrong,
				percent(right, right+wrong))
		}
	}
	fmt.Fprintf(t.out, "\n%-36s refused for, tuned + untouched\n", "")
	for _, name := range t.names {
		a, b := t.counts[name][0].by, t.counts[name][1].by
		kinds := maps.Clone(a)
		if kinds == nil {
			kinds = map[string]int{}
		}
		maps.Copy(kinds, b)
		var said []string
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			said = append(said, fmt.Sprintf("%s %d + %d", k, a[k], b[k]))
		}
		if len(said) > 0 {
			fmt.Fprintf(t.out, "%-36s %s\n", name, strings.Join(said, ", "))
		}
	}
}

// decided reports whether the checks left nothing of any sentence undecided.
func decided(v *verdict.Verdict) bool {
	return !slices.ContainsFunc(v.Sentences, func(s verdict.Sentence) bool { return len(s.Undecided) > 0 })
}

// contradicted reports whether code said that something is wrong, and not only
// that it could not tell.
func contradicted(v *verdict.Verdict) bool {
	return slices.ContainsFunc(v.Checks, func(c verdict.Check) bool {
		return c.Result == verdict.Contradicts || c.Result == verdict.Fabricated ||
			(c.Name == "claims" || c.Name == "traceable") && c.Result == verdict.Fail
	})
}

// print prints the table, and writes the tuned half to the file $DRAFTS_SHOWN.
func (t *draftTable) print() error {
	if t.err != nil {
		return t.err
	}
	slices.Sort(t.names)
	fmt.Fprintf(t.out, "%-36s %5s  %-22s %-22s %-22s %-22s %-22s %s\n", "", "N", "refused, tuned",
		"refused, untouched", "not decided, tuned", "not decided, untouched", "contradicted",
		"passed as decided")
	for _, name := range t.names {
		a, b := t.counts[name][0], t.counts[name][1]
		n := a.all + b.all
		fmt.Fprintf(t.out, "%-36s %5d  %-22s %-22s %-22s %-22s %-22s %d + %d\n", name, n,
			percent(a.refused, a.all), percent(b.refused, b.all),
			percent(a.left, a.all), percent(b.left, b.all),
			percent(a.contradicted+b.contradicted, n), a.silent, b.silent)
	}
	t.refusals()
	if t.file != "" {
		return os.WriteFile(t.file, t.shown.Bytes(), 0o644)
	}
	return nil
}
