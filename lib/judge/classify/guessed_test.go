package classify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
)

// TestGuessedThreads: what tri-thread guesses changes no judgement, however wrong
// it is; here it takes a whole dialogue for one conversation.
func TestGuessedThreads(t *testing.T) {
	files, err := filepath.Glob("testdata/talks/*.tsv")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d dialogues, %v", len(files), err)
	}
	c := classifier(t, Options{Config: config.Classifier{BotID: "tri"}})
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		body := string(text)
		if strings.HasPrefix(body, "helpers ") || strings.HasPrefix(body, "members ") {
			_, body, _ = strings.Cut(body, "\n")
		}
		var bare, guessed strings.Builder
		lines := parseTalk(t, body)
		for _, l := range lines {
			bare.WriteString(l.event())
			if l.thread == "" {
				l.thread, l.inferred = lines[0].id, true
			}
			guessed.WriteString(l.event())
		}
		want := run(t, c, bare.String())
		for i, got := range run(t, c, guessed.String()) {
			if got.Classification != want[i].Classification ||
				fmt.Sprint(got.Reasons) != fmt.Sprint(want[i].Reasons) {
				t.Errorf("%s: %q is %s %v, without a guess %s %v", filepath.Base(name), lines[i].text,
					got.Classification, got.Reasons, want[i].Classification, want[i].Reasons)
			}
		}
	}
}

// TestGuessedThreadOfAQuestion: a question that was taken for part of another
// conversation still opens the platform's thread in which people answer it.
func TestGuessedThreadOfAQuestion(t *testing.T) {
	const now = 1_700_000_000
	said := []utterance{
		{at: now, id: "0", thread: "0", inferred: true, from: "ann", text: "lunch at noon"},
		{at: now + 60, id: "1", thread: "0", inferred: true, from: "bob", text: "why is the build red?"},
		{at: now + 90, id: "2", thread: "1", from: "ann", text: "which one do you mean?"},
		{at: now + 120, id: "3", thread: "1", from: "bob", text: "the nightly one, on arm"},
	}
	var in strings.Builder
	for i, l := range said {
		l.seq = int64(i) * 200
		in.WriteString(l.event())
	}
	got := run(t, classifier(t, Options{}), in.String())
	if !got[3].MentionsThreadWithInflight || got[3].Classification != "actionable" {
		t.Errorf("the answer to what was asked back is %s %v, in flight: %t", got[3].Classification,
			got[3].Reasons, got[3].MentionsThreadWithInflight)
	}
}

// TestTeamTells: a team member who informs their team asks nothing.
func TestTeamTells(t *testing.T) {
	const now, hour = 1_700_000_000, 60 * 60
	said := []utterance{
		{at: now, from: "mira",
			text: "morning all, back from two weeks off. 214 unread threads, I will pretend I did not see them"},
		{at: now + hour, from: "bayu", text: "why is the build red?"},
		{at: now + hour + 60, from: "mira", text: "bayu: the runner has no disk left"},
		{at: now + 6*hour, from: "bayu",
			text: "schedule of next week: haruka until Wednesday, then me, and mira on the weekend"},
		{at: now + 30*hour, from: "bayu",
			text: "maintenance of the network tonight from one to three, nothing will be noticed"},
	}
	want := []string{"ambient", "actionable", "ambient", "ambient", "ambient"}
	var in strings.Builder
	for i, l := range said {
		l.seq, l.id = int64(i)*200, fmt.Sprint(i)
		in.WriteString(l.event())
	}
	for i, e := range run(t, classifier(t, Options{}), in.String()) {
		if e.Classification != want[i] {
			t.Errorf("%q is %s %v, want %s", said[i].text, e.Classification, e.Reasons, want[i])
		}
	}
}

// TestJoiningParticle: の asks at the end of a sentence, and joins within.
func TestJoiningParticle(t *testing.T) {
	for text, want := range map[string]bool{
		"どうするの": true, "これ見たの。": true, "もう食べたの！": true,
		"runbook の gateway を見ました": false, "runbook の「gateway」を見ました": false, "キャッシュが温まるまでの一時的なものでした": false,
	} {
		e := run(t, classifier(t, Options{}),
			utterance{at: 1_700_000_000, id: "1", from: "a", text: text}.event())[0]
		if e.IsQuestion != want {
			t.Errorf("%q: question %t %v", text, e.IsQuestion, e.Reasons)
		}
	}
}
