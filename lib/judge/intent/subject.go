package intent

import (
	_ "embed"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

//go:embed subjects.txt
var subjectForms string

// subjects have the words of an entry of a list in the one group of theirs that is not empty.
var subjects = func() (all []*lazyregexp.Pattern) {
	for _, form := range text.Sections(subjectForms)[""] {
		all = append(all, lazyregexp.New(`(?is)`+form))
	}
	return all
}()

// maxSubject is the length of a message, in bytes, from which it is an entry as it is.
const maxSubject = 4 << 10

// Subject returns the words of a message that say what is put on a list: without the order to do so where
// the form of it is known, else all of them.
func Subject(said string) string {
	s := strings.TrimSpace(said)
	for _, p := range subjects {
		if len(s) > maxSubject {
			break
		}
		if m := p.FindStringSubmatch(s); m != nil {
			if got := strings.Trim(strings.TrimSpace(m[1]), "\"'“”「」『』`"); got != "" {
				return got
			}
		}
	}
	return s
}
