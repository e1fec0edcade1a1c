package claims

import (
	"math"
	"slices"
	"strings"

	"tri/lib/base/prompt"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/verdict"
)

// maxSentence is how many bytes of a sentence a verdict keeps.
const maxSentence = 300

// Account returns for each sentence of a draft which of the cited lines cover it; one that names what is in
// no source is covered by none. own are the draft's own words, the first text of src is the question, and
// traced is the result of Trace. places reports whether all references claim only that names occur, as
// those of a search do; then a sentence that repeats the question's words adds nothing.
func Account(own *evidence.Text, src safety.Sources, found []evidence.Finding,
	traced []Traced) (all []verdict.Sentence, places bool) {
	places = len(found) > 0
	for _, f := range found {
		places = places && f.Claim.Lists()
	}
	asked := evidence.FromText("the question", src.Texts[0])
	for _, p := range own.Account(found) {
		s := state(p, src, traced, asked, places)
		s.Undecided = undecided(p, s.State)
		if lacking := slices.Concat(p.Missing, p.Beside); s.State == verdict.About && len(lacking) > 0 {
			s.Undecided, s.Note = append(s.Undecided, verdict.Wording),
				text.Visible("not in the lines: "+strings.Join(lacking, ", "))
		}
		// What was said around the question is a source, but no line.
		apart := slices.DeleteFunc(slices.Clone(p.Apart), func(w string) bool {
			return slices.ContainsFunc(src.Texts[1:], evidence.Token{Kind: evidence.Name, Text: w}.In)
		})
		switch {
		case s.State == verdict.Unstated || s.State == verdict.Contradicted || places:
		case len(apart) > 0:
			s.Undecided = append(s.Undecided, verdict.Named)
			s.Note = text.Visible("not in the lines: " + strings.Join(apart, ", "))
		case len(p.Apart) > 0:
			s.State, s.Ref = verdict.Unbacked, 0
		}
		all = append(all, s)
	}
	return all, places
}

// state returns what covers a sentence.
func state(p evidence.Part, src safety.Sources, traced []Traced, asked *evidence.Text,
	places bool) verdict.Sentence {
	s := verdict.Sentence{Text: text.Visible(prompt.Cut(p.Text, maxSentence)), State: verdict.Unbacked,
		Share: math.Round(p.Share*100) / 100, Ref: p.Ref + 1}
	lost := slices.IndexFunc(traced, func(t Traced) bool { return t.To == "" && t.In(p.Text) })
	switch {
	case lost >= 0:
		s.Ref, s.Note = 0, text.Visible(traced[lost].Why(src.Refs))
		if traced[lost].Kind == Place {
			s.State = verdict.Contradicted
		}
	case p.Contrary != "":
		s.State, s.Note = verdict.Contradicted, text.Visible(p.Contrary)
	case p.About:
		s.State = verdict.About
	case p.Altered:
		s.Ref, s.Note = 0, "this block of code is in no cited file"
	case p.Empty && (places || len(p.Apart) == 0), places && asked.Has(p.Missing):
		s.State, s.Ref = verdict.Unstated, 0
	case !p.English && len(p.Lost) == 0 && places && p.Share == 0:
		s.State, s.Ref = verdict.Unstated, 0
	case !p.English && len(p.Lost) == 0:
		s.State, s.Ref, s.Note = verdict.Uncompared, 0,
			"no word tells its language: only its names and numbers are compared"
	default:
		s.Ref, s.Note = 0, text.Visible(p.String())
	}
	return s
}

// undecided lists what code does not decide of a sentence that is compared.
func undecided(p evidence.Part, state string) (out []string) {
	if state != verdict.About && state != verdict.Unbacked {
		return nil
	}
	for _, u := range []struct {
		is   bool
		name string
	}{{p.Negates, "negation"}, {p.Denied, "negation in the lines"}, {p.Bound, "condition"}} {
		if u.is {
			out = append(out, u.name)
		}
	}
	return out
}
