package relation

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

//go:embed phrases.txt
var phrasesTxt string

// Names of the sections of phrases.txt.
const (
	withdraw = "withdraw"
	order    = "order"
	settled  = "settled"
	polite   = "polite"
	status   = "status"
	tail     = "tail"
	about    = "about"
	redirect = "redirect"
	turning  = "turn"
	replace  = "replace"
	beside   = "beside"
	answer   = "answer"
	opening  = "opening"
	naming   = "naming"
)

// section is one of them: folded phrases, and the length of the longest one.
type section struct {
	lines []string // as in the file
	has   map[string]bool
	most  int // words
	// dense are the phrases in a script without spaces, and wide the length of the longest in characters.
	dense []string
	wide  int
}

var phrases = sync.OnceValue(func() map[string]*section {
	all := map[string]*section{}
	for name, lines := range text.Sections(phrasesTxt) {
		s := &section{lines: lines, has: map[string]bool{}}
		for _, line := range lines {
			p := fold(line)
			s.has[p] = true
			s.most = max(s.most, strings.Count(p, " ")+1)
			if isDense(p) {
				s.dense = append(s.dense, p)
				s.wide = max(s.wide, utf8.RuneCountInString(p))
			}
		}
		all[name] = s
	}
	return all
})

func in(name, text string) bool { return phrases()[name].has[text] }

// opens returns how many of said are the longest phrase of a section with which they begin, and that
// phrase; 0 if there is none. A phrase in a script without spaces may end inside a word, whose rest is then
// put in its place.
func opens(name string, said []string) (rest []string, phrase string) {
	l := phrases()[name]
	for n := min(l.most, len(said)); n > 0; n-- {
		if p := strings.Join(said[:n], " "); l.has[p] {
			return said[n:], p
		}
	}
	if len(said) == 0 || !isDense(said[0]) {
		return said, ""
	}
	runes := []rune(said[0])
	for n := min(l.wide, len(runes)-1); n > 0; n-- {
		if p := string(runes[:n]); l.has[p] {
			return append([]string{string(runes[n:])}, said[1:]...), p
		}
	}
	return said, ""
}

// holds returns the first phrase of a section in said, or "".
func holds(name string, said []string) string {
	for i := range said {
		if _, p := opens(name, said[i:]); p != "" {
			return p
		}
	}
	text := strings.Join(said, " ")
	for _, p := range phrases()[name].dense {
		if strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

// isDense reports whether text ends in a script that is written without spaces.
func isDense(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// isBreak reports whether r separates the parts of a message.
func isBreak(r rune) bool {
	switch r {
	case '\'', '’', '@', '<', '>', '&', '#', '_', '`', '´':
		return false
	}
	return unicode.IsPunct(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || r == '\n' ||
		r == '~' || r == '='
}

// fold returns text in the form for comparison: normalized (NFKC), in lower case, without invisible
// characters, apostrophes or marks.
func fold(s string) string {
	s = strings.ToLower(norm.NFKC.String(s))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\'' || r == '’' || r == '`' || r == '´' || unicode.Is(unicode.Cf, r) ||
			unicode.Is(unicode.Variation_Selector, r):
			return -1
		case r == 'ё':
			return 'е'
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Names are the names by which somebody may be addressed in a message.
type Names struct {
	Bot, People []string
	// ToBot says that the message mentions the bot and no one else: the platform's name for the bot, which
	// is in the text, may be in no configuration.
	ToBot bool
}

// calls are folded names; of the bot's the value is true.
type calls map[string]bool

const toBot = "@" // no address is this

func called(names Names) calls {
	all := calls{}
	if names.ToBot {
		all[toBot] = true
	}
	for _, n := range names.People {
		all[address(n)] = false
	}
	for _, n := range names.Bot {
		all[address(n)] = true
	}
	return all
}

// address returns the folded name of a word that may address somebody: "@Tri:", "<@U024BE7LH>".
func address(word string) string { return fold(strings.Trim(word, "@<>:,;!. \t")) }

// others reports whether a message addresses a person, and not the bot.
func (c calls) others(text string) bool {
	if c[toBot] {
		return false
	}
	person := false
	for _, w := range strings.Fields(text) {
		bot, known := c[address(w)]
		if bot {
			return false
		}
		person = person || known || strings.HasPrefix(w, "@") || strings.HasPrefix(w, "<@")
	}
	return person
}

// bot reports whether a message addresses the bot.
func (c calls) bot(text string) bool {
	return c[toBot] ||
		slices.ContainsFunc(strings.Fields(text), func(w string) bool { return c[address(w)] })
}

// parts returns the words of each part of a message, folded, without mentions.
func parts(text string, calls calls) (all [][]string) {
	for _, part := range strings.FieldsFunc(text, isBreak) {
		var said []string
		for _, w := range strings.Fields(part) {
			if _, named := calls[fold(w)]; named || strings.HasPrefix(w, "@") || strings.HasPrefix(w, "<@") {
				continue
			}
			said = append(said, strings.Fields(fold(w))...)
		}
		if len(said) > 0 {
			all = append(all, said)
		}
	}
	return all
}

// bare removes polite words from both ends until what is left is a phrase of one of the sections.
func bare(said []string, sections ...string) []string {
	is := func() bool {
		for _, s := range sections {
			if in(s, strings.Join(said, " ")) {
				return true
			}
		}
		return false
	}
	for len(said) > 0 && !is() {
		n, first := courtesy(said)
		if n == 0 {
			break
		}
		if first {
			said = said[n:]
		} else {
			said = said[:len(said)-n]
		}
	}
	return said
}

// sound is a word that is only a sound, however long it is drawn: "ahh", "hmmm".
var sound = lazyregexp.New(`^(?:a+h+a*|o+h+|h+m+|u+h+|e+h+|u+m+|y+e+a+h*|y+a+y+)$`)

// courtesy returns how many words at one end of said are polite, and whether that is the first end.
func courtesy(said []string) (n int, first bool) {
	if len(said) > 0 && sound.MatchString(said[0]) {
		return 1, true
	}
	for n := min(3, len(said)); n > 0; n-- {
		if in(polite, strings.Join(said[:n], " ")) {
			return n, true
		}
		if in(polite, strings.Join(said[len(said)-n:], " ")) {
			return n, false
		}
	}
	return 0, false
}
