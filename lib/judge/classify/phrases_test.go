package classify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/event"
)

// own is a lexicon of one pack.
func own(t *testing.T, text string) *lexicon {
	t.Helper()
	l, err := newLexicon([]pack{{lang: "xx", path: "xx.txt", text: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPhrases: which phrase of a pack asks in a text.
func TestPhrases(t *testing.T) {
	l := own(t, "[anywhere]\nhow about\n[start]\nwhat now\nwhat about it\n[told]\nwhat about *\nhow *\n[lead]\nhi\ngood day\n")
	for said, want := range map[string]string{
		"what now": "what now", "so what now": "", "hi hi hi hi hi hi what now": "what now",
		"hi hi hi hi hi hi hi what now": "",
		"good day what now":             "what now", "now good what now": "", "what about it": "",
		"how about":       "",
		"about how about": "how about",
	} {
		var x reading
		x.read(l, []byte(said))
		got := ""
		if p := l.asks(&x); p >= 0 {
			got = l.phrase(int(p))
		}
		if got != want {
			t.Errorf("%q: %q asks, want %q", said, got, want)
		}
	}
}

// TestFirstPhraseEndsAWord: the first phrase is one like the others.
func TestFirstPhraseEndsAWord(t *testing.T) {
	l := own(t, "[end]\n-나요/-\n")
	var x reading
	if x.read(l, []byte("하나요")); l.asks(&x) != 0 {
		t.Errorf("%d asks, %v", l.asks(&x), x.hits)
	}
}

// TestPhraseOfTwoKinds has one number; a phrase that does not ask has none.
func TestPhraseOfTwoKinds(t *testing.T) {
	if l := own(t, "[anywhere]\nwhat now\n[start]\nwhat now\n[idle]\nwhat now\nnice day\n"); len(l.phrases) != 1 {
		t.Errorf("%d phrases ask", len(l.phrases))
	}
	if got := phraseWords("a٣b’c d"); !slices.Equal(got, []string{"a٣b'c", "d"}) {
		t.Errorf("%q", got)
	}
}

// TestManyPhrases: how many a line may stand for, and that a keyword that is none is told.
func TestManyPhrases(t *testing.T) {
	choices := func(n int) string { return strings.TrimSuffix(strings.Repeat("a/", n), "/") }
	l := own(t, "")
	if err := l.add(choices(5)+" "+choices(10)+" "+choices(100), anywhere); err != nil {
		t.Errorf("5000: %v", err)
	}
	if err := l.add(choices(3)+" "+choices(1667), anywhere); err == nil {
		t.Error("5001 are taken")
	}
	if _, err := New(Options{Config: config.Classifier{QuestionKeywords: []string{strings.Repeat("x",
		maxLine+1)}}}); err == nil {
		t.Error("a keyword that is too long is taken")
	}
}

// TestSmallTalkOfTheFirstPhrase: the first phrase that asks is one like the others.
func TestSmallTalkOfTheFirstPhrase(t *testing.T) {
	dir := folder(t, "xx.txt", "[anywhere]\nhow goes\n[idle]\nhow goes\n")
	c := classifier(t, Options{Config: config.Classifier{PacksDir: dir, Languages: []string{"xx"}}})
	if e := run(t, c, says("how goes"))[0]; e.IsQuestion ||
		!slices.Contains(e.Reasons, "no-question:small-talk") {
		t.Errorf("question %v, %q", e.IsQuestion, e.Reasons)
	}
}

// TestShortOnes: texts short enough to acknowledge, and what may precede them.
func TestShortOnes(t *testing.T) {
	c := classifier(t, Options{Config: config.Classifier{AckPatterns: []string{`^hm$`}}})
	for text, want := range map[string]string{
		strings.Repeat("okay ", 9) + "okay": "ack:words", strings.Repeat("okay ", 10) + "okay": "",
		strings.Repeat(":) ", 9): "ack:emoji", strings.Repeat(":) ", 20): "",
		"bob, hm": "ack:pattern:0", "bob> hm": "ack:pattern:0", "bob: hm": "ack:pattern:0",
		"bob :)": "ack:emoji", "bob :hm": "ack:pattern:0",
	} {
		line := strings.Replace(says(text), `"mentions":[]`, `"mentions":["bob"]`, 1)
		e := run(t, c, line)[0]
		if e.IsAckOrEmoji != (want != "") || want != "" && !slices.Contains(e.Reasons, want) {
			t.Errorf("%q: %v %q, want %q", text, e.IsAckOrEmoji, e.Reasons, want)
		}
	}
	if m := feeds(c).feed(t, says("bob :)")); !m.of.emoji {
		t.Errorf("a face behind a name: %v", m)
	}
	if m := feeds(c).feed(t, says("!x")); !m.of.filler || m.of.problem {
		t.Errorf("a command to a bot: %v", m)
	}
}

// TestHardlyQuoted: what begins as a quote or a face and ends at once.
func TestHardlyQuoted(t *testing.T) {
	c := classifier(t, Options{})
	for _, text := range []string{">", ">.", ">:", "> why", "ok\n>"} {
		if e := run(t, c, says(text))[0]; e.IsQuestion {
			t.Errorf("%q asks", text)
		}
	}
}

// TestWhatLooksShort: letters are counted, but not for ever; half a name is none; and
// letters that Russian has and has not are no Russian.
func TestWhatLooksShort(t *testing.T) {
	heap := strings.Repeat("a"+strings.Repeat("\u0301", 30), 25)
	if isShort([]byte(heap)) || !isShort([]byte(heap[:len(heap)/2])) {
		t.Error("a heap of accents is short, or none of it")
	}
	for text, want := range map[string]int{"bobby": 0, "bob": 3, "bob?": 3, "bob.": 3, "bo": 0} {
		if n := addressed([]byte(text), [][]byte{nil, []byte("Bob")}); n != want {
			t.Errorf("%q: %d bytes of a name, want %d", text, n, want)
		}
	}
	c := classifier(t, Options{})
	for text, want := range map[string]string{"ыкыкы щкщк": "ru", "ыкыкы щкщкі": ""} {
		if e := run(t, c, says(text))[0]; e.Lang != want {
			t.Errorf("%q is %q, want %q", text, e.Lang, want)
		}
	}
}

// TestPacksOfOneLanguage are one language; and what stands before [replace] counts.
func TestPacksOfOneLanguage(t *testing.T) {
	l, err := newLexicon([]pack{{lang: "xx", text: []byte("[ack]\nja\n")},
		{lang: "xx", text: []byte("[ack]\njo\n")}}, nil)
	if err != nil || len(l.langs) != 1 {
		t.Errorf("%q, %v", l.langs, err)
	}
	for text, want := range map[string]bool{"x\n[replace]\n": false, "# x\n\n[replace]\n": true, "": false} {
		if (pack{text: []byte(text)}).replaces() != want {
			t.Errorf("%q replaces: %v", text, !want)
		}
	}
}

// TestMaybeNames: who may be meant by the first words, whatever ends them, or the
// last of what is short.
func TestMaybeNames(t *testing.T) {
	c := classifier(t, Options{})
	room := func(content string) facts {
		var f facts
		f.read(&event.Header{Platform: []byte("p"), Chat: []byte("c"), Sender: []byte("u"), ID: []byte("1"),
			Content: []byte(content)}, c.seed, nil)
		return f
	}
	plain := room("bobby ann")
	for _, end := range []string{",", ":", ";", "-", ".", "!", "?", "?!"} {
		if f := room("@bobby" + end + " ann"); f.nmaybe != 2 || f.maybe != plain.maybe {
			t.Errorf("%q behind a name", end)
		}
	}
	cyd := room("cyd").maybe[0]
	long := "it is in the wiki," + strings.Repeat(" y", 18)
	for text, want := range map[string]bool{
		"got it now cyd": true, "got it now @cyd! \n": true, "cyd got it now": true, "got it cyd now": false,
		long + "   cyd": true, long + "    cyd": false, // 60 bytes and one more
		"is it o-" + strings.Repeat("x", maxWord) + " cyd": true,
	} {
		f := room(text)
		if got := slices.Contains(f.maybe[:f.nmaybe], cyd); got != want {
			t.Errorf("%q is to cyd: %v", text, got)
		}
	}
}

// TestOneRuleFails: those behind it are asked all the same.
func TestOneRuleFails(t *testing.T) {
	o := Options{Compile: func(jq string) (Matcher, error) {
		return holds(func([]byte) (bool, error) {
			if jq == "fails" {
				return false, errors.New("broken")
			}
			return true, nil
		}), nil
	}}
	for _, when := range []string{"fails", "holds"} {
		o.Config.Rules = append(o.Config.Rules,
			config.Rule{Name: when, When: when, Set: map[string]any{"lang": "xx"}})
	}
	if e := run(t, classifier(t, o), says("hm"))[0]; e.Lang != "xx" ||
		!slices.Contains(e.Reasons, "rule:holds") || !slices.Contains(e.Reasons, "rule-failed:fails") {
		t.Errorf("%q, %q", e.Lang, e.Reasons)
	}
}
