package faults

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/draft"
)

//go:embed phrases.txt
var phrases string

// lists are the sections of phrases.txt.
var lists = text.Sections(phrases)

// inLanguage returns a list in the draft's language, or the English one.
func (s *subject) inLanguage(name string) []string {
	lang, _, _ := strings.Cut(strings.ToLower(s.ret.DraftLanguage), "-")
	if l := lists[name+" "+lang]; l != nil {
		return l
	}
	return lists[name+" en"]
}

// overConfident makes the draft's wording stronger than its confidence.
func overConfident(s *subject) error {
	if s.ret.Confidence == draft.High {
		s.ret.Confidence, s.ret.ConfidenceReason = draft.Medium, "Part of it is inferred and was not read."
	}
	text := pick(s, s.inLanguage("sure"))
	s.add(text)
	s.did("+ "+text, "draft", "confidence "+s.ret.Confidence)
	return nil
}

// scopeDrift makes the draft answer another question: it replaces the question by an unrelated one,
// or adds a proposal to rewrite everything.
func scopeDrift(s *subject) error {
	if s.rng.IntN(2) == 0 {
		text := pick(s, s.inLanguage("aside"))
		s.add(text)
		s.did("+ "+text, "draft")
		return nil
	}
	says := content(s.ret.DraftReply + "\n" + s.ret.SummaryForOrchestrator + "\n" +
		strings.Join(refTexts(s.ret), "\n"))
	for range 10 {
		q := pick(s, s.inLanguage("stranger"))
		if shared(content(q), says) == 0 {
			s.did(s.ret.Question+" → "+q, "question")
			s.ret.Question, s.ret.QuestionGloss = q, ""
			return nil
		}
	}
	return noPlace("every question tried has a word of the draft")
}

// injection adds an order to the reader to the draft.
func injection(s *subject) error {
	text, err := strconv.Unquote(pick(s, lists["injection"]))
	if err != nil {
		return fmt.Errorf("phrases.txt: %w", err)
	}
	if s.rng.IntN(3) == 0 {
		s.ret.DraftReply = text + "\n\n" + s.ret.DraftReply
	} else {
		s.ret.DraftReply += "\n\n" + text
	}
	s.did("+ "+text, "draft")
	return nil
}
