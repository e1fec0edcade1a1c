package classify

import (
	"math/bits"
	"unicode"
)

// script is a writing system that implies one language, or a few.
type script uint8

const (
	latin script = iota
	cyrillic
	arabic
	devanagari
	han
	kana
	greek // from here on each script implies one language
	hangul
	thai
	lao
	khmer
	burmese
	hebrew
	armenian
	georgian
	gurmukhi
	gujarati
	tamil
	telugu
	kannada
	malayalam
	sinhala
	nScripts
)

// scriptRanges are the ranges of the scripts' letters, in order.
var scriptRanges = []struct {
	from, to rune
	script   script
}{
	{0x0370, 0x03ff, greek}, {0x0400, 0x052f, cyrillic}, {0x0531, 0x058f, armenian}, {0x0590, 0x05ff, hebrew},
	{0x0600, 0x06ff, arabic}, {0x0750, 0x077f, arabic},
	{0x0900, 0x097f, devanagari}, {0x0a00, 0x0a7f, gurmukhi}, {0x0a80, 0x0aff, gujarati},
	{0x0b80, 0x0bff, tamil}, {0x0c00, 0x0c7f, telugu}, {0x0c80, 0x0cff, kannada},
	{0x0d00, 0x0d7f, malayalam}, {0x0d80, 0x0dff, sinhala}, {0x0e00, 0x0e7f, thai}, {0x0e80, 0x0eff, lao},
	{0x1000, 0x109f, burmese}, {0x10a0, 0x10ff, georgian},
	{0x1100, 0x11ff, hangul}, {0x1780, 0x17ff, khmer}, {0x1f00, 0x1fff, greek}, {0x3041, 0x30ff, kana},
	{0x3131, 0x318e, hangul}, {0x31f0, 0x31ff, kana}, {0xac00, 0xd7a3, hangul},
}

var scriptLangs = [nScripts]string{
	kana: "ja", greek: "el", hangul: "ko", thai: "th", lao: "lo", khmer: "km", burmese: "my", hebrew: "he",
	armenian: "hy", georgian: "ka",
	gurmukhi: "pa", gujarati: "gu", tamil: "ta", telugu: "te", kannada: "kn", malayalam: "ml", sinhala: "si",
}

func scriptOf(r rune) script {
	for i := range scriptRanges {
		if s := &scriptRanges[i]; r <= s.to {
			if r >= s.from {
				return s.script
			}
			break
		}
	}
	if unicode.Is(unicode.Han, r) {
		return han
	}
	return latin
}

// scripts counts the scripts of a message: by word, or by letter for scripts without spaces.
type scripts struct {
	count   [nScripts]uint16
	telling [maxLanguages]uint16 // by language: words and letters found only in it
	told    uint32               // a bit for each language with any of these
	wide    bool                 // contains a script other than Latin
	foreign bool                 // contains a letter that Russian or Arabic does not have
	russian bool                 // contains a letter typical of Russian
}

// letterOf counts the script of a letter, which stands for its word or for itself.
func (s *scripts) letterOf(r rune) {
	in := scriptOf(r)
	s.count[in]++
	s.wide = s.wide || in != latin
}

// votes counts something that only one language has.
func (s *scripts) votes(langs uint32) {
	if bits.OnesCount32(langs) == 1 {
		s.told |= langs
		s.telling[bits.TrailingZeros32(langs)]++
	}
}

// letter examines a letter that can distinguish languages.
func (s *scripts) letter(lex *lexicon, r rune) {
	switch {
	case r < 0x0250 || r >= 0x1e00 && r < 0x1f00:
		s.votes(lex.letters[unicode.ToLower(r)])
	case r >= 0x0400 && r < 0x0530:
		switch unicode.ToLower(r) {
		case 'ы', 'э', 'ё', 'щ':
			s.russian = true
		case 'і', 'ї', 'є', 'ґ', 'ў', 'ј', 'љ', 'њ', 'ћ', 'ђ', 'џ', 'ә', 'ң', 'ө', 'ү', 'ұ', 'қ', 'ғ', 'һ',
			'ѓ', 'ќ', 'ѕ':
			s.foreign = true
		}
	case r >= 0x0600 && r < 0x0700:
		switch r {
		case 'پ', 'چ', 'ژ', 'گ', 'ٹ', 'ڈ', 'ڑ', 'ے', 'ہ', 'ھ', 'ں', 'ڤ':
			s.foreign = true
		}
	}
}

// lang returns the language by script, letters and words, or "" if it is not certain.
func (t *reading) lang(lex *lexicon) string {
	s := &t.scripts
	if !s.wide {
		return t.wordLang(lex)
	}
	best := latin
	for i := cyrillic; i < nScripts; i++ {
		if s.count[i] >= max(1, s.count[best]) {
			best = i
		}
	}
	if best != latin {
		return t.scriptLang(lex, best)
	}
	lang := t.wordLang(lex)
	if lang != "" {
		return lang
	}
	for i := cyrillic; i < nScripts; i++ { // Latin names and terms in other text
		if s.count[i] > 0 && s.count[i]*3 >= s.count[latin] {
			return t.scriptLang(lex, i)
		}
	}
	return ""
}

// scriptLang returns the language of text mostly in a script.
func (t *reading) scriptLang(lex *lexicon, s script) string {
	switch s {
	case han, kana:
		if t.scripts.count[kana]*8 >= t.scripts.count[han] {
			return "ja"
		}
		return t.hanLang(lex)
	case cyrillic, arabic:
		if lang := t.wordLang(lex); lang != "" && (!t.scripts.foreign || lang != "ru" && lang != "ar") {
			return lang
		}
		if s == cyrillic && t.scripts.russian && !t.scripts.foreign {
			return "ru"
		}
		return ""
	case devanagari:
		if lang := t.wordLang(lex); lang != "" {
			return lang
		}
		return "hi"
	}
	return scriptLangs[s]
}

// hanLang returns the language of text without kana: Chinese, if it has more than a few letters that could
// also be Japanese.
func (t *reading) hanLang(lex *lexicon) string {
	votes := func(lang string) uint16 {
		for i, l := range lex.langs {
			if l == lang {
				return t.scripts.telling[i]
			}
		}
		return 0
	}
	ja, zh := votes("ja"), votes("zh")
	switch {
	case ja > zh:
		return "ja"
	case zh > 0 || t.scripts.count[han] > 4:
		return "zh"
	}
	return ""
}

// Weights of a word or letter for its languages, and the lead over the next language that is needed.
const (
	whole  = 12 // a frequent word of one language; less if of several
	lonely = 4  // a word only in the language's phrases
	enough = 7
)

// telling is the weight of a word for each of some languages.
type telling struct {
	langs  uint32
	weight int32
}

// tellings returns the weight of every word of the lexicon.
func (l *lexicon) tellings() []telling {
	all := make([]telling, len(l.words))
	for id := range all {
		langs, phrases, weight := l.common[id], l.of[id], whole
		switch {
		case langs == 0 && bits.OnesCount32(phrases) != 1:
			continue
		case langs == 0:
			langs, weight = phrases, lonely
		case phrases&^langs != 0: // other languages have it too, less often
			weight = weight * 2 / 3
		}
		all[id] = telling{langs, int32(weight / bits.OnesCount32(langs))}
	}
	return all
}

// wordLang returns the language with the highest weight of words.
func (t *reading) wordLang(lex *lexicon) string {
	var score [maxLanguages]int32
	told := t.scripts.told
	for i := range t.words {
		tell := &lex.tell[t.words[i].id]
		told |= tell.langs
		for langs := tell.langs; langs != 0; langs &= langs - 1 {
			score[bits.TrailingZeros32(langs)] += tell.weight
		}
	}
	best, second, name := int32(0), int32(0), ""
	for ; told != 0; told &= told - 1 {
		i := bits.TrailingZeros32(told)
		switch n := score[i] + whole*int32(t.scripts.telling[i]); {
		case n > best:
			best, second, name = n, best, lex.langs[i]
		case n > second:
			second = n
		}
	}
	if best-second < enough {
		return ""
	}
	return name
}
