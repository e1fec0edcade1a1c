package relation

import (
	"slices"
	"strings"
)

// maxName is the length of a name, in words and in characters.
const (
	maxNameWords = 4
	maxNameRunes = 40
)

// Named reports whether a text, as a whole, withdraws a question by its name: "never mind the Fence one".
// i is the index of the one open item that has all words of the name, or -1 if which one it means cannot be
// told. names are as in Withdraws.
func Named(text string, open []Item, names Names) (i int, ok bool) {
	if len(text) > maxWithdrawal || asks(text) {
		return -1, false
	}
	name := ""
	for _, said := range parts(text, called(names)) {
		switch n := named(said); {
		case n != "" && name == "":
			name = n
		case n != "" || len(bare(slices.Clone(said))) > 0:
			return -1, false // it says something else, too
		}
	}
	if name == "" {
		return -1, false
	}
	i = -1
	for k, it := range open {
		if !it.has(name) {
			continue
		}
		if i >= 0 {
			return -1, true
		}
		i = k
	}
	return i, true
}

// named returns the name in a form of the section naming, "" if said is none of them.
func named(said []string) string {
	for len(said) > 0 {
		text := strings.Join(said, " ")
		for _, form := range phrases()[naming].lines {
			before, after, _ := strings.Cut(form, "*")
			said := text
			if isDense(form) || isDense(before) {
				said = strings.ReplaceAll(text, " ", "")
			}
			name, ok := strings.CutPrefix(said, fold(before)+space(before, " "))
			if name, ok2 := strings.CutSuffix(name, space(after, " ")+fold(after)); ok && ok2 &&
				isName(name) {
				return strings.TrimSpace(name)
			}
		}
		n, first := courtesy(said)
		if n == 0 {
			return ""
		}
		if first {
			said = said[n:]
		} else {
			said = said[:len(said)-n]
		}
	}
	return ""
}

// space returns the space that separates a name from what is before or after it in a form.
func space(part, s string) string {
	if strings.HasPrefix(part, s) || strings.HasSuffix(part, s) {
		return s
	}
	return ""
}

func isName(name string) bool {
	words := strings.Fields(name)
	return len(words) > 0 && len(words) <= maxNameWords && len([]rune(name)) <= maxNameRunes
}

// has reports whether an item's texts have all words of a name.
func (it Item) has(name string) bool {
	text := fold(strings.Join(it.Texts, "\n"))
	words := map[string]bool{}
	for _, p := range parts(text, nil) {
		for _, w := range p {
			words[w] = true
		}
	}
	for _, w := range strings.Fields(name) {
		if !words[w] && !(isDense(w) && strings.Contains(text, w)) &&
			!(isDense(text) && strings.Contains(text, w)) {
			return false
		}
	}
	return true
}
