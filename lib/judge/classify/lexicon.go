package classify

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexicon holds all phrases of the packs in use: words are numbered, and phrases are paths in a tree of
// words. It is built at every start of the program, so it avoids an allocation per phrase.
type lexicon struct {
	langs []string
	lang  uint32 // bit of the language being added
	dictionary
	common  []uint32        // by word: the languages in which it is frequent, a bit each
	of      []uint32        // by word: the languages with a phrase that contains it
	tell    []telling       // by word: weights from both
	letters map[rune]uint32 // the languages that a letter indicates
	first   []int32         // by word: the node of phrases that begin with it, 0 for none
	below   []kind          // by word: the kinds of these phrases
	nodes   []node
	phrases []int32 // phrases that ask: a node, or if negative the name -1-n
	names   []string
	line    line  // being added
	fans    []fan // for nodes with many children

	// dense holds phrases of scripts without spaces by their first rune, longest first.
	dense map[rune][]densePhrase
	// tails are word endings that ask, by their last byte.
	tails [256][]densePhrase
}

// node is a word that follows those of its parents.
type node struct {
	parent, child, next int32  // child: first possible next word; next: sibling
	star                int32  // child '*'
	follow              uint64 // a bit, by number, for each child, including '*'
	phrase              int32  // phrase that asks and ends here
	word                uint16
	fan                 uint16 // 1 + index in fans; 0 if there are few children
	kinds               kind   // of the phrase that ends here
}

type densePhrase struct {
	text   string
	kinds  kind
	langs  uint32
	phrase int32
}

// anyWord is '*' in a phrase; unknown is a word in no phrase.
const (
	unknown = 0
	anyWord = 1
)

// maxPhrases bounds the number of words, and of phrases: with the other reasons they have 16-bit numbers.
const maxPhrases = 60000

// maxLine is the maximum length of a line of a pack, in bytes.
const maxLine = 5000

// Initial capacities for words and nodes; the built-in packs need a little less.
const roomWords, roomNodes = 7000, 34000

// newLexicon builds a lexicon from the packs and additional question phrases.
func newLexicon(packs []pack, questions []string) (*lexicon, error) {
	const words, nodes = roomWords, roomNodes
	l := &lexicon{
		dictionary: newDictionary(words), letters: map[rune]uint32{},
		common: make([]uint32, 2, words), of: make([]uint32, 2, words), first: make([]int32, 2, words),
		below: make([]kind, 2, words),
		nodes: make([]node, 1, nodes), phrases: make([]int32, 0, nodes),
		dense: make(map[rune][]densePhrase, 512),
	}
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
	l.fanOut()
	l.tell = l.tellings()
	for _, list := range l.dense {
		slices.SortStableFunc(list, func(a, b densePhrase) int { return len(b.text) - len(a.text) })
	}
	return l, nil
}

// id returns the number of a word, assigning one if needed.
func (l *lexicon) id(word string) uint16 {
	switch word {
	case "":
		return unknown
	case "*":
		return anyWord
	}
	key := spelled(word)
	id := l.find(key, []byte(word))
	if id == unknown {
		id = l.dictionary.add(word, key)
		l.common = append(l.common, 0)
		l.of = append(l.of, 0)
		l.first = append(l.first, 0)
		l.below = append(l.below, 0)
	}
	return id
}

// lookup is id for a lower-case word that may be in no phrase.
func (l *lexicon) lookup(word []byte) uint16 { return l.find(spelled(word), word) }

// add adds a line of a pack: "is/are it" means both phrases. Phrases of several words are also added
// without accents.
func (l *lexicon) add(line string, k kind) error {
	if len(l.words) > maxPhrases || len(l.phrases) > maxPhrases {
		return errors.New("there are too many phrases in the packs")
	}
	if len(line) > maxLine {
		return errors.New("is too long")
	}
	if r, _ := utf8.DecodeRuneInString(line); isDense(r) || r == '-' && len(line) > 2 {
		return l.addLetters(line, k)
	}
	accents, err := l.readLine(line, false)
	if err != nil {
		return err
	}
	l.plant(0, 0, 0, k)
	if accents {
		if _, err := l.readLine(line, true); err != nil {
			return err
		}
		l.plant(0, 2, 0, k)
	}
	return nil
}

// line is a parsed line of a pack: fields of choices of words. fields and choices hold end offsets into
// the next slice.
type line struct {
	fields  []int // ends in choices
	choices []int // ends in words
	words   []uint16
}

// readLine parses a line, with plain set without its accents, and reports whether it has any.
func (l *lexicon) readLine(text string, plain bool) (accents bool, err error) {
	ln := &l.line
	ln.fields, ln.choices, ln.words = ln.fields[:0], ln.choices[:0], ln.words[:0]
	many, since := 1, 0
	for field := range strings.FieldsSeq(text) {
		for choice := range strings.SplitSeq(field, "/") {
			if isPlain(choice) {
				ln.words = append(ln.words, l.id(choice))
			} else {
				for _, w := range phraseWords(choice) {
					b, has := bare(w)
					accents = accents || has
					if plain && has {
						w = b
					}
					ln.words = append(ln.words, l.id(w))
				}
			}
			ln.choices = append(ln.choices, len(ln.words))
		}
		ln.fields = append(ln.fields, len(ln.choices))
		if many *= len(ln.choices) - since; many > 5000 {
			return false, errors.New("stands for too many phrases")
		}
		since = len(ln.choices)
	}
	return accents, nil
}

// isPlain reports whether a word is compared unchanged.
func isPlain(word string) bool {
	for i := 0; i < len(word); i++ {
		if ch := word[i]; ch >= utf8.RuneSelf || (classes[ch] != letter || 'A' <= ch && ch <= 'Z') &&
			ch != '\'' && ch != '*' {
			return false
		}
	}
	return word != ""
}

// plant adds the phrases of the line from a field on below the node at (0: the root). Phrases of fewer
// than least words are not added.
func (l *lexicon) plant(at int32, least, field int, k kind) {
	if field == len(l.line.fields) {
		if at != 0 && least <= 0 { // otherwise only punctuation
			l.ends(at, k)
		}
		return
	}
	from := 0
	if field > 0 {
		from = l.line.fields[field-1]
	}
	for c := from; c < l.line.fields[field]; c++ {
		first := 0
		if c > 0 {
			first = l.line.choices[c-1]
		}
		to, need := at, least
		for _, id := range l.line.words[first:l.line.choices[c]] {
			to = l.child(to, id)
			if id != anyWord {
				need--
			}
		}
		l.plant(to, need, field+1, k)
	}
}

// child returns the node of a word below at, creating it if needed. '*' is last: of two phrases of the
// same length, the one without it is reported.
func (l *lexicon) child(at int32, id uint16) int32 {
	from := &l.first[id]
	if at != 0 {
		from = &l.nodes[at].child
	}
	last := int32(0)
	known := at == 0 || id == anyWord || l.nodes[at].follow>>(id&63)&1 != 0
	for n := *from; known && n != 0; n = l.nodes[n].next {
		if l.nodes[n].word == id {
			return n
		}
		last = n
	}
	n := int32(len(l.nodes))
	new := node{parent: at, word: id}
	if id == anyWord && last != 0 {
		l.nodes[last].next = n
	} else {
		new.next, *from = *from, n
	}
	if at != 0 {
		nd := &l.nodes[at]
		nd.follow |= 1 << (id & 63)
		if id == anyWord {
			nd.star = n
		}
	}
	l.nodes = append(l.nodes, new)
	return n
}

// ends marks that a phrase of these kinds ends at a node.
func (l *lexicon) ends(at int32, k kind) {
	n := &l.nodes[at]
	if n.kinds&asking == 0 && k&asking != 0 {
		n.phrase = int32(len(l.phrases))
		l.phrases = append(l.phrases, at)
	}
	n.kinds |= k
	for ; at != 0; at = l.nodes[at].parent {
		id := l.nodes[at].word
		l.of[id] |= l.lang
		if l.nodes[at].parent == 0 {
			l.below[id] |= k
		}
	}
}

// phrase returns the text of a phrase that asks, in normal form.
func (l *lexicon) phrase(i int) string {
	at := l.phrases[i]
	if at < 0 {
		return l.names[-1-at]
	}
	var words []string
	for ; at != 0; at = l.nodes[at].parent {
		words = append(words, l.words[l.nodes[at].word])
	}
	slices.Reverse(words)
	return strings.Join(words, " ")
}

// addLetters adds phrases that are compared letter by letter: those of scripts without spaces, and word
// endings.
func (l *lexicon) addLetters(line string, k kind) error {
	if strings.Contains(line, " ") {
		return errors.New("has a space, but its script has none")
	}
	for phrase := range strings.SplitSeq(line, "/") {
		r, _ := utf8.DecodeRuneInString(phrase)
		tail := folded(strings.TrimPrefix(phrase, "-"))
		switch {
		case tail == "":
		case r != '-':
			l.dense[r] = l.addTo(l.dense[r], phrase, phrase, k)
		case k != anywhere && k != end:
			return errors.New("the end of a word, as -나요, can only stand in [anywhere] and [end]")
		default:
			last := tail[len(tail)-1]
			l.tails[last] = l.addTo(l.tails[last], tail, "-"+tail, k)
		}
	}
	return nil
}

func (l *lexicon) addTo(list []densePhrase, text, name string, k kind) []densePhrase {
	i := slices.IndexFunc(list, func(p densePhrase) bool { return p.text == text })
	if i < 0 {
		l.names = append(l.names, name)
		l.phrases = append(l.phrases, int32(-len(l.names)))
		i, list = len(list), append(list, densePhrase{text: text, phrase: int32(len(l.phrases) - 1)})
	}
	list[i].kinds |= k
	list[i].langs |= l.lang
	return list
}

// phraseWords splits a phrase as words.go splits a message.
func phraseWords(phrase string) []string {
	if phrase == "-1" {
		return []string{phrase}
	}
	words := strings.FieldsFunc(phrase, func(r rune) bool {
		if r < utf8.RuneSelf {
			return classes[r] != letter && r != '\'' && r != '*' && r != '+'
		}
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '’'
	})
	for i, w := range words {
		words[i] = folded(w)
	}
	return words
}

// folded returns a word in the form that wideWord produces.
func folded(word string) string {
	if isPlain(word) {
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
