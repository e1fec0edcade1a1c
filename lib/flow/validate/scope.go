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

// empty are words that carry no subject, by language.
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

// spoken guesses the language of text by its script, or by which language's function words occur most; ""
// if none do.
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
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
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

const minTerms = 2 // a question with fewer words proves nothing

// scope reports whether the draft is about the question. It is conservative: drift is major only if almost
// nothing that the question names, no word and no identifier, occurs in the draft, its summary, its
// evidence or the lines around it. Words are compared only if question and draft are in the same language.
func scope(question string, ret *draft.Return, found []evidence.Finding) (drift, note string) {
	near := []string{ret.DraftReply, ret.SummaryForOrchestrator, ret.QuestionGloss}
	for i, f := range found {
		near = append(near, f.Path, strings.Join(f.Lines, "\n"), ret.EvidenceRefs[i].SupportsClaim,
			ret.EvidenceRefs[i].Quote)
	}
	about := evidence.FromText("the answer", strings.Join(near, "\n"))
	scene := []*evidence.Text{about} // and the lines around the citations
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
		said = q.Words() // Chinese is segmented too finely to compare
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
	return verdict.Major, fmt.Sprintf("nothing of what was asked (%s) stands in it",
		text.Visible(strings.Join(asked[:min(len(asked), 5)], ", ")))
}

// telling reports whether the words that an answer shares with a question of that many words show that
// both are about the same subject. A single common word does not.
func telling(shared []string, of int) bool {
	return len(shared) > 1 || len(evidence.Informative(shared)) > 0 || len(shared) > 0 && of <= minTerms+1
}

// names returns the identifiers of a question, numbers excluded, in lower case.
func names(question *evidence.Text) (out []string) {
	for _, t := range question.Tokens() {
		if t.Kind != evidence.Number {
			out = append(out, strings.ToLower(strings.TrimLeft(t.Text, "-$./")))
		}
	}
	return out
}

// mentioned counts the names that occur in a text.
func mentioned(names []string, text string) (n int) {
	low := strings.ToLower(text)
	for _, w := range names {
		if strings.Contains(low, w) {
			n++
		}
	}
	return n
}

const minShared = 2 // words shared by two threads on one subject

// overlap compares the draft with the other open threads: whether one is on the same subject, and whether
// its conclusion differs: another figure, another bound, the opposite. note gives the difference.
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
