package voice

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	returns "tri/lib/record/draft"
)

// A draft of more than PartWords words is cut, into at most MaxParts messages.
const (
	PartWords = 80
	MaxParts  = 3
)

// block is a paragraph with the blank lines after it, or several that belong together.
type block struct {
	text  string
	prose bool // no code block, list or quotation in it
}

// Cuts returns the byte offsets at which a draft is cut into 2 or 3 messages of similar length, none for
// a short draft. A cut is between paragraphs, or between the sentences of a long one where there are too
// few. Code, lists and quotations stay whole, and a paragraph that announces the next stays with
// it. The last paragraph, if it is prose, is a message of its own: the point comes last.
func Cuts(draft string) []int {
	parts := min(MaxParts, (text.Words(draft)+PartWords-1)/PartWords)
	if parts < 2 || utf8.RuneCountInString(draft) > returns.MaxDraftRunes {
		return nil
	}
	blocks := blocks(draft)
	if len(blocks) < parts {
		blocks = sentences(blocks)
	}
	sizes := make([]int, len(blocks))
	for i, b := range blocks {
		sizes[i] = text.Words(b.text)
	}
	var starts []int
	switch last := len(blocks) - 1; {
	case last < 1:
		return nil
	case blocks[last].prose && sizes[last] <= PartWords:
		starts = append(balanced(sizes[:last], parts-1), last)
	default:
		starts = balanced(sizes, parts)
	}
	var cuts []int
	at := 0
	for i, b := range blocks {
		if slices.Contains(starts, i) {
			cuts = append(cuts, at)
		}
		at += len(b.text)
	}
	return cuts
}

// Fit returns the cuts of a draft, and more of them where a message would have more than limit characters (0:
// any): between paragraphs, as Cuts, so that code, lists and quotations stay whole. What is longer than limit
// itself is a message that is too long.
func Fit(draft string, cuts []int, limit int) (all []int) {
	last := 0 // where the message begins
	for _, end := range append(slices.Clone(cuts), len(draft)) {
		at := last // where the block begins
		for _, b := range blocks(draft[last:end]) {
			if limit > 0 && utf8.RuneCountInString(draft[last:at+len(b.text)]) > limit &&
				strings.TrimSpace(draft[last:at]) != "" && strings.TrimSpace(draft[at:end]) != "" {
				all, last = append(all, at), at
			}
			at += len(b.text)
		}
		if end < len(draft) {
			all, last = append(all, end), end
		}
	}
	return all
}

// balanced returns where the second and later of at most n groups of consecutive sizes begin, so that
// the sum of the groups' squares is least: groups of like size.
func balanced(sizes []int, n int) []int {
	_, starts := balance(sizes, n)
	return starts
}

func balance(sizes []int, n int) (cost int, starts []int) {
	total := 0
	for _, s := range sizes {
		total += s
	}
	cost = total * total
	if n < 2 {
		return cost, nil
	}
	first := 0
	for at := 1; at < len(sizes); at++ {
		first += sizes[at-1]
		rest, next := balance(sizes[at:], n-1)
		if c := first*first + rest; c < cost {
			cost, starts = c, []int{at}
			for _, s := range next {
				starts = append(starts, at+s)
			}
		}
	}
	return cost, starts
}

var (
	listed = lazyregexp.New(`^\s*(?:[-*+•]|\d+[.)])\s+\S`)
	fence  = lazyregexp.New("^\\s*(`{3,}|~{3,})")
)

// blocks splits a draft at blank lines outside of code blocks; the blocks joined are the draft.
func blocks(draft string) []block {
	var all []block
	var b block
	var code, list, blank bool
	end := func() {
		if b.text != "" {
			all = append(all, b)
		}
		b = block{prose: true}
	}
	end()
	announced := false // the last line with words ends with a colon, so the next paragraph belongs to it
	for line := range strings.Lines(draft) {
		words := strings.TrimSpace(line)
		if words == "" && !code {
			b.text, blank = b.text+line, true
			continue
		}
		goesOn := list && (listed.MatchString(line) || line[0] == ' ' || line[0] == '\t')
		if blank && !code && !announced && !goesOn {
			end()
			list = false
		}
		blank = false
		if fence.MatchString(line) {
			code = !code
			b.prose = false
		}
		if !code && (listed.MatchString(line) || strings.HasPrefix(words, ">")) {
			list, b.prose = list || listed.MatchString(line), false
		}
		announced = !code && (strings.HasSuffix(words, ":") || strings.HasPrefix(words, "#"))
		b.text += line
	}
	end()
	return all
}

// stops ends a sentence.
var stops = lazyregexp.New(`[.!?]["')\]”’]*\s+|[。！？][」』”]?\s*`)

// sentences splits the long prose among blocks into its sentences.
func sentences(all []block) []block {
	var out []block
	for _, b := range all {
		if !b.prose || text.Words(b.text) <= PartWords {
			out = append(out, b)
			continue
		}
		for _, s := range split(b.text) {
			out = append(out, block{s, true})
		}
	}
	return out
}

// split cuts prose into its sentences, each with the blanks after it, outside of code, links and
// quotations.
func split(prose string) (all []string) {
	whole := exact.FindAllStringIndex(prose, -1)
	last := 0
	for _, at := range stops.FindAllStringIndex(prose, -1) {
		inside := slices.ContainsFunc(whole, func(w []int) bool { return w[0] < at[1] && at[0] < w[1]-1 })
		next, _ := utf8.DecodeRuneInString(prose[at[1]:])
		if inside || at[1] == len(prose) || unicode.IsLower(next) {
			continue
		}
		all = append(all, prose[last:at[1]])
		last = at[1]
	}
	return append(all, prose[last:])
}

// back begins a paragraph that refers to the one before it.
var back = lazyregexp.New(`(?i)^\W*(?:this|that|these|those|it|its|they|so|also|but|however|then|there|therefore|` +
	`otherwise|instead|because|and|or|both|here|again|still|finally|first|second|next)\b`)

// PointLast moves the paragraph that the summary repeats to the end of a long draft. The draft stays as it
// is unless all of it is prose in at least three paragraphs, and neither the paragraph nor the one after
// it refers to its neighbour.
func PointLast(draft, summary string) string {
	all := blocks(draft)
	if len(all) < 3 || text.Words(draft) <= PartWords || slices.ContainsFunc(all, func(b block) bool {
		return !b.prose
	}) {
		return draft
	}
	want := map[string]bool{}
	for _, t := range reduce(summary) {
		want[t.norm] = true
	}
	point, most := -1, len(want)/2
	for i, b := range all {
		seen := map[string]bool{}
		for _, t := range reduce(b.text) {
			if want[t.norm] {
				seen[t.norm] = true
			}
		}
		if len(seen) > most {
			point, most = i, len(seen)
		}
	}
	last := len(all) - 1
	if point < 0 || point == last || back.MatchString(all[point].text) ||
		back.MatchString(all[point+1].text) {
		return draft
	}
	moved := append(slices.Delete(slices.Clone(all), point, point+1), all[point])
	var paragraphs []string
	for _, b := range moved {
		paragraphs = append(paragraphs, strings.TrimRight(b.text, "\n"))
	}
	return strings.Join(paragraphs, "\n\n")
}
