package claims

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// AIPhrases lists phrases that make text read as written by a machine: offers of help, apologies,
// disclaimers. The phrases of all languages, also for the functions below, are in lexicon/. Code and
// quoted lines are not checked: they are the codebase's words, not the writer's.
func AIPhrases(body string, s safety.Sources) []string {
	own := safety.OwnWords(body, s, false)
	r := read(own)
	found := r.all(smell)
	for lang := range r.langs {
		for _, at := range r.spans[opener.of(lang)] {
			mark, n := utf8.DecodeRuneInString(r.text[at.to:])
			if strings.TrimSpace(r.text[:at.from]) == "" && (mark == '!' || mark == '！') {
				found = append(found, r.quote(at.from, at.to+n))
			}
		}
	}
	return found
}

// OverConfident lists words of text that do not fit its confidence: certainty with medium or low confidence,
// guessing with high.
func OverConfident(text, confidence string, s safety.Sources) []string {
	r := read(safety.OwnWords(text, s, false))
	switch confidence {
	case draft.High:
		return append(r.all(shaky), r.remarks(s, doubts)...)
	case draft.Low:
		return slices.Concat(r.all(certain), r.all(surer), r.remarks(s, assures))
	}
	return append(r.all(certain), r.remarks(s, assures)...)
}

// risks are the signs of a risky text: words of the lexicon, and commands, which are the same in every
// language.
var risks = []struct {
	name     string
	words    func(r *reading, lang int) (string, bool)
	commands []*lazyregexp.Pattern
}{
	{"a change of code", func(r *reading, lang int) (string, bool) {
		return r.firstOf(r.advised(lang, change))
	}, safety.Compile("```(?:diff|patch)\\b", `\bgit (?:apply|am|cherry-pick|merge)\b`)},
	{"a rollback", func(r *reading, lang int) (string, bool) {
		return r.firstOf(slices.Concat(r.spans[rollback.of(lang)], r.advised(lang, revert)))
	}, safety.Compile(`\bgit (?:revert|reset)\b`, `\bkubectl rollout undo\b`, `\bhelm rollback\b`)},
	{"deletion of data", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, r.advised(lang, remove), data)
	}, safety.Compile(
		`\bdrop (?:the )?(?:table|database|index|schema|collection|column)\b`, `\btruncate (?:the )?\w+`,
		`\bdelete from\b`, `\brm -\w*[rf]`, `\bflush(?:all|db)\b`,
		`\bkubectl delete\b`, `\bdocker (?:volume|system|image) (?:rm|prune)\b`,
		`\bgit push (?:\S+ )*(?:--force|-f)\b`, `\bgit clean -\w*f`, `\bterraform destroy\b`,
		`\bmkfs\b`, `\bdd if=`,
	)},
	{"work on production", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, r.advised(lang, operate), production)
	}, safety.Compile(`\b(?:systemctl|service) (?:restart|stop|kill)\b|\bsystemctl \w+ (?:restart|stop)\b`,
		`\bkubectl (?:rollout|scale|drain|cordon|apply|exec)\b`)},
	{"an action for one customer", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, slices.Concat(r.spans[act.of(lang)], r.advised(lang, restrict)), customer)
	}, nil},
	{"handling of credentials", func(r *reading, lang int) (string, bool) {
		if found, ok := r.beside(lang, r.spans[handle.of(lang)], secret); ok {
			return found, ok
		}
		return r.beside(lang, r.advised(lang, weaken), guard)
	}, safety.Compile(`\bchmod (?:-r )?0?777\b`, `--no-verify\b|--insecure\b`,
		`\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b`, `\bsudo\b`)},
}

func (r *reading) firstOf(spans []span) (string, bool) {
	if len(spans) == 0 {
		return "", false
	}
	return r.quote(spans[0].from, spans[0].to), true
}

// Risk lists why text needs high confidence: it tells someone to change code, roll back, delete, touch
// production, act for one customer or handle credentials. A description of what code does is not advice; a
// command is, unless it is verbatim in the evidence.
func Risk(text string, s safety.Sources) []string {
	own := strings.ToLower(safety.OwnWords(text, s, true))
	r := read(own)
	var found []string
	for _, risk := range risks {
		what := safety.Matches(risk.commands, own)
		for lang := 0; lang < r.langs && len(what) == 0; lang++ {
			if words, ok := risk.words(r, lang); ok {
				what = []string{words}
			}
		}
		if len(what) > 0 {
			found = append(found, risk.name+" ("+what[0]+")")
		}
	}
	return found
}
