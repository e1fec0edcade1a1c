package faults

import (
	"math/rand/v2"
	"testing"
)

func rngOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// TestTurns: what each turn makes of a sentence, and that it leaves code, quotes
// and places alone.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name string
		turn turn
		in   string
		want []string // any of them
	}{
		{"not", deny, "It is closed.", []string{"It is not closed."}},
		{"no not", deny, "It does not block.", []string{"It does block."}},
		{"never", deny, "It never blocks.", []string{"It always blocks."}},
		{"no longer", deny, "It no longer blocks.", []string{"It still blocks."}},
		{"no of many", deny, "It leaves no files.", []string{"It leaves some files."}},
		{"no of one", deny, "It takes no index.", []string{"It takes an index."}},
		{"no more", deny, "No more than two.", nil},
		{"or not", deny, "Whether or not it blocks.", nil},
		{"verb", deny, "It returns nil.", []string{"It does not return nil."}},
		{"Indonesian", deny, "Berkas tidak dihapus.", []string{"Berkas dihapus."}},
		{"Japanese", deny, "上限は5です。", []string{"上限は5ではありません。"}},
		{"not in a condition", deny, "If it is closed, it returns nil.", []string{"If it is closed, it does not return nil."}},
		{"bound", turnBound, "At most three.", []string{"At least three."}},
		{"longest bound first", turnBound, "No more than 3 of the largest.", []string{"No less than 3 of the largest.", "No more than 3 of the smallest."}},
		{"order", turnOrder, "It is synced before the rename.", []string{"It is synced after the rename."}},
		{"state", turnDefault, "It is disabled.", []string{"It is enabled."}},
		{"non-", turnDefault, "They are removed non-recursively.", []string{"They are removed recursively."}},
		{"unit", turnUnit, "It waits 5 minutes.", []string{"It waits 5 seconds.", "It waits 5 hours.", "It waits 5 days.", "It waits 5 weeks.", "It waits 5 milliseconds."}},
		{"glued unit", turnUnit, "It waits 5s.", []string{"It waits 5ms.", "It waits 5min.", "It waits 5h."}},
		{"code", turnDefault, "See `disabled` and \"disabled\".", nil},
		{"place", turnOrder, "See before.go:12.", nil},
		{"nothing", turnUnit, "It waits.", nil},
	} {
		s := &subject{Drill: &Drill{}, rng: rngOf(3)}
		got, _, ok := c.turn(s, c.in, nil)
		if ok != (c.want != nil) {
			t.Errorf("%s: ok %v, %q", c.name, ok, got)
			continue
		}
		fits := !ok
		for _, w := range c.want {
			fits = fits || got == w
		}
		if !fits {
			t.Errorf("%s: %q, want one of %q", c.name, got, c.want)
		}
	}
}

func TestAnswered(t *testing.T) {
	for in, want := range map[string]string{"Yes, it is.": "No, it is.", "No. It": "Yes. It", "はい。": "いいえ。", "Nothing": "Nothing", "Yesterday": "Yesterday", "Ya, bisa": "Tidak, bisa"} {
		if got := answered(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	text := "It is 5 (pay/retry.go:4). See main.go. `a. b` stays.\n\nEnd"
	var got []string
	for _, at := range sentences(text) {
		got = append(got, text[at[0]:at[1]])
	}
	want := []string{"It is 5 (pay/retry.go:4). ", "See main.go. ", "`a. b` stays.\n\n", "End"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}
