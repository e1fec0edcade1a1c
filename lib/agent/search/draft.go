package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/text"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

const (
	maxWhole  = 20  // lines of a place that is quoted to its end
	quoted    = 3   // places whose lines the draft shows; the others are only listed
	maxWords  = 220 // of the draft, well below the limit
	maxNotes  = 12  // files listed in the notes
	leastHits = 3   // words of a language that identify it
)

// phrases are the sentences of a draft in one language.
type phrases struct {
	code            string
	intro           string // before the lines
	also            string // before the places that are only listed
	missing         string // a name in the question that occurs nowhere
	missingQuestion string
	close, loose    string // reason for the confidence
}

var speech = map[string]phrases{
	"en": {
		code:            "en",
		intro:           "I searched the code for this. These lines may answer it:",
		also:            "Also:",
		missing:         "Nothing in the code is called `%s`.",
		missingQuestion: "Nothing in the code is called %s. What is meant by it?",
		close:           "The first place defines a name of the question, but a search does not understand what it finds.",
		loose:           "It is a search: several places share words with the question, and none was read for its meaning.",
	},
	"id": {
		code:            "id",
		intro:           "Ini hasil pencarian di kode. Baris berikut mungkin menjawab:",
		also:            "Lihat juga:",
		missing:         "Tidak ada yang bernama `%s` di kode.",
		missingQuestion: "Tidak ada yang bernama %s di kode. Apa yang dimaksud?",
		close:           "Tempat pertama mendefinisikan nama dalam pertanyaan, tetapi pencarian tidak memahami isinya.",
		loose:           "Ini hanya pencarian: beberapa tempat memuat kata yang sama, dan tidak ada yang dibaca maknanya.",
	},
}

// indonesian are words that English does not have.
var indonesian = strings.Fields(`ada adalah apa apakah atau bagaimana belum berapa bisa buat dan dari dengan di dimana gimana harus ini itu jadi
kalau kami kapan karena ke kenapa kita kok mana mengapa pada saat saja sama siapa sudah tidak tolong untuk yang nya nggak gak aja banget
batas baris berkas pesan waktu disimpan dipakai dibaca`)

// language guesses the language of the answer: Indonesian if its common words are frequent,
// otherwise English.
func language(question string) string {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	hits := 0
	for _, w := range words {
		if slices.Contains(indonesian, w) {
			hits++
		}
	}
	if hits >= leastHits || hits > 0 && hits*3 >= len(words) {
		return "id"
	}
	return "en"
}

// shown removes hits that must not be quoted: those with a secret, a mention, an invisible
// character or a URL that the rules for drafts forbid, and those whose path cannot be cited.
func shown(question string, hits []codesearch.Hit) []codesearch.Hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h codesearch.Hit) bool {
		p, err := evidence.Parse(place(h))
		if err != nil || p.Path != h.Path || len(h.Words) == 0 {
			return true
		}
		return !safe(question, reference(h, h.Best()))
	})
}

// safe reports whether a reference may be shown.
func safe(question string, ref draft.Ref) bool {
	problems := safety.Check(ref.Ref+"\n"+ref.Quote,
		safety.Sources{Texts: []string{question}, Refs: []draft.Ref{ref}})
	return !slices.ContainsFunc(problems, func(p draft.Problem) bool { return p.Fatal })
}

// addCommits adds commits after the places found, each with a line in the draft.
func addCommits(ret *draft.Return, refs []draft.Ref) {
	for _, ref := range refs {
		subject, _, _ := strings.Cut(ref.Quote, "\n")
		line := fmt.Sprintf("\n\n%.12s: %s", ref.Ref, subject)
		if text.Words(ret.DraftReply+line) <= maxWords {
			ret.EvidenceRefs = append(ret.EvidenceRefs, ref)
			ret.DraftReply += line
		}
	}
}

// reference returns the evidence of a place of which lines are quoted.
func reference(h codesearch.Hit, lines []string) draft.Ref {
	words := h.Words[:min(len(h.Words), 4)]
	claim := "`" + strings.Join(words, "`, `") + "` stands here."
	if len(words) > 1 {
		claim = "`" + strings.Join(words, "`, `") + "` stand here."
	}
	return draft.Ref{Kind: draft.KindFile, Ref: place(h), SupportsClaim: claim, Quote: strings.Join(lines, "\n")}
}

// excerpts returns what may be quoted of a place, the best first: all of it, its best lines with the block
// that they begin, or these lines alone.
func excerpts(question string, h codesearch.Hit) (all [][]string) {
	for _, lines := range [][]string{h.Lines, block(h)} {
		ref := reference(h, lines)
		if len(lines) <= maxWhole && len(ref.Quote) <= draft.MaxQuoteRunes && safe(question, ref) {
			all = append(all, lines)
		}
	}
	best := h.Best()
	for len(best) > 1 && strings.TrimSpace(best[len(best)-1]) == "" {
		best = best[:len(best)-1]
	}
	return append(all, best)
}

// block returns the best lines of a place, and those to the end of the block that they begin.
func block(h codesearch.Hit) []string {
	from, to := h.BestStart-h.Start, h.BestEnd-h.Start+1
	for to > from+1 && strings.TrimSpace(h.Lines[to-1]) == "" {
		to--
	}
	least := -1
	for _, line := range h.Best() {
		if n := indentation(line); n >= 0 && (least < 0 || n < least) {
			least = n
		}
	}
	for ; to < len(h.Lines); to++ {
		if n := indentation(h.Lines[to]); n >= 0 && n <= least {
			if strings.ContainsAny(h.Lines[to][n:n+1], ")]}") {
				to++
			}
			break
		}
	}
	return h.Lines[from:to]
}

// indentation returns how many bytes of white space a line begins with; -1 if it has nothing else.
func indentation(line string) int {
	if strings.TrimSpace(line) == "" {
		return -1
	}
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

// dots stand for lines that are left out.
const dots = "..."

// reply returns the draft, the names that occur nowhere, lines of the best places verbatim and the other
// places as a list, and the evidence, which quotes the same lines.
func reply(question string, say phrases, hits []codesearch.Hit,
	missing []string) (string, []draft.Ref) {
	var b strings.Builder
	var refs []draft.Ref
	for _, name := range missing[:min(len(missing), 2)] {
		b.WriteString(fmt.Sprintf(say.missing, name) + "\n\n")
	}
	b.WriteString(say.intro)
	var rest []string
	n := 0
	for _, h := range hits {
		quote := h.Best()
		i := slices.IndexFunc(excerpts(question, h), func(lines []string) bool {
			said := b.String() + fenced(h, lines)
			quote = lines
			return n < quoted && text.Words(said) <= maxWords &&
				utf8.RuneCountInString(said) < draft.MaxDraftRunes/2 &&
				strings.Count(fenced(h, lines), "```") == 2
		})
		if i >= 0 {
			b.WriteString(fenced(h, quote))
			n++
		} else {
			rest = append(rest, place(h))
		}
		refs = append(refs, reference(h, quote))
	}
	if len(rest) > 0 {
		b.WriteString("\n\n" + say.also + " " + strings.Join(rest, ", "))
	}
	return b.String(), refs
}

// fenced returns lines of a place as a block of the draft under their numbers, with dots where the place
// continues.
func fenced(h codesearch.Hit, lines []string) string {
	at := evidence.Place{Path: h.Path, Start: h.Start, End: h.End}
	if len(lines) < len(h.Lines) {
		at.Start, at.End = h.BestStart, h.BestStart+len(lines)-1
	}
	if at.End < h.End {
		lines = append(slices.Clone(lines), dots)
	}
	return "\n\n" + at.String() + "\n```\n" + unindent(lines) + "\n```"
}

// unindent removes the white space common to all lines.
func unindent(lines []string) string {
	common, first := "", true
	for _, l := range lines {
		if strings.TrimSpace(l) == "" || l == dots {
			continue
		}
		lead := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = lead, false
		}
		for !strings.HasPrefix(lead, common) {
			common = common[:len(common)-1]
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimPrefix(l, common)
	}
	return strings.Join(out, "\n")
}

// notes describe the search.
func notes(found codesearch.Found) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Searched %d files by the words of the question.", found.Files)
	if found.Skipped > 0 {
		fmt.Fprintf(&b, " %d more were left out: the codebase is larger than the index may be.",
			found.Skipped)
	}
	for i, h := range found.Hits {
		if i == maxNotes {
			break
		}
		fmt.Fprintf(&b, "\n%s: score %.1f, %.0f%% of the question's weight", place(h), h.Score, 100*h.Cover)
	}
	return b.String()
}
