package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// empty are words that say nothing of a subject, by language.
var empty = map[string][]string{
	"en": strings.Fields(`the a an is are was were be been do does did can could should would will what where when which who why how that this
these those there here with from into about have has had not and but for you your our its it's it he she they them then than get got any some all
also just please help know tell does't don't doesn't isn't question anyone someone hello hey thanks thank guys team need want`),
	"id": strings.Fields(`yang dan di ke dari untuk pada apa apakah bagaimana gimana kenapa mengapa berapa mana dimana siapa kapan itu ini ada tidak
bukan bisa dapat saya kami kita kamu anda tolong mohon halo hai terima kasih dong sih nih kok kah nya atau juga sudah belum akan jadi kalau karena
dengan tentang pertanyaan dong`),
	"es": strings.Fields(`el la los las un una de del al en y o que qué es son por para con sin se su lo le como cómo cuándo dónde quién cuál no si sí está hay puede`),
	"de": strings.Fields(`der die das den dem ein eine einen und oder ist sind nicht mit von zu zum zur auf für wird werden wie wo wann wer was warum ich wir man es kann`),
	"fr": strings.Fields(`le la les un une des du de et ou est sont ne pas que qui quoi où quand comment pourquoi dans sur pour avec par il elle on nous vous je peut`),
	"pt": strings.Fields(`o a os as um uma de do da em no na e ou que é são não por para com se como onde quando quem qual isso pode há`),
}

// spoken guesses the language of text: by its script, or the one of which most small
// words stand in it; "" when there are none.
func spoken(text string) string {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "ja"
		case unicode.Is(unicode.Hangul, r):
			return "ko"
		}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return "zh"
	}
	best, most := "", 0
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for _, lang := range slices.Sorted(maps.Keys(empty)) {
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

// scope says whether the draft is about what was asked. It is slow to judge: major
// only when next to nothing of what the question names, no word and no identifier,
// stands in the draft, its summary, its evidence or the lines around it; and words
// are compared only where question and draft are in one language.
func scope(question string, ret *draft.Return, found []evidence.Finding) (drift, note string) {
	near := []string{ret.DraftReply, ret.SummaryForOrchestrator, ret.QuestionGloss}
	for i, f := range found {
		near = append(near, f.Path, strings.Join(f.Lines, "\n"), ret.EvidenceRefs[i].SupportsClaim, ret.EvidenceRefs[i].Quote)
	}
	about := evidence.FromText("the answer", strings.Join(near, "\n"))
	scene := []*evidence.Text{about} // and around what is cited
	whole := about.String()
	for _, f := range found {
		for _, t := range f.Around {
			scene = append(scene, t)
			whole += "\n" + t.String()
		}
	}
	q := evidence.FromText("the question", question)
	asked := names(q)
	said := []string(nil)
	if lang := spoken(question); lang != "" && lang != "zh" && lang == spoken(ret.DraftReply) {
		said = q.Words() // Chinese is cut too finely to tell
	}
	switch named := mentioned(asked, whole); {
	case len(said) > minTerms:
		if named > 0 || telling(q.Shared(about), len(said)) || len(q.Shared(scene...)) > 1 {
			return verdict.None, ""
		}
		asked = said
	case len(asked) < minTerms || named > 0 || len(said) > 0:
		return verdict.None, ""
	}
	return verdict.Major, fmt.Sprintf("nothing of what was asked (%s) stands in it", text.Visible(strings.Join(asked[:min(len(asked), 5)], ", ")))
}

// telling reports whether words that a question of so many has in common with an
// answer tell that they are about the same: one that stands in any talk does not.
func telling(shared []string, of int) bool {
	return len(shared) > 1 || len(evidence.Telling(shared)) > 0 || len(shared) > 0 && of <= minTerms+1
}

// names are the identifiers and the like of a question, in lower case.
func names(question *evidence.Text) (out []string) {
	for _, t := range question.Tokens() {
		if t.Kind != evidence.Number {
			out = append(out, strings.ToLower(strings.TrimLeft(t.Text, "-$./")))
		}
	}
	return out
}

// mentioned counts the names that a text has.
func mentioned(names []string, text string) (n int) {
	low := strings.ToLower(text)
	for _, w := range names {
		if strings.Contains(low, w) {
			n++
		}
	}
	return n
}

const minShared = 2 // words that two threads on one subject share

// overlap is what code can say of the other open threads: whether one is about
// the same, and whether it concluded otherwise: another figure, another bound, the
// opposite. note tells what.
func overlap(r Request) (result, note string) {
	result = verdict.NoOverlap
	own := evidence.FromText("the draft", r.Return.DraftReply+"\n\n"+r.Return.SummaryForOrchestrator)
	mine := evidence.FromText("the question", r.Question+" "+r.Return.SummaryForOrchestrator)
	for _, o := range r.Others {
		other := evidence.FromText("it", o.Summary)
		if why := own.Contrary(other); why != "" {
			return verdict.Contradicting + o.Key, why
		}
		if len(mine.Shared(other)) >= minShared {
			result = verdict.Consistent
		}
	}
	return result, ""
}
