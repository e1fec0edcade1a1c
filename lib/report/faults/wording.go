package faults

import (
	"strings"

	"tri/lib/record/draft"
)

// overConfident makes the draft's wording stronger than its confidence.
func overConfident(s *subject) error {
	if s.ret.Confidence == draft.High {
		s.ret.Confidence, s.ret.ConfidenceReason = draft.Medium, "Part of it is inferred and was not read."
	}
	text := pick(s, inLanguage(sureSentences, s.ret.DraftLanguage))
	s.add(text)
	s.did("+ "+text, "draft", "confidence "+s.ret.Confidence)
	return nil
}

// scopeDrift makes the draft answer another question: it replaces the question by an unrelated one,
// or adds a proposal to rewrite everything.
func scopeDrift(s *subject) error {
	if s.rng.IntN(2) == 0 {
		text := pick(s, inLanguage(asides, s.ret.DraftLanguage))
		s.add(text)
		s.did("+ "+text, "draft")
		return nil
	}
	says := content(s.ret.DraftReply + "\n" + s.ret.SummaryForOrchestrator + "\n" +
		strings.Join(refTexts(s.ret), "\n"))
	for range 10 {
		q := pick(s, inLanguage(strangers, s.ret.DraftLanguage))
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
	text := pick(s, injections)
	if s.rng.IntN(3) == 0 {
		s.ret.DraftReply = text + "\n\n" + s.ret.DraftReply
	} else {
		s.ret.DraftReply += "\n\n" + text
	}
	s.did("+ "+text, "draft")
	return nil
}
