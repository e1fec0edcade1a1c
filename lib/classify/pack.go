package classify

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed packs/*.txt
var packFiles embed.FS

// kind is what a phrase is good for; packs/README says what each means.
type kind uint16

const (
	anywhere kind = 1 << iota
	start
	clause
	told
	end
	lead
	idle
	ack
	thanks
	more
)

var sections = map[string]kind{
	"anywhere": anywhere, "start": start, "clause": start | clause, "told": told, "end": end, "lead": lead, "idle": idle,
	"ack": ack, "thanks": ack | thanks, "more": more, "common": 0,
}

// lexicon is all phrases of the packs in use, ready to be matched: words have
// numbers, phrases are paths in a tree of words.
type lexicon struct {
	langs   []string
	ids     map[string]uint16
	common  []uint32 // by word: the languages it is frequent in, a bit each
	first   []int32  // by word: the tree below it, 0 for none
	nodes   []node
	phrases []string

	below []kind // by word: the kinds of all phrases that begin with it

	// Scripts without spaces: phrases by their first rune, the longest first.
	dense map[rune][]densePhrase
	// maybe tells most words that are in no phrase without looking them up.
	maybe [1024]uint64
}

type node struct {
	words  []uint16 // the words that may follow, and
	next   []int32  // where each leads
	kinds  kind     // of the phrase that ends here
	phrase int32
}

type densePhrase struct {
	text   string
	kinds  kind
	phrase int32
}

// anyWord is '*' in a phrase; unknown is a word that is in none.
const (
	unknown = 0
	anyWord = 1
)

// newLexicon reads the packs of the languages, all of them when none is named,
// and takes more question phrases.
func newLexicon(languages, questions []string) (*lexicon, error) {
	l := &lexicon{
		ids: map[string]uint16{"": unknown, "*": anyWord}, common: make([]uint32, 2), first: make([]int32, 2), below: make([]kind, 2),
		nodes: make([]node, 1), dense: map[rune][]densePhrase{},
	}
	have, err := packNames()
	if err != nil {
		return nil, err
	}
	if len(languages) == 0 {
		languages = have
	}
	for _, lang := range languages {
		text, err := packFiles.ReadFile("packs/" + lang + ".txt")
		if err != nil {
			return nil, fmt.Errorf("language %q: no such pack; there are: %s", lang, strings.Join(have, " "))
		}
		if err := l.addPack(lang, string(text)); err != nil {
			return nil, err
		}
	}
	for _, q := range questions {
		l.add(strings.ToLower(q), anywhere)
	}
	for _, list := range l.dense {
		slices.SortStableFunc(list, func(a, b densePhrase) int { return len(b.text) - len(a.text) })
	}
	return l, nil
}

func packNames() ([]string, error) {
	entries, err := packFiles.ReadDir("packs")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names, nil
}

func (l *lexicon) addPack(lang, text string) error {
	bit := uint32(1) << len(l.langs)
	l.langs = append(l.langs, lang)
	var section string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			if _, ok := sections[section]; !ok {
				return fmt.Errorf("packs/%s.txt:%d: no section %q", lang, i+1, section)
			}
		case section == "common":
			l.common[l.id(line)] |= bit
		case section == "":
			return fmt.Errorf("packs/%s.txt:%d: no section yet", lang, i+1)
		default:
			for _, phrase := range alternatives(line) {
				l.add(phrase, sections[section])
			}
		}
	}
	return nil
}

// alternatives writes a line of a pack out: "is/are it" is "is it" and "are it".
func alternatives(line string) []string {
	all := []string{""}
	for _, field := range strings.Fields(line) {
		var longer []string
		for _, before := range all {
			for _, word := range strings.Split(field, "/") {
				longer = append(longer, strings.TrimSpace(before+" "+word))
			}
		}
		all = longer
	}
	return all
}

// id gives a word its number.
func (l *lexicon) id(word string) uint16 {
	id, ok := l.ids[word]
	if !ok {
		id = uint16(len(l.ids))
		l.ids[word] = id
		l.common = append(l.common, 0)
		l.first = append(l.first, 0)
		l.below = append(l.below, 0)
		slot := hint([]byte(word))
		l.maybe[slot>>6] |= 1 << (slot & 63)
	}
	return id
}

// hint is a number that few words share; upper case does not change it.
func hint(word []byte) uint32 {
	n := len(word)
	h := uint32(n)*0x9E3779B1 ^ uint32(word[0]|0x20)*0x85EBCA6B ^ uint32(word[n-1]|0x20)*0xC2B2AE35 ^ uint32(word[n/2]|0x20)*0x27D4EB2F
	return h >> 16
}

// mayHave is false for most words that are in no phrase.
func (l *lexicon) mayHave(word []byte) bool {
	slot := hint(word)
	return l.maybe[slot>>6]&(1<<(slot&63)) != 0
}

// lookup is id for a word, in lower case, that may be in no phrase.
func (l *lexicon) lookup(word []byte) uint16 {
	if len(word) == 0 || !l.mayHave(word) {
		return unknown
	}
	return l.ids[string(word)]
}

// add takes one phrase of one kind.
func (l *lexicon) add(phrase string, k kind) {
	if r, _ := utf8.DecodeRuneInString(phrase); isDense(r) {
		l.addDense(r, phrase, k)
		return
	}
	at := int32(0)
	for i, word := range phraseWords(phrase) {
		id := l.id(word)
		if i == 0 {
			l.below[id] |= k
		}
		if at == 0 {
			if l.first[id] == 0 {
				l.first[id] = l.newNode()
			}
			at = l.first[id]
			continue
		}
		i := slices.Index(l.nodes[at].words, id)
		if i < 0 {
			to := l.newNode()
			n := &l.nodes[at]
			i = len(n.next)
			if i > 0 && n.words[i-1] == anyWord {
				i-- // which comes last: of two phrases of one length, the plainer is named
			}
			n.words, n.next = slices.Insert(n.words, i, id), slices.Insert(n.next, i, to)
		}
		at = l.nodes[at].next[i]
	}
	if at == 0 {
		return // nothing but punctuation
	}
	n := &l.nodes[at]
	if n.kinds == 0 {
		n.phrase = l.newPhrase(phrase)
	}
	n.kinds |= k
}

func (l *lexicon) newNode() int32 {
	l.nodes = append(l.nodes, node{})
	return int32(len(l.nodes) - 1)
}

func (l *lexicon) newPhrase(text string) int32 {
	l.phrases = append(l.phrases, text)
	return int32(len(l.phrases) - 1)
}

func (l *lexicon) addDense(r rune, phrase string, k kind) {
	for i, p := range l.dense[r] {
		if p.text == phrase {
			l.dense[r][i].kinds |= k
			return
		}
	}
	l.dense[r] = append(l.dense[r], densePhrase{phrase, k, l.newPhrase(phrase)})
}

// phraseWords cuts a phrase as words.go cuts a message.
func phraseWords(phrase string) []string {
	return strings.FieldsFunc(phrase, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("'*+", r) && phrase != "-1"
	})
}

// isDense reports whether the rune's script is written without spaces.
func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r == 'ー'
}

// match returns the length in words of the longest phrase of one of the kinds
// that begins at words[0], and where it ends; 0 when there is none.
func (l *lexicon) match(words []word, kinds kind) (int, *node) {
	id := words[0].id
	if l.below[id]&kinds == 0 {
		return 0, nil
	}
	return l.walk(l.first[id], words[1:], kinds, 1)
}

// walk is match from a node on. Of two phrases of one length the one that tells
// wins: it is there to make an exception.
func (l *lexicon) walk(at int32, rest []word, kinds kind, depth int) (n int, end *node) {
	nd := &l.nodes[at]
	if nd.kinds&kinds != 0 {
		n, end = depth, nd
	}
	if len(rest) == 0 || rest[0].breaks {
		return n, end
	}
	for i, w := range nd.words {
		if w == anyWord || w == rest[0].id && w != unknown {
			if m, e := l.walk(nd.next[i], rest[1:], kinds, depth+1); m > n || m == n && m > depth && e.kinds&kinds&told != 0 {
				n, end = m, e
			}
		}
	}
	return n, end
}
