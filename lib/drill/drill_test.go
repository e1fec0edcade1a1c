package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/draft"
	"tri/lib/evidence"
	"tri/lib/stream"
	"tri/lib/sysexit"
)

func codebase(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "func step%c%d() int { return %d }\n", 'a'+rune(i%26), i, i*7)
	}
	if err := os.WriteFile(filepath.Join(dir, "steps.go"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// line is a good return that cites line n of steps.go, as JSON.
func line(n int) string {
	quote := fmt.Sprintf("func step%c%d() int { return %d }", 'a'+rune((n-1)%26), n-1, (n-1)*7)
	text, err := json.Marshal(map[string]any{
		"key": fmt.Sprintf("k%d", n), "draft_reply": fmt.Sprintf("It returns %d, see steps.go:%d.", (n-1)*7, n),
		"evidence_refs": []evidence.Ref{{Kind: evidence.File, Ref: fmt.Sprintf("steps.go:%d", n), Quote: quote, SupportsClaim: "it returns"}},
	})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func planted(t *testing.T, root *os.Root, seed int64, in string) string {
	t.Helper()
	var out bytes.Buffer
	d := Drill{Root: root, Seed: seed, Out: &out, Say: t.Logf}
	if err := d.Each(context.Background(), stream.Input{Stdin: strings.NewReader(in), After: -1}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPlanted: each fault is a fault, by a look of this test's own, and only the
// one that its mark names.
func TestPlanted(t *testing.T) {
	root := codebase(t)
	text, err := root.ReadFile("steps.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seen := map[string]int{}
	for seed := range int64(40) {
		n := 1 + int(seed)*5
		for _, l := range strings.Split(strings.TrimSpace(planted(t, root, seed, line(n))), "\n") {
			var r record
			if err := json.Unmarshal([]byte(l), &r); err != nil {
				t.Fatal(err)
			}
			if r.Key != fmt.Sprintf("k%d", n) || r.Drill == nil || r.Drill.Of != "stdin:1" {
				t.Fatalf("marks: %s", l)
			}
			ref := r.EvidenceRefs[0]
			p, err := evidence.Parse(ref.Ref)
			if err != nil {
				t.Fatal(err)
			}
			seen[r.Drill.Fault]++
			_, gone := root.Stat(p.Path)
			stands := p.End <= len(lines) && strings.Contains(strings.Join(lines[max(p.Start-1-evidence.MaxDrift, 0):min(p.End+evidence.MaxDrift, len(lines))], "\n"), ref.Quote)
			switch r.Drill.Fault {
			case None:
				if gone != nil || !stands {
					t.Errorf("the good one is bad: %s", l)
				}
			case BadPath:
				if gone == nil || !strings.Contains(r.DraftReply, ref.Ref) {
					t.Errorf("not a bad path: %s", l)
				}
			case BadLine:
				if gone != nil || stands || !strings.Contains(string(text), ref.Quote) || !strings.Contains(r.DraftReply, ref.Ref) {
					t.Errorf("not a bad line: %s", l)
				}
			case BadContent:
				if gone != nil || p.Start != n || strings.Contains(string(text), ref.Quote) {
					t.Errorf("not bad content: %s", l)
				}
			}
		}
	}
	for _, f := range append(Faults, None) {
		if seen[f] != 40 {
			t.Errorf("%s: %d, want 40", f, seen[f])
		}
	}
}

func TestSeed(t *testing.T) {
	root := codebase(t)
	in := line(3) + line(70)
	first := planted(t, root, 5, in)
	if again := planted(t, root, 5, in); again != first {
		t.Error("the same seed plants other faults")
	}
	if planted(t, root, 6, in) == first {
		t.Error("another seed plants the same")
	}
}

func TestNothingToPlant(t *testing.T) {
	out := planted(t, codebase(t), 1, `{"draft_reply":"x","evidence_refs":[{"kind":"memory","ref":"m"},{"kind":"file","ref":"gone.go:1"}]}`+"\n")
	if strings.Count(out, "\n") != 1 || !strings.Contains(out, `"fault":"none"`) {
		t.Errorf("got %s", out)
	}
}

func TestScore(t *testing.T) {
	v := func(of, fault, verdict string) string {
		text, err := json.Marshal(marked{verdict, &draft.Drill{Fault: fault, Of: of}})
		if err != nil {
			panic(err)
		}
		return string(text) + "\n"
	}
	all := v("a", None, "pass") + v("a", BadPath, "bounce") + v("a", BadLine, "bounce") + v("a", BadContent, "escalate")
	for _, c := range []struct {
		name, in string
		ok       bool
		want     []Count
	}{
		{"all caught", all, true, []Count{{BadPath, 1, 1, 0, 0}, {BadLine, 1, 1, 0, 0}, {BadContent, 1, 1, 0, 0}}},
		{"one missed", all + v("b", None, "pass") + v("b", BadLine, "pass"), false, []Count{{BadPath, 1, 1, 0, 0}, {BadLine, 2, 1, 1, 0}, {BadContent, 1, 1, 0, 0}}},
		{"everything refused proves nothing", v("c", None, "bounce") + v("c", BadPath, "bounce"), false, []Count{{BadPath, 1, 0, 0, 1}, {BadLine, 0, 0, 0, 0}, {BadContent, 0, 0, 0, 0}}},
	} {
		s, err := Read(context.Background(), stream.Input{Stdin: strings.NewReader(c.in), After: -1})
		if err != nil {
			t.Fatal(err)
		}
		if s.Ok() != c.ok || !slices.Equal(s.Faults, c.want) {
			t.Errorf("%s: ok %v, %+v", c.name, s.Ok(), s.Faults)
		}
	}
	if _, err := Read(context.Background(), stream.Input{Stdin: strings.NewReader(""), After: -1}); err == nil {
		t.Error("no verdicts at all score well")
	}
	_, err := Read(context.Background(), stream.Input{Stdin: strings.NewReader(`{"verdict":"pass"}` + "\n"), After: -1})
	if status, _ := sysexit.Of(err); status != sysexit.Data {
		t.Errorf("an unmarked verdict: %v", err)
	}
}
