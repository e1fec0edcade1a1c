package claims

import (
	"testing"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// TestRemarks: a sentence that shares no word with the matter is about the draft, and there a word
// suffices that elsewhere describes what the code does.
func TestRemarks(t *testing.T) {
	src := safety.Sources{
		Texts: []string{"does the watcher lose events?"},
		Refs: []draft.Ref{{Ref: "watch.go:7",
			SupportsClaim: "The queue may be wrong about an event that it dropped.",
			Quote:         "// guess whether the event is certain to be in the queue"}},
	}
	for text, doubts := range map[string]bool{
		"I wouldn't bet on it.":                            true,
		"Treat this as a hypothesis.":                      true,
		"There's a fair chance I've got this wrong.":       true,
		"This is untested.":                                true,
		"It could be that I overlooked something.":         true,
		"I can't vouch for this.":                          true,
		"Belum saya pastikan, ini sekadar dugaan.":         true,
		"Es una conjetura.":                                true,
		"確認はしていません。":                                       true,
		"It might say otherwise about an event.":           false,
		"A guess of the watcher is all there is.":          false,
		"It cannot be certain that an event is there.":     false,
		"Call it before you use the other one.":            false,
		"Be careful, and remember to close it.":            false,
		"It looks there first, and then it looks up names": false,
	} {
		if got := OverConfident("An event may be lost. "+text, draft.High, src); (len(got) > 0) != doubts {
			t.Errorf("%q beside high confidence: %v", text, got)
		}
	}
	for text, sure := range map[string]bool{
		"I'd stake my reputation on it.":           true,
		"There can be no other reason.":            true,
		"It goes without saying.":                  true,
		"That much is self-evident.":               true,
		"There's not the slightest doubt.":         true,
		"That is a fact, no ifs or buts.":          true,
		"Te lo garantizo.":                         true,
		"A definitive event ends the queue.":       false,
		"No other event is in the queue.":          false,
		"I'm not certain of it.":                   false,
		"It is not watertight.":                    false,
		"There is another one, which is the same.": false,
	} {
		for _, confidence := range []string{draft.Medium, draft.Low} {
			if got := OverConfident("An event may be lost. "+text, confidence, src); (len(got) > 0) != sure {
				t.Errorf("%q beside %s confidence: %v", text, confidence, got)
			}
		}
	}
}
