package draft

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

const (
	maxHedges    = 3  // in a draft, however long
	hedgeEvery   = 25 // words that one hedge is allowed
	maxApologies = 1
)

// Smell lists the phrases by which text reads as written by a machine: offers of
// help, hedging, apology, disclaimers (triage §3.4, check 7). The phrases of all
// languages are in lexicon/, as those of the functions below; code and quoted
// lines are the codebase's words, not the writer's.
func Smell(text string, s Sources) []string {
	own := ownWords(text, s, false)
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
	if n := r.count(hedge); n > maxHedges && n*hedgeEvery > Words(own) {
		found = append(found, "hedging in every sentence")
	}
	if r.count(apology) > maxApologies {
		found = append(found, "more than one apology")
	}
	return found
}

// Misjudged lists the words of text that do not fit its confidence: certainty
// beside medium or low, guessing beside high (triage §3.4, check 3).
func Misjudged(text, confidence string, s Sources) []string {
	r := read(ownWords(text, s, false))
	switch confidence {
	case High:
		return append(r.all(shaky), r.remarks(s, doubts)...)
	case Low:
		return slices.Concat(r.all(certain), r.all(surer), r.remarks(s, assures))
	}
	return append(r.all(certain), r.remarks(s, assures)...)
}

// risks are what makes a text risky: words of the lexicon, and commands, which
// are the same in every language.
var risks = []struct {
	name     string
	words    func(r *reading, lang int) (string, bool)
	commands []*pattern.Pattern
}{
	{"a change of code", func(r *reading, lang int) (string, bool) {
		return r.firstOf(r.advised(lang, change))
	}, compile("```(?:diff|patch)\\b", `\bgit (?:apply|am|cherry-pick|merge)\b`)},
	{"a rollback", func(r *reading, lang int) (string, bool) {
		return r.firstOf(slices.Concat(r.spans[rollback.of(lang)], r.advised(lang, revert)))
	}, compile(`\bgit (?:revert|reset)\b`, `\bkubectl rollout undo\b`, `\bhelm rollback\b`)},
	{"deletion of data", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, r.advised(lang, remove), data)
	}, compile(
		`\bdrop (?:the )?(?:table|database|index|schema|collection|column)\b`, `\btruncate (?:the )?\w+`, `\bdelete from\b`, `\brm -\w*[rf]`, `\bflush(?:all|db)\b`,
		`\bkubectl delete\b`, `\bdocker (?:volume|system|image) (?:rm|prune)\b`, `\bgit push (?:\S+ )*(?:--force|-f)\b`, `\bgit clean -\w*f`, `\bterraform destroy\b`, `\bmkfs\b`, `\bdd if=`,
	)},
	{"work on production", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, r.advised(lang, operate), production)
	}, compile(`\b(?:systemctl|service) (?:restart|stop|kill)\b|\bsystemctl \w+ (?:restart|stop)\b`, `\bkubectl (?:rollout|scale|drain|cordon|apply|exec)\b`)},
	{"an action for one customer", func(r *reading, lang int) (string, bool) {
		return r.beside(lang, slices.Concat(r.spans[act.of(lang)], r.advised(lang, restrict)), customer)
	}, nil},
	{"handling of credentials", func(r *reading, lang int) (string, bool) {
		if found, ok := r.beside(lang, r.spans[handle.of(lang)], secret); ok {
			return found, ok
		}
		return r.beside(lang, r.advised(lang, weaken), guard)
	}, compile(`\bchmod (?:-r )?0?777\b`, `--no-verify\b|--insecure\b`, `\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b`, `\bsudo\b`)},
}

func (r *reading) firstOf(spans []span) (string, bool) {
	if len(spans) == 0 {
		return "", false
	}
	return r.quote(spans[0].from, spans[0].to), true
}

// Risk lists why text needs high confidence: it tells somebody to change code,
// roll back, delete, touch production, act for one customer or handle
// credentials (triage §3.4, check 6). A description of what the code does is no
// advice; a command is, unless it stands in the evidence to the letter.
func Risk(text string, s Sources) []string {
	own := strings.ToLower(ownWords(text, s, true))
	r := read(own)
	var found []string
	for _, risk := range risks {
		what := matches(risk.commands, own)
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

func compile(exprs ...string) []*pattern.Pattern {
	out := make([]*pattern.Pattern, len(exprs))
	for i, e := range exprs {
		out[i] = pattern.New(`(?i)` + e)
	}
	return out
}

// matches lists what stands in text, each once, short enough for a note.
func matches(res []*pattern.Pattern, text string) []string {
	var found []string
	for _, re := range res {
		if m := re.FindString(text); m != "" {
			m = `"` + clip(strings.Join(strings.Fields(m), " ")) + `"`
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	return found
}

var (
	fences = pattern.New("(?s)```[^\n]*\n(.*?)(?:```|$)")
	ticks  = pattern.New("`[^`\n]+`")
)

// ownWords is text without the lines that stand in the evidence to the letter
// and, unless commands matter, without code.
func ownWords(text string, s Sources, commands bool) string {
	text = strings.NewReplacer("’", "'", "‘", "'").Replace(text)
	quoted := map[string]bool{}
	for _, r := range s.Refs {
		for _, l := range strings.Split(r.Quote, "\n") {
			if l = strings.TrimSpace(l); len(l) > 3 {
				quoted[l] = true
			}
		}
	}
	var kept []string
	for _, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "> "))
		if quoted[t] || quoted[strings.Trim(t, "`")] {
			l = ""
		}
		kept = append(kept, l)
	}
	text = strings.Join(kept, "\n")
	if commands {
		return text
	}
	text = ticks.ReplaceAllString(fences.ReplaceAllString(text, "\n"), " x ")
	return text
}
