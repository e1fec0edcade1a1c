package relation

import (
	"slices"
	"strings"
	"unicode"
)

// Uncovered returns the indexes of those of several questions that an answer does not address: it contains
// none of the identifiers that only this question has, as a whole or as words of prose, or, of a question
// without such identifiers, none of its own words and numbers. This does not prove that a question is
// answered; it finds one that was left out. A single question is never left out, nor is one that names
// nothing ("any idea?").
func Uncovered(questions []string, answer string) (left []int) {
	if len(questions) < 2 {
		return nil
	}
	c := compare(questions, answer)
	for i, own := range c.words {
		mine := slices.DeleteFunc(slices.Clone(c.names[i]), func(id string) bool { return c.named[id] > 1 })
		if len(mine) > 0 {
			if !c.saysAny(i, mine) {
				left = append(left, i)
			}
			continue
		}
		alone := slices.DeleteFunc(slices.Clone(own), func(w string) bool { return c.worded[w] > 1 })
		if len(alone) == 0 {
			alone = own
		}
		if len(own) > 0 && len(without(alone, c.said)) == len(alone) {
			left = append(left, i)
		}
	}
	return left
}

// A comparison is several questions and an answer, each read once.
type comparison struct {
	answer  string
	said    []string       // distinctive words of the answer
	words   [][]string     // of each question, its distinctive words,
	names   [][]string     // and its identifiers
	worded  map[string]int // how many questions have a word
	named   map[string]int // and an identifier
	present []string       // identifiers that the answer contains
}

func compare(questions []string, answer string) *comparison {
	c := &comparison{answer: answer, said: distinct(answer), worded: map[string]int{},
		named: map[string]int{}}
	for _, q := range questions {
		words, names := slices.DeleteFunc(distinct(q), func(w string) bool {
			return prods[w]
		}), identifiers(q)
		c.words, c.names = append(c.words, words), append(c.names, names)
		for _, w := range words {
			c.worded[w]++
		}
		for _, id := range names {
			if c.named[id]++; c.named[id] == 1 && says(answer, id) {
				c.present = append(c.present, id)
			}
		}
	}
	return c
}

// without returns the words that are not among others.
func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}

// prods are words that ask for an answer and name nothing.
var prods = list(`any idea ideas thoughts thought hint hints help someone hello hi hey thanks ok okay sorry mean why question questions`)

// stop are words that do not distinguish questions.
var stop = strings.Fields(`a an and are as at be but by can could did do does for from has have how i if in is it its
me my of on or our so than that the their then there these they this those to was we were what when where which who
why will with would you your anyone somebody know tell please also many much long often set used use get`)

// terms returns the distinctive words of a text: in lower case, cut to their first letters so that endings
// do not matter, with names also split.
func terms(s string) (out []string) {
	cut := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	for _, w := range strings.FieldsFunc(s, cut) {
		for _, part := range append(split(w), w) {
			if part = strings.ToLower(part); slices.Contains(stop, part) || len(part) < 2 {
				continue
			}
			out = append(out, short(part))
		}
	}
	return out
}

// short cuts a word so that endings do not matter. A number has none.
func short(w string) string {
	if rs := []rune(w); len(rs) > 4 && !unicode.IsDigit(rs[0]) {
		return string(rs[:4])
	}
	return w
}

// split splits a name in camel or snake case.
func split(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower || r == '_' {
			b.WriteByte(' ')
		}
		if lower = unicode.IsLower(r); r != '_' {
			b.WriteRune(r)
		}
	}
	return strings.Fields(b.String())
}

// common are words of other languages that do not distinguish requests, beside stop.
var common = list(`der die das ein eine ich du er sie es wir ihr und oder aber ist sind war hat habe haben kann können bitte mir
mich nicht auch noch mal wie was wo wer wann warum mit von zu auf für im am den dem des el la los las un una yo tú que qué de del
al y o pero es son está están hay por favor me mi no también cómo dónde cuándo quién con para en le les des du une je tu il elle nous vous et ou mais
est sont sur dans pour avec pas aussi comment où quand qui quoi ce cette yang dan atau tapi ini itu saya aku kamu apa apakah bagaimana
gimana dimana kapan siapa dengan untuk dari ke di tidak nggak juga bisa tolong os as um uma eu você e mas são tem por não também como
onde quando quem com para em no na check look see say said want need like really still`)

func list(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[short(w)] = true
	}
	return m
}

// distinct returns the words of a text that distinguish a request from others: terms without the most
// common words of several languages, and pairs of characters in scripts without spaces; of the first maxWords
// bytes.
func distinct(s string) (out []string) {
	s = s[:min(len(s), maxWords)]
	var dense []rune
	flush := func() {
		for i := 0; i+1 < len(dense); i++ {
			if !unicode.In(dense[i], unicode.Hiragana) || !unicode.In(dense[i+1], unicode.Hiragana) {
				out = append(out, string(dense[i:i+2]))
			}
		}
		dense = dense[:0]
	}
	plain := strings.Map(func(r rune) rune {
		if isDense(string(r)) || r == 'ー' {
			dense = append(dense, r)
			return ' '
		}
		flush()
		return r
	}, s)
	flush()
	for _, w := range terms(plain) {
		if !common[w] {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
