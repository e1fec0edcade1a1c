package classify

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/stream"
)

// TestDrawnOut: three letters alike, at either end, draw a word out.
func TestDrawnOut(t *testing.T) {
	for word, want := range map[string]bool{
		"": false, "ooo": false, "full": false, "llama": false, "abbbc": false, "aabb": false, "okk": false,
		"okkk": true, "oookay": true, "OoOkay": true, "whyyy": true, "aaaa": true, "okKk": false,
	} {
		if got := drawn([]byte(word)); got != want {
			t.Errorf("%q: %t", word, got)
		}
	}
}

// TestDigitsOfOthers: digits that are not ASCII are words too.
func TestDigitsOfOthers(t *testing.T) {
	var x reading
	c := classifier(t, Options{})
	for said, want := range map[string]int{"٣": 1, "٣ ٤": 2, "५ why": 2, "①": 0, "3": 1} {
		if x.read(c.lex, []byte(said)); len(x.words) != want {
			t.Errorf("%q has %d words, want %d", said, len(x.words), want)
		}
	}
}

// TestLexiconLimits: as many phrases, and so long a line, as numbers are for.
func TestLexiconLimits(t *testing.T) {
	empty := func() *lexicon {
		l, err := newLexicon(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, tt := range []struct {
		name           string
		words, phrases int
		line           string
		fails          bool
	}{
		{"most words", maxPhrases - 2, 0, "x", false}, {"one more", maxPhrases - 1, 0, "x", true},
		{"most phrases", 0, maxPhrases, "x", false}, {"one phrase more", 0, maxPhrases + 1, "x", true},
		{"longest line", 0, 0, strings.Repeat("x ", maxLine/2), false},
		{"a byte more", 0, 0, strings.Repeat("x ", maxLine/2) + "x", true},
	} {
		l := empty()
		l.words = append(l.words, make([]string, tt.words)...)
		l.keys = append(l.keys, make([]uint64, tt.words)...)
		l.phrases = append(l.phrases, make([]int32, tt.phrases)...)
		for len(l.slots) < 4*maxPhrases { // so that it does not grow
			l.slots = make([]uint16, 2*len(l.slots))
		}
		grown := make([]kind, tt.words)
		l.common, l.of = append(l.common, make([]uint32, tt.words)...),
			append(l.of, make([]uint32, tt.words)...)
		l.first, l.below = append(l.first, make([]int32, tt.words)...), append(l.below, grown...)
		if err := l.add(tt.line, anywhere); (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestPercent: a confidence is written as short as it can be.
func TestPercent(t *testing.T) {
	for n, want := range map[int]string{100: "1", 80: "0.8", 81: "0.81", 5: "0.05", 50: "0.5", 99: "0.99"} {
		var f fields
		if f.percent("", n); string(f.dst) != want {
			t.Errorf("%d is %s, want %s", n, f.dst, want)
		}
	}
}

// TestExplainsNoLanguage: a language that is not known is not spoken of.
func TestExplainsNoLanguage(t *testing.T) {
	for said, want := range map[string]bool{"xyzzy": false, "where is the retry limit": true} {
		var out bytes.Buffer
		in := stream.Input{Stdin: strings.NewReader(says(said)), After: -1}
		if _, err := stream.Run(t.Context(), in, stream.Output{Stdout: &out},
			classifier(t, Options{}).Explain()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "language"); got != want {
			t.Errorf("%q: %s", said, out.String())
		}
	}
}

// TestVoteIsAName: where no pack has "+1", it is a word like others, and may be a name.
func TestVoteIsAName(t *testing.T) {
	c := classifier(t, Options{Config: config.Classifier{Languages: []string{"fr"}}})
	var x reading
	var v verdict
	if c.judgeText([]byte("+1 merci"), &x, &v); !v.nameAck || v.ack {
		t.Errorf("%+v", v)
	}
}

// TestSignsOfOthers: what ends a sentence, asks, and parts, outside ASCII.
func TestSignsOfOthers(t *testing.T) {
	var x reading
	c := classifier(t, Options{})
	for _, ch := range "？؟⁇⁈⁉⸮፧﹖❓❔。．！；…¿¡؛۔।։，、،–“" {
		x.read(c.lex, []byte("why"+string(ch)+" not"))
		asks, parts := strings.ContainsRune("？؟⁇⁈⁉⸮፧﹖❓❔", ch), strings.ContainsRune("，、،", ch)
		begins := asks || strings.ContainsRune("。．！；…¿¡؛۔।։", ch)
		if len(x.words) != 2 || x.mark != (asks || ch == '¿') || x.words[1].begins != begins ||
			x.words[1].comma != parts || x.emoji {
			t.Errorf("%c: %+v, mark %t, emoji %t", ch, x.words, x.mark, x.emoji)
		}
	}
}

// TestKnownWords: a drawn-out word counts as the word without the repetition, with one or two equal
// letters at its end.
func TestKnownWords(t *testing.T) {
	var x reading
	c := classifier(t, Options{})
	for said, want := range map[string]string{"whyyy": "why", "willl": "will", "wwwhy": "why", "soooo": "so",
		"xyzzzz": "", "why": "why", "Whyyy": "why"} {
		x.read(c.lex, []byte(said))
		if len(x.words) != 1 || c.lex.words[x.words[0].id] != want {
			t.Errorf("%q: %+v, want %q", said, x.words, want)
		}
	}
}

// TestFaces: smileys are recognized.
func TestFaces(t *testing.T) {
	var x reading
	c := classifier(t, Options{})
	for said, want := range map[string]struct {
		emoji bool
		words int
	}{
		":)": {true, 0}, ":o)": {true, 0}, ":x)": {false, 1}, ":o": {true, 0}, ":-)": {true, 0},
		":-x": {false, 1}, ":'(": {true, 0}, "=)": {true, 0}, ":)))": {true, 0}, ":)x": {false, 1},
		":).":  {true, 0},
		":ok:": {true, 0}, ":a": {false, 1}, "::": {false, 0}, ":a:": {false, 1}, ":ab:": {true, 0},
		":a_b-c+1:": {true, 0}, "=ok:": {false, 1}, "<3": {true, 0}, "<": {false, 0}, "<4": {false, 1},
		">.> why": {true, 1}, ">.>> why": {true, 1}, "> why": {false, 0}, "> why\nnot": {false, 1},
		"<:a:1> b": {true, 1}, "<a:a:1> b": {true, 1}, "<b:a:1> b": {false, 4}, "^^": {false, 0},
	} {
		if x.read(c.lex, []byte(said)); x.emoji != want.emoji || len(x.words) != want.words {
			t.Errorf("%q: %d words, emoji %t", said, len(x.words), x.emoji)
		}
	}
}

// TestFolded: signs that people leave out are not there, and no others in their place.
func TestFolded(t *testing.T) {
	for word, want := range map[string]string{"a\u200db": "ab", "don’t": "don't", "Ёж": "еж",
		"ok": "ok", "": ""} {
		if got := folded(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestTrails: drawn-out ends and particles of Japanese change nothing, words do.
func TestTrails(t *testing.T) {
	c := classifier(t, Options{})
	for rest, want := range map[string]bool{"": true, "ー": true, "っ": true, "ッ": true, "ーっッ": true,
		"東": false, "ッ東": false} {
		if got := c.lex.trails([]byte(rest)); got != want {
			t.Errorf("%q: %t", rest, got)
		}
	}
}

// TestIsShort: what a reader sees as one character counts as one.
func TestIsShort(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("a", 29): true, strings.Repeat("a", 30): false, strings.Repeat("a", 100): false,
		strings.Repeat("a\r\n", 14): true, strings.Repeat("\r\n", 30): false, strings.Repeat("\r\n", 100): false,
		strings.Repeat("é", 29): true, strings.Repeat("é", 30): false,
		strings.Repeat("👨‍👩‍👧‍👦", 29): true, strings.Repeat("👨‍👩‍👧‍👦", 60): false,
	} {
		if got := isShort([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAnglesTime: the end of a platform's markup is not looked for in the whole message.
func TestAnglesTime(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, took := []byte(strings.Repeat("<", maxText-1)+">"), time.Hour
	for range 3 {
		at := time.Now()
		c.judgeText(text, new(reading), new(verdict))
		took = min(took, time.Since(at))
	}
	if took > 200*time.Millisecond {
		t.Errorf("%v for %d bytes", took, len(text))
	}
}
