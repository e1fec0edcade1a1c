package draft

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// Confidences of a return.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Limits well above what an honest return needs.
const (
	MaxDraftRunes    = 6000  // characters of a text that is posted, also of an edited one
	MaxNoteRunes     = 12000 // research_notes, content of a triage file
	MaxSentenceRunes = 1000  // fields of one or two sentences
	MaxRefRunes      = 500
	MaxQuoteRunes    = 4000
	MaxQuestions     = 10
	MaxRound         = 9
)

// faults collects all faults of a return, field by field.
type faults []string

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, field+": "+fmt.Sprintf(format, args...))
}

// text checks a string's encoding, length and, if needed, presence.
func (f *faults) text(field, s string, most int, needed bool) {
	if needed && strings.TrimSpace(s) == "" {
		f.add(field, "is empty")
	}
	if !utf8.ValidString(s) {
		f.add(field, "is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(s); n > most {
		f.add(field, "has %d characters, at most %d", n, most)
	}
}

// Check reports every fault in the shape and limits of r in one error, so that an agent can
// correct all of them at once. Nil means that r may be validated, not that it is true.
func (r *Return) Check() error {
	var f faults
	if !slices.Contains([]string{High, Medium, Low}, r.Confidence) {
		f.add("confidence", "is %q, want high, medium or low", text.Line(r.Confidence, 40))
	}
	f.text("confidence_reason", r.ConfidenceReason, MaxSentenceRunes, true)
	f.text("summary_for_orchestrator", r.SummaryForOrchestrator, MaxSentenceRunes, true)
	if n := len(text.Sentences(r.SummaryForOrchestrator)); n > MaxSummarySentences {
		f.add("summary_for_orchestrator", "has %d sentences, at most %d", n, MaxSummarySentences)
	}
	f.text("draft_reply", r.DraftReply, MaxDraftRunes, !r.EscalationRequested)
	if n := text.Words(r.DraftReply); n > MaxDraftWords {
		f.add("draft_reply", "has %d words, at most %d", n, MaxDraftWords)
	}
	if !language.MatchString(r.DraftLanguage) {
		f.add("draft_language", "is %q, want a language code or mixed", text.Line(r.DraftLanguage, 40))
	}
	if _, err := Cut(r.DraftReply, r.Cuts); err != nil {
		f = append(f, err.Error())
	}
	r.checkRefs(&f)
	r.checkRest(&f)
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("return: %s", strings.Join(f, "; "))
}

var language = lazyregexp.New(`^(?:mixed|[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)$`)

var kinds = []string{KindFile, KindLogQuery, KindGitCommit, KindExternalDoc, KindMemory, KindTriageFile}

func (r *Return) checkRefs(f *faults) {
	n := len(r.EvidenceRefs)
	if n > MaxRefs {
		f.add("evidence_refs", "has %d references, at most %d", n, MaxRefs)
	}
	if n == 0 && r.Confidence != Low {
		f.add("evidence_refs", "is empty; without evidence confidence is low")
	}
	for i, ref := range r.EvidenceRefs[:min(n, MaxRefs)] {
		name := fmt.Sprintf("evidence_refs[%d]", i)
		if !slices.Contains(kinds, ref.Kind) {
			f.add(name+".kind", "is %q, want one of %s", text.Line(ref.Kind, 40), strings.Join(kinds, " "))
		}
		f.text(name+".ref", ref.Ref, MaxRefRunes, true)
		if strings.ContainsAny(ref.Ref, "\n\x00") {
			f.add(name+".ref", "is not one line")
		}
		f.text(name+".supports_claim", ref.SupportsClaim, MaxSentenceRunes, true)
		f.text(name+".quote", ref.Quote, MaxQuoteRunes, false)
	}
}

var filename = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *Return) checkRest(f *faults) {
	if t := r.ProposedTriageFile; t != nil {
		if !filename.MatchString(t.Filename) {
			f.add("proposed_triage_file.filename",
				"is %q, want a plain name of letters, digits, dot, dash and underscore",
				text.Line(t.Filename, 40))
		}
		f.text("proposed_triage_file.content", t.Content, MaxNoteRunes, true)
	}
	if n := len(r.OpenQuestions); n > MaxQuestions {
		f.add("open_questions", "has %d, at most %d", n, MaxQuestions)
	}
	for i, q := range r.OpenQuestions[:min(len(r.OpenQuestions), MaxQuestions)] {
		f.text(fmt.Sprintf("open_questions[%d]", i), q, MaxSentenceRunes, false)
	}
	if r.EscalationRequested && (r.EscalationReason == nil || strings.TrimSpace(*r.EscalationReason) == "") {
		f.add("escalation_reason", "is missing though escalation_requested is true")
	}
	if r.EscalationReason != nil {
		f.text("escalation_reason", *r.EscalationReason, MaxSentenceRunes, false)
	}
	if r.InvestigatorRound < 1 || r.InvestigatorRound > MaxRound {
		f.add("investigator_round", "is %d, want 1 to %d", r.InvestigatorRound, MaxRound)
	}
	f.text("research_notes", r.ResearchNotes, MaxNoteRunes, false)
	if n := text.Words(r.ResearchNotes); n > MaxNotesWords {
		f.add("research_notes", "has %d words, at most %d", n, MaxNotesWords)
	}
	f.text("question_gloss", r.QuestionGloss, MaxNoteRunes, false)
}

// Problem is a fault in a text. A text with a fatal one must not be posted.
type Problem struct {
	Name  string // empty, size, encoding, secret, mention, control, injection, url
	Note  string // for a person; never contains the secret itself
	Fatal bool
}
