package codesearch

import (
	"math"
	"strings"
	"testing"
)

// TestSaysMost: words count if they are whole, in blocks of forty lines, and the best block counts.
func TestSaysMost(t *testing.T) {
	words := []typed{{[]byte("retry"), 2}, {[]byte("limit"), 1}}
	// One word once, in a block of the usual size: its rarity.
	usual := func(text string) float64 { return float64(len(text)) }
	for _, tt := range []struct {
		name, text string
		want       float64
	}{
		{"nothing", "no such word\n", 0},
		{"empty", "", 0},
		{"one", "a retry here", 2},
		{"both", "the retry limit", 3},
		{"at the edges", "limit of retry", 3},
		{"inside a name", "retryLimit retry_limit xretry retry2 limité", 0},
		{"behind a part of it", "retryretry retry", 2},
		{"twice", "retry, retry", 2 * 2 * 2.2 / 3.2},
	} {
		if got := saysMost(words, []byte(strings.ToLower(tt.text)),
			usual(tt.text)); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	lines := strings.Repeat("-----\n", aroundLines-1)
	apart := lines + "retry\n" + "limit\n" + lines
	size := float64(len(apart)) / 2
	if got := saysMost(words, []byte(apart), size); math.Abs(got-2) > 1e-9 {
		t.Errorf("on both sides of an edge: %v, want 2", got)
	}
	if got := saysMost(words, []byte(lines+lines+"limit\n"+"retry\n"), size); got < 3 {
		t.Errorf("short, at the end: %v, want more than 3", got)
	}
}

func TestBlocks(t *testing.T) {
	for text, want := range map[string][]int{
		"":                                   {0},
		"a":                                  {1},
		"a\nb":                               {3},
		strings.Repeat("a\n", aroundLines):   {2 * aroundLines, 2 * aroundLines},
		strings.Repeat("a\n", aroundLines+1): {2 * aroundLines, 2*aroundLines + 2},
	} {
		got := blocks([]byte(text))
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%d bytes: %v, want %v", len(text), got, want)
		}
	}
}

// TestAround: who says most has 1, and so has everybody where nobody says anything.
func TestAround(t *testing.T) {
	x := Texts(map[string]string{"a": "the retry limit", "b": "the limit", "c": "nothing"})
	said := around(x.typed("what is the Retry limit?"),
		map[string][]byte{"a": []byte("the RETRY limit"), "b": []byte("the limit"), "c": []byte("nothing")})
	if said["a"] != 1 || said["b"] <= 0 || said["b"] >= 1 || said["c"] != 0 {
		t.Errorf("%v", said)
	}
	if said := around(x.typed("unheard of"),
		map[string][]byte{"a": []byte("the retry limit")}); said["a"] != 1 {
		t.Errorf("nothing said: %v", said)
	}
	if words := x.typed("Retry, retry `limit`"); len(words) != 2 || string(words[0].text) != "retry" ||
		words[0].rarity <= words[1].rarity {
		t.Errorf("%v", words)
	}
}

// TestAroundTells: of two places that say the same, the one that says it as it was
// asked comes first, and what counts as an answer is the score before that.
func TestAroundTells(t *testing.T) {
	x := Texts(map[string]string{
		"a.go": "package p\n\n// wait is the pause between retry calls.\nvar wait = 3\n",
		"b.go": "package p\n\n// wait is the pause between retries calls.\nvar wait = 3\n",
	})
	found, err := x.Search(t.Context(), "how long is the pause between retries?", 8)
	if err != nil || len(found.Hits) != 2 || found.Hits[0].Path != "b.go" {
		t.Fatalf("%v, %v", found.Hits, err)
	}
	if a, b := found.Hits[1], found.Hits[0]; a.alone != b.alone || a.Score >= b.Score {
		t.Errorf("alone %v and %v, together %v and %v", a.alone, b.alone, a.Score, b.Score)
	}
}
