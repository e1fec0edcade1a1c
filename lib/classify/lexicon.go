package classify

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexicon is all phrases of the packs in use, ready to be matched: words have
// numbers, phrases are paths in a tree of words.
type lexicon struct {
	langs   []string
	lang    uint32 // bit of the language that is being added
	ids     map[string]uint16
	common  []uint32        // by word: the languages it is frequent in, a bit each
	of      []uint32        // by word: the languages that have it in a phrase
	letters map[rune]uint32 // the languages that a letter tells
	first   []int32         // by word: the tree below it, 0 for none
	nodes   []node
	phrases []string

	below []kind // by word: the kinds of all phrases that begin with it

	// Scripts without spaces: phrases by their first rune, the longest first.
	dense map[rune][]densePhrase
	// tails are ends of words that ask, by their last byte.
	tails [256][]densePhrase
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
	langs  uint32
	phrase int32
}

// anyWord is '*' in a phrase; unknown is a word that is in none.
const (
	unknown = 0
	anyWord = 1
)

// newLexicon takes the packs, and more question phrases.
func newLexicon(packs []pack, questions []string) (*lexicon, error) {
	const words = 8 << 10 // about as many as ours have
	l := &lexicon{
		ids: make(map[string]uint16, words), common: make([]uint32, 2, words), of: make([]uint32, 2, words), letters: map[rune]uint32{},
		first: make([]int32, 2, words), below: make([]kind, 2, words),
		nodes: make([]node, 1, 2*words), phrases: make([]string, 0, words), dense: make(map[rune][]densePhrase, 256),
	}
	l.ids[""], l.ids["*"] = unknown, anyWord
	for _, p := range packs {
		if err := l.addPack(p); err != nil {
			return nil, err
		}
	}
	l.lang = 0
	for _, q := range questions {
		if err := l.add(string(normal([]byte(strings.ToLower(q)))), anywhere); err != nil {
			return nil, err
		}
	}
	for _, list := range l.dense {
		slices.SortStableFunc(list, func(a, b densePhrase) int { return len(b.text) - len(a.text) })
	}
	return l, nil
}

// id gives a word its number.
func (l *lexicon) id(word string) uint16 {
	id, ok := l.ids[word]
	if !ok {
		id = uint16(len(l.ids))
		l.ids[word] = id
		l.common = append(l.common, 0)
		l.of = append(l.of, 0)
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

// add takes one phrase of one kind. A phrase of several words counts without
// accents too.
func (l *lexicon) add(phrase string, k kind) error {
	r, _ := utf8.DecodeRuneInString(phrase)
	switch {
	case len(l.ids) > 60000:
		return errors.New("there are too many words in the packs") // a number has 16 bits
	case len(phrase) > 200:
		return errors.New("is too long for a phrase")
	case isDense(r):
		l.addDense(r, phrase, k)
		return nil
	case r == '-' && len(phrase) > 2:
		return l.addTail(folded(phrase[1:]), k)
	}
	words := phraseWords(phrase)
	plain, accents := words, false
	for i, w := range words {
		if p, ok := bare(w); ok && len(words) > 1 {
			if !accents {
				plain, accents = slices.Clone(words), true
			}
			plain[i] = p
		}
	}
	l.addWords(words, phrase, k)
	if accents {
		l.addWords(plain, phrase, k)
	}
	return nil
}

func (l *lexicon) addWords(words []string, phrase string, k kind) {
	at := int32(0)
	for i, word := range words {
		id := l.id(word)
		l.of[id] |= l.lang
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
	l.dense[r] = l.addTo(l.dense[r], phrase, phrase, k)
}

// addTail takes the end of a word.
func (l *lexicon) addTail(tail string, k kind) error {
	if k != anywhere && k != end {
		return errors.New("the end of a word, as -나요, can only stand in [anywhere] and [end]")
	}
	last := tail[len(tail)-1]
	l.tails[last] = l.addTo(l.tails[last], tail, "-"+tail, k)
	return nil
}

func (l *lexicon) addTo(list []densePhrase, text, name string, k kind) []densePhrase {
	i := slices.IndexFunc(list, func(p densePhrase) bool { return p.text == text })
	if i < 0 {
		i, list = len(list), append(list, densePhrase{text: text, phrase: l.newPhrase(name)})
	}
	list[i].kinds |= k
	list[i].langs |= l.lang
	return list
}

// phraseWords cuts a phrase as words.go cuts a message.
func phraseWords(phrase string) []string {
	words := strings.FieldsFunc(phrase, func(r rune) bool {
		if r < utf8.RuneSelf {
			return classes[r] != letter && r != '\'' && r != '*' && r != '+' && phrase != "-1"
		}
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '’'
	})
	for i, w := range words {
		words[i] = folded(w)
	}
	return words
}

// folded is a word as wideWord has it.
func folded(word string) string {
	plain := true
	for i := 0; plain && i < len(word); i++ {
		plain = word[i] < utf8.RuneSelf && (word[i] < 'A' || word[i] > 'Z')
	}
	if plain {
		return word
	}
	return strings.Map(func(r rune) rune {
		if r == '’' {
			return '\''
		}
		if r = foldRune(r); r == 0 {
			return -1
		}
		return r
	}, word)
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
