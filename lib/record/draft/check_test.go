package draft

import (
	"strings"
	"testing"
	"tri/lib/base/text"
)

func good() *Return {
	return &Return{
		Confidence: High, ConfidenceReason: "read the code",
		SummaryForOrchestrator: "The limit is three.", DraftReply: "The limit is `MaxRetries = 3`.",
		DraftLanguage:     "en",
		EvidenceRefs:      []Ref{{Kind: KindFile, Ref: "lib/retry.go:3", SupportsClaim: "the limit is 3"}},
		InvestigatorRound: 1,
	}
}

func TestCheck(t *testing.T) {
	empty, reason := "", "beyond reach"
	for _, c := range []struct {
		name string
		hurt func(*Return)
		want []string // of the error; none: no error
	}{
		{"good", func(*Return) {}, nil},
		{"confidence", func(r *Return) { r.Confidence = "sure" }, []string{`confidence: is "sure"`}},
		{"two faults at once", func(r *Return) { r.ConfidenceReason, r.DraftLanguage = "", "English" },
			[]string{"confidence_reason: is empty", "draft_language"}},
		{"summary of three sentences", func(r *Return) {
			r.SummaryForOrchestrator = "One. Two. Three."
		}, []string{"3 sentences, at most 2"}},
		{"summary of two", func(r *Return) {
			r.SummaryForOrchestrator = "See lib/x.go:12, e.g. v1.5 there. It is three!"
		}, nil},
		{"draft of 301 words", func(r *Return) {
			r.DraftReply = strings.Repeat("word ", 301)
		}, []string{"301 words, at most 300"}},
		{"draft of 300 words", func(r *Return) { r.DraftReply = strings.Repeat("word ", 300) }, nil},
		{"draft in Chinese", func(r *Return) {
			r.DraftReply = strings.Repeat("重试次数", 151)
		}, []string{"302 words"}},
		{"no draft", func(r *Return) { r.DraftReply = " " }, []string{"draft_reply: is empty"}},
		{"no draft but an escalation", func(r *Return) {
			r.DraftReply, r.EscalationRequested, r.EscalationReason = "", true, &reason
		}, nil},
		{"escalation without reason", func(r *Return) {
			r.EscalationRequested, r.EscalationReason = true, &empty
		}, []string{"escalation_reason"}},
		{"no evidence", func(r *Return) { r.EvidenceRefs = nil }, []string{"evidence_refs: is empty"}},
		{"no evidence, low", func(r *Return) { r.EvidenceRefs, r.Confidence = nil, Low }, nil},
		{"nine references", func(r *Return) {
			for len(r.EvidenceRefs) < 9 {
				r.EvidenceRefs = append(r.EvidenceRefs, r.EvidenceRefs[0])
			}
		}, []string{"9 references, at most 8"}},
		{"a reference", func(r *Return) {
			r.EvidenceRefs[0] = Ref{Kind: "gossip", Ref: "a\nb", Quote: strings.Repeat("x", MaxQuoteRunes+1)}
		}, []string{"[0].kind", "not one line", "supports_claim: is empty", "quote: has 4001"}},
		{"triage file that escapes", func(r *Return) {
			r.ProposedTriageFile = &TriageFile{"../../x", "text"}
		}, []string{"filename"}},
		{"triage file", func(r *Return) {
			r.ProposedTriageFile = &TriageFile{"retry-limit.md", "text"}
		}, nil},
		{"round 0", func(r *Return) { r.InvestigatorRound = 0 }, []string{"investigator_round"}},
		{"notes", func(r *Return) {
			r.ResearchNotes = strings.Repeat("word ", 501)
		}, []string{"501 words, at most 500"}},
		{"questions", func(r *Return) {
			r.OpenQuestions = make([]string, 11)
		}, []string{"open_questions: has 11"}},
		{"broken bytes", func(r *Return) { r.DraftReply = "a\xff" }, []string{"not valid UTF-8"}},
		{"an enum with an escape", func(r *Return) { r.Confidence = "\x1b[2Jhigh" }, []string{`<U+001B>`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			c.hurt(r)
			err := r.Check()
			if (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %q in it", err, w)
				}
			}
		})
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "one": 1, "one, two - three.": 3, "lib/x.go:12 is it": 3, "👍 👍": 0, "重试": 1,
		"重试次数是3次": 4, "재시도 횟수": 2,
	} {
		if got := text.Words(in); got != want {
			t.Errorf("Words(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "one": 1, "One. Two.": 2, "One... then on.": 1, "It is v1.5 in main.go:3. Yes": 2, "是三次。对。": 2,
		"He said \"no.\" Then left.": 2, "Why?! Because.": 2, "...": 0,
	} {
		if got := len(text.Sentences(in)); got != want {
			t.Errorf("Sentences(%q) = %d, want %d", in, got, want)
		}
	}
}
