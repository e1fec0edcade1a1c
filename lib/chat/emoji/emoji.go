// Package emoji translates between emoji and the short names of Slack and Mattermost:
// "👍" and "+1".
package emoji

import (
	_ "embed"
	"strings"
	"sync"

	"tri/lib/base/lazyregexp"
)

//go:embed emoji.txt
var table string

// tables are the emoji by name and the names by emoji, read on first use.
type tables struct {
	names map[string][]string // short names of each emoji, with the one that Name returns first
	chars map[string]string   // the emoji by name
	toned map[string]bool     // names that take a skin tone
}

var index = sync.OnceValue(func() tables {
	t := tables{map[string][]string{}, map[string]string{}, map[string]bool{}}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		char, takes := strings.CutPrefix(f[0], "+")
		t.names[char] = f[1:]
		for _, name := range f[1:] {
			t.chars[name], t.toned[name] = char, takes
		}
	}
	return t
})

// Name returns the short name of an emoji; ok is false if it has none.
func Name(char string) (name string, ok bool) {
	// with or without the variation selector for colour
	for _, c := range []string{char, strings.TrimSuffix(char, "\uFE0F"), char + "\uFE0F"} {
		if short := index().names[c]; short != nil {
			return short[0], true
		}
	}
	return "", false
}

// Char returns the emoji of a short name; an unknown name is returned between colons:
// ":partyparrot:". A skin tone is dropped.
func Char(name string) string {
	name, _, _ = strings.Cut(name, "::")
	if char, ok := index().chars[name]; ok {
		return char
	}
	return ":" + name + ":"
}

var (
	colons = lazyregexp.New(`:([a-z0-9_+'-]{1,60}):(:skin-tone-([2-6]):)?`)
	// short matches names that also occur between two colons of a path or a time.
	short = lazyregexp.New(`^(?:[a-z]{1,2}|[0-9]+)$`)
	code  = lazyregexp.New("(?s)```.+?```|`[^`\n]+`")
)

// Read replaces the names between colons by their emoji, except in code: ":wave: hi" becomes "👋
// hi".
func Read(text string) string {
	if strings.Count(text, ":") < 2 {
		return text
	}
	b, at := strings.Builder{}, 0
	for _, m := range code.FindAllStringIndex(text, -1) {
		b.WriteString(plain(text[at:m[0]]))
		b.WriteString(text[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(plain(text[at:]))
	return b.String()
}

func plain(text string) string {
	b := strings.Builder{}
	for {
		m := colons.FindStringSubmatchIndex(text)
		if m == nil {
			b.WriteString(text)
			return b.String()
		}
		name := text[m[2]:m[3]]
		char, ok := index().chars[name]
		if !ok || short.MatchString(name) && (wordEnds(text[:m[0]]) || wordBegins(text[m[1]:])) {
			b.WriteString(text[:m[3]]) // its last colon may be the first of the next
			text = text[m[3]:]
			continue
		}
		b.WriteString(text[:m[0]])
		end := m[1]
		if m[4] >= 0 && index().toned[name] {
			char = tone(char, text[m[6]])
		} else if m[4] >= 0 {
			end = m[4]
		}
		b.WriteString(char)
		text = text[end:]
	}
}

// tone inserts a skin tone, 2 to 6, after the first character of an emoji.
func tone(char string, n byte) string {
	r := []rune(char)
	rest := strings.TrimPrefix(string(r[1:]), "\uFE0F")
	return string(r[0]) + string(rune(0x1F3FB+rune(n-'2'))) + rest
}

func wordEnds(s string) bool   { return s != "" && alphanumeric(s[len(s)-1]) }
func wordBegins(s string) bool { return s != "" && alphanumeric(s[0]) }

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
