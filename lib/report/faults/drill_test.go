package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// limitsFile is a file whose comments decide claims of every kind.
const limitsFile = `package pay

// A charge is tried at most 5 times before it is parked.
const maxTries = 5

// Between two tries pass 30 seconds.
const pause = 30 * time.Second

// Compression is disabled by default.
var compress = false
`

// codebase returns a file of limits, and one of 200 different lines.
func codebase(t testing.TB) *os.Root {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "func step%c%d() int { return %d }\n", 'a'+rune(i%26), i, i*7)
	}
	for name, text := range map[string]string{"steps.go": b.String(), "limits.go": limitsFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// good returns a return that has a place for every kind of fault.
func good() Record {
	ref := func(place, quote, claim string) draft.Ref {
		return draft.Ref{Kind: draft.KindFile, Ref: place, Quote: quote, SupportsClaim: claim}
	}
	return Record{Key: "k1", Return: &draft.Return{
		Confidence: draft.High, ConfidenceReason: "It was read.",
		SummaryForOrchestrator: "A charge is tried at most 5 times before it is parked.",
		DraftReply: "A charge is tried at most five times before it is parked (limits.go:3). Between two tries pass 30 seconds. " +
			"Compression is disabled by default, and `stepc2` returns 14 (steps.go:3).",
		DraftLanguage: "en", Question: "how often is a charge tried, and is compression used?",
		InvestigatorRound: 1, OpenQuestions: []string{},
		EvidenceRefs: []draft.Ref{
			ref("limits.go:3", "// A charge is tried at most 5 times before it is parked.",
				"A charge is tried at most 5 times before it is parked."),
			ref("limits.go:6-7", "// Between two tries pass 30 seconds.\nconst pause = 30 * time.Second",
				"Between two tries pass 30 seconds."),
			ref("limits.go:9", "// Compression is disabled by default.",
				"Compression is disabled by default."),
			ref("steps.go:3", "func stepc2() int { return 14 }", "`stepc2` returns 14."),
		},
	}}
}

func textOf(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func plant(t testing.TB, d *Drill, r Record, fault string, chance uint64) Record {
	t.Helper()
	bad, err := d.Plant(r, fault, "of", chance)
	if err != nil {
		t.Fatalf("%s: %v", fault, err)
	}
	return bad
}

const seeds = 40

// TestWrong: each planted fault is wrong by an independent check.
func TestWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	root := codebase(t)
	steps, err := root.ReadFile("steps.go")
	if err != nil {
		t.Fatal(err)
	}
	all := string(steps) + limitsFile
	lines := map[string][]string{"steps.go": strings.Split(string(steps), "\n"),
		"limits.go": strings.Split(limitsFile, "\n")}
	// at reports whether each quote is at its cited place.
	at := func(r Record) bool {
		for _, ref := range r.EvidenceRefs {
			p, err := evidence.Parse(ref.Ref)
			if err != nil || p.End > len(lines[p.Path])-1 ||
				!strings.Contains(strings.Join(lines[p.Path][p.Start-1:p.End], "\n"), ref.Quote) {
				return false
			}
		}
		return true
	}
	// added returns the text that was added to the draft.
	added := func(r Record) string {
		return strings.TrimSpace(strings.Replace(r.DraftReply, good().DraftReply, "", 1))
	}
	said := func(r Record, words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(strings.ToLower(r.DraftReply), w)
		})
	}
	if !at(good()) {
		t.Fatal("the good return is bad")
	}
	is := map[string]func(r Record) bool{
		BadPath: func(r Record) bool { return missing(root, r) },
		BadLine: func(r Record) bool { return !missing(root, r) && !at(r) },
		OffLine: func(r Record) bool { return !missing(root, r) && !at(r) },
		BadContent: func(r Record) bool {
			return slices.ContainsFunc(r.EvidenceRefs, func(e draft.Ref) bool {
				return !strings.Contains(all, e.Quote)
			})
		},
		InvertedNumber: func(r Record) bool {
			return !said(r, "five") || !said(r, "30 seconds") || !said(r, "two tries") ||
				!said(r, "returns 14 ")
		},
		InvertedUnit:  func(r Record) bool { return !said(r, "30 seconds") },
		InventedName:  func(r Record) bool { return unheardOf(r, all) },
		OverConfident: func(r Record) bool { return r.Confidence != draft.High && added(r) != "" },
		ScopeDrift:    func(r Record) bool { return added(r) != "" || r.Question != good().Question },
		Secret:        func(r Record) bool { return textOf(t, r.Return) != textOf(t, good().Return) },
		Injection:     func(r Record) bool { return added(r) != "" },
	}
	for _, fault := range Faults {
		distinct := map[string]bool{}
		for seed := range int64(seeds) {
			d := &Drill{Root: root, Seed: seed, TeamSecret: "open-sesame-now"}
			bad := plant(t, d, good(), fault, 1)
			if !is[fault](bad) {
				t.Errorf("%s is none: %s: %s", fault, bad.Drill.What, textOf(t, bad))
			}
			if bad.Drill.Fault != fault || bad.Drill.Of != "of" || bad.Drill.What == "" ||
				bad.Drill.Where == "" || bad.Key != "k1" {
				t.Errorf("%s: mark %+v", fault, bad.Drill)
			}
			if strings.Contains(bad.Drill.What, "open-sesame-now") {
				t.Errorf("%s: the mark tells the secret", fault)
			}
			bad.Drill = nil
			distinct[textOf(t, bad)] = true
		}
		if len(distinct) < 2 {
			t.Errorf("%s: all seeds plant the same", fault)
		}
	}
}

func missing(root *os.Root, r Record) bool {
	return slices.ContainsFunc(r.EvidenceRefs, func(e draft.Ref) bool {
		p, err := evidence.Parse(e.Ref)
		if err != nil {
			return false
		}
		_, err = root.Lstat(p.Path)
		return errors.Is(err, os.ErrNotExist)
	})
}

// unheardOf reports whether the draft has a word that occurs nowhere else.
func unheardOf(r Record, all string) bool {
	known := strings.ToLower(all + good().DraftReply + strings.Join(lists["name en"], " "))
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(r.DraftReply), func(c rune) bool {
		return strings.ContainsRune(" `()=$-,", c)
	}), func(w string) bool {
		return !strings.Contains(known, strings.Trim(w, "."))
	})
}

// TestDecidable: a claim that its lines decide is marked as decidable, any other is not.
func TestDecidable(t *testing.T) {
	root := codebase(t)
	r := good()
	r.DraftReply, r.EvidenceRefs = "A charge is tried at most 5 times.", r.EvidenceRefs[:1]
	if bad := plant(t, &Drill{Root: root}, r, InvertedNumber, 1); !bad.Drill.Decidable {
		t.Errorf("the lines decide it: %+v", bad.Drill)
	}
	r.DraftReply, r.EvidenceRefs[0].SupportsClaim = "The charge waits for 40 customers.",
		"The charge waits for customers."
	for seed := range int64(seeds) {
		bad := plant(t, &Drill{Root: root, Seed: seed}, r, InvertedNumber, 1)
		if bad.Drill.Decidable {
			t.Errorf("nothing in the lines decides it: %+v", bad.Drill)
		}
	}
}

// TestStillTrue: a number that the cited lines contain too is never planted, nor one that says the
// same in other words.
func TestStillTrue(t *testing.T) {
	root := codebase(t)
	r := good()
	r.EvidenceRefs = r.EvidenceRefs[:2]
	for seed := range int64(200) {
		bad := plant(t, &Drill{Root: root, Seed: seed}, r, InvertedNumber, 1)
		_, to, _ := strings.Cut(bad.Drill.What, " → ")
		if slices.Contains([]string{"2", "5", "30"}, to) {
			t.Errorf("seed %d: %s: the lines hold that too", seed, bad.Drill.What)
		}
	}
	for _, c := range []struct {
		cited string
		f     figure
		want  bool
	}{
		{"30 * time.Second", figure{value: "30", unit: "seconds"}, true},
		{"time.Second * 30", figure{value: "30", unit: "s"}, true},
		{"time.Minute", figure{value: "60", unit: "seconds"}, true},
		{"4 << 20", figure{value: "4", unit: "mib"}, true},
		{"32768 bytes", figure{value: "32", unit: "kib"}, true}, {"0o700", figure{value: "700"}, true},
		{"five tries", figure{value: "5"}, true},
		{"default 72 hours", figure{value: "3", unit: "days"}, true}, {"sha256", figure{value: "256"}, false},
		{"1.8.0", figure{value: "8"}, false}, {"50", figure{value: "5"}, false},
	} {
		if got := holds(c.cited, c.f); got != c.want {
			t.Errorf("%q holds %+v: %v", c.cited, c.f, got)
		}
	}
}

// TestSeed: the same seed plants the same faults, another seed different ones. Other returns before
// it in the input, and other kinds of faults, have no effect.
func TestSeed(t *testing.T) {
	root := codebase(t)
	run := func(seed int64, faults []string, in string) string {
		var out bytes.Buffer
		d := Drill{Root: root, Seed: seed, Faults: faults, Out: &out, Say: t.Logf}
		if err := d.Each(context.Background(),
			stream.Input{Stdin: strings.NewReader(in), After: -1}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	in := textOf(t, good()) + "\n"
	first := run(5, nil, in)
	if run(5, nil, in) != first {
		t.Error("the same seed plants other faults")
	}
	if run(6, nil, in) == first {
		t.Error("another seed plants the same")
	}
	if n := strings.Count(first, "\n"); n != 1+len(Faults) {
		t.Errorf("%d records, want one good and one of each of %d kinds", n, len(Faults))
	}
	if !strings.Contains(first, fmt.Sprintf(`"planted":%d`, len(Faults))) {
		t.Error("the good return does not say how many faults follow")
	}
	alone := strings.Split(run(5, []string{Injection}, in), "\n")[1]
	if !strings.Contains(first, alone) {
		t.Error("a kind planted alone is another")
	}
}

// TestNoPlace: a return without a place for a kind of fault is skipped with a note.
func TestNoPlace(t *testing.T) {
	root := codebase(t)
	bare := Record{Return: &draft.Return{DraftReply: "はい。", DraftLanguage: "ja",
		EvidenceRefs: []draft.Ref{{Kind: draft.KindMemory, Ref: "m"},
			{Kind: draft.KindFile, Ref: "gone.go:1"}}}}
	for _, fault := range []string{BadPath, BadLine, OffLine, BadContent, InvertedNumber, InvertedUnit} {
		if _, err := (&Drill{Root: root}).Plant(bare, fault, "of", 1); !errors.Is(err, ErrNoPlace) {
			t.Errorf("%s: %v", fault, err)
		}
	}
	near := good()
	near.EvidenceRefs = near.EvidenceRefs[:3] // all in one short file
	if _, err := (&Drill{Root: root}).Plant(near, OffLine, "of", 1); !errors.Is(err, ErrNoPlace) {
		t.Errorf("%s in a short file: %v", OffLine, err)
	}
	var out bytes.Buffer
	var notes []string
	d := Drill{Root: root, Out: &out, Say: func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf(format, args...))
	}}
	if err := d.Each(context.Background(),
		stream.Input{Stdin: strings.NewReader(textOf(t, bare) + "\n"), After: -1}); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "stdin:1: no place to plant bad_path bad_line") {
		t.Errorf("notes %q", notes)
	}
	if !strings.HasSuffix(notes[0], "--codebase names another") {
		t.Errorf("the note does not say why: %q", notes)
	}
	_, err := (&Drill{Root: root}).Plant(good(), "bad_hair", "of", 1)
	if status, _ := sysexit.Of(err); status != sysexit.Usage {
		t.Errorf("no such kind: %v", err)
	}
}

// TestHalves: the two halves of a list are disjoint and complete.
func TestHalves(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6}
	got := map[int][]int{}
	for _, half := range []int{1, 2} {
		for seed := range uint64(200) {
			s := &subject{Drill: &Drill{Half: half}, rng: rngOf(seed)}
			if v := pick(s, list); !slices.Contains(got[half], v) {
				got[half] = append(got[half], v)
			}
		}
		slices.Sort(got[half])
	}
	if want := (map[int][]int{1: {0, 2, 4, 6}, 2: {1, 3, 5}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestGoodIsLeftAlone: planting does not change the original return.
func TestGoodIsLeftAlone(t *testing.T) {
	root, r := codebase(t), good()
	before := textOf(t, r)
	for _, fault := range Faults {
		plant(t, &Drill{Root: root}, r, fault, 1)
		if after := textOf(t, r); after != before {
			t.Fatalf("%s changed the good return: %s", fault, after)
		}
	}
}
