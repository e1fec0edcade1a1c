package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"tri/lib/record/draft"
)

// block is code and what is said of it.
type block struct {
	path     string
	lines    []string
	right    []string
	inverted []string
}

// blocks reads a file of testdata: a path, tab-indented lines of it, = what is
// true of them, ! what is not.
func blocks(t testing.TB, name string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for n, l := range strings.Split(string(text), "\n") {
		last := len(out) - 1
		switch {
		case l == "" || strings.HasPrefix(l, "# "):
		case strings.HasPrefix(l, "\t"):
			out[last].lines = append(out[last].lines, l[1:])
		case strings.HasPrefix(l, "= "):
			out[last].right = append(out[last].right, l[2:])
		case strings.HasPrefix(l, "! "):
			out[last].inverted = append(out[last].inverted, l[2:])
		case strings.ContainsAny(l, ". ") && len(strings.Fields(l)) > 1:
			t.Fatalf("%s:%d: %q", name, n+1, l)
		default:
			out = append(out, block{path: l})
		}
	}
	return out
}

func (b block) judge(claim string) Finding {
	p := Place{Path: b.path, Start: 1, End: len(b.lines)}
	return judge(p, b.lines, draft.Ref{Kind: draft.KindFile, Ref: p.String(), Quote: strings.Join(b.lines, "\n"), SupportsClaim: claim})
}

// TestClaims holds the rules to what they reach on claims that are true and on
// claims that are turned around. Set SHOW to see the errors of the tuned half.
func TestClaims(t *testing.T) {
	for _, half := range []struct {
		name           string
		alarms, caught int // percent: no more false alarms, no fewer caught
	}{{"tuned", 2, 90}, {"untouched", 5, 85}} {
		var right, alarms, inverted, caught int
		for _, b := range blocks(t, "claims-"+half.name+".txt") {
			for _, c := range b.right {
				right++
				if f := b.judge(c); f.Result != Supports {
					alarms++
					show(t, half.name, "alarm", b.path, c, f)
				}
			}
			for _, c := range b.inverted {
				inverted++
				if f := b.judge(c); f.Result == Contradicts {
					caught++
				} else {
					show(t, half.name, "miss", b.path, c, f)
				}
			}
		}
		t.Logf("%s: %d false alarms on %d claims that are true, %d of %d inverted ones caught", half.name, alarms, right, caught, inverted)
		if alarms*100 > right*half.alarms || caught*100 < inverted*half.caught {
			t.Errorf("%s: want at most %d%% false alarms and at least %d%% caught", half.name, half.alarms, half.caught)
		}
	}
}

func show(t *testing.T, half, kind, path, claim string, f Finding) {
	if os.Getenv("SHOW") != "" && half == "tuned" {
		fmt.Printf("%s %s: %q: %s %s\n", kind, path, claim, f.Result, f.Note)
	}
}
