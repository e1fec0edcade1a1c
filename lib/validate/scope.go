package validate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tri/lib/draft"
	"tri/lib/evidence"
	"tri/lib/verdict"
)

// empty are words that say nothing of a subject, by language.
var empty = map[string][]string{
	"en": strings.Fields(`the a an is are was were be been do does did can could should would will what where when which who why how that this
these those there here with from into about have has had not and but for you your our its it's it he she they them then than get got any some all
also just please help know tell does't don't doesn't isn't question anyone someone hello hey thanks thank guys team need want`),
	"id": strings.Fields(`yang dan di ke dari untuk pada apa apakah bagaimana gimana kenapa mengapa berapa mana dimana siapa kapan itu ini ada tidak
bukan bisa dapat saya kami kita kamu anda tolong mohon halo hai terima kasih dong sih nih kok kah nya atau juga sudah belum akan jadi kalau karena
dengan tentang pertanyaan dong`),
}

// terms are the words of text that may name its subject, in lower case.
func terms(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if len([]rune(w)) < 3 || slices.Contains(empty["en"], w) || slices.Contains(empty["id"], w) || slices.Contains(out, w) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// stem is what a word has in common with its other forms: retry, retries.
func stem(w string) string {
	if rs := []rune(w); len(rs) > 4 {
		return string(rs[:4])
	}
	return w
}

// spoken guesses the language of text: the one of which most small words stand
// in it, "" when there are none.
func spoken(text string) string {
	best, most := "", 0
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for _, lang := range []string{"en", "id"} {
		n := 0
		for _, w := range words {
			if slices.Contains(empty[lang], w) {
				n++
			}
		}
		if n > most {
			best, most = lang, n
		}
	}
	return best
}

const minTerms = 2 // fewer words of a question prove nothing

// scope says whether the draft is about what was asked. It is slow to judge:
// major only when nothing of what the question names, no word and no identifier,
// stands in the draft, its summary or its evidence; and words are compared only
// where question and draft are in one language.
func scope(question string, ret *draft.Return, found []evidence.Finding) (drift, note string) {
	scene := strings.Builder{} // around what is cited, where only whole words count
	about := []string{ret.DraftReply, ret.SummaryForOrchestrator, ret.QuestionGloss}
	for i, f := range found {
		scene.WriteString(f.Scene() + "\n")
		about = append(about, f.Path, strings.Join(f.Lines, "\n"), ret.EvidenceRefs[i].SupportsClaim, ret.EvidenceRefs[i].Quote)
	}
	all := strings.ToLower(strings.Join(about, "\n"))
	var asked []string
	for _, t := range evidence.Tokens(question) {
		if t.Kind != evidence.Number {
			asked = append(asked, strings.ToLower(strings.TrimLeft(t.Text, "-$./")))
		}
	}
	if lang := spoken(question); lang != "" && lang == spoken(ret.DraftReply) {
		said := evidence.Words(question)
		for _, t := range terms(question) {
			if len(evidence.Shared(t, t)) > 0 {
				asked = append(asked, t)
			}
		}
		if len(said) < minTerms+1 && len(asked) <= len(said) {
			return verdict.None, "" // "which ops do we listen for?" may be answered in other words
		}
	}
	if len(asked) < minTerms {
		return verdict.None, ""
	}
	for _, a := range asked {
		if strings.Contains(all, stem(a)) {
			return verdict.None, ""
		}
	}
	if len(evidence.Shared(strings.Join(asked, " "), scene.String())) > 0 {
		return verdict.None, ""
	}
	return verdict.Major, fmt.Sprintf("nothing of what was asked (%s) stands in it", draft.Visible(strings.Join(asked[:min(len(asked), 5)], ", ")))
}

const minShared = 2 // words that two threads on one subject share

// overlap is what code can say of the other open threads: whether one is about
// the same, and whether it concluded otherwise: another figure, another bound, the
// opposite. note tells what.
func overlap(r Request) (result, note string) {
	result = verdict.NoOverlap
	mine := terms(r.Question + " " + r.Return.SummaryForOrchestrator)
	for _, o := range r.Others {
		other := evidence.Said("it", o.Summary)
		for _, text := range []string{r.Return.DraftReply, r.Return.SummaryForOrchestrator} {
			if why := evidence.Contrary(text, other); why != "" {
				return verdict.Contradicting + o.Key, why
			}
		}
		theirs := strings.ToLower(o.Summary)
		shared := 0
		for _, w := range mine {
			if strings.Contains(theirs, stem(w)) {
				shared++
			}
		}
		if shared >= minShared {
			result = verdict.Consistent
		}
	}
	return result, ""
}
