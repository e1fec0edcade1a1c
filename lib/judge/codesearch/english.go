package codesearch

import (
	_ "embed"
	"strings"

	"tri/lib/base/text"
)

//go:embed words.txt
var wordLists string

// lists are the sections of words.txt, which says what each is for.
var lists = text.Sections(wordLists)

var (
	stopWords = text.Set(strings.Join(lists["stop"], " "))
	everyday  = func() map[string]bool {
		set := map[string]bool{}
		for _, w := range stems(strings.Join(lists["everyday"], " ")) {
			set[string(fold([]byte(w)))] = true
		}
		return set
	}()
	glossary = func() map[string]string {
		english := map[string]string{}
		for _, line := range lists["glossary"] {
			indonesian, word, _ := strings.Cut(line, " ")
			english[indonesian] = word
		}
		return english
	}()
)

// same maps the stems of words to the stem that stands for them.
var same = func() map[string][]byte {
	all := map[string][]byte{}
	for _, line := range lists["short"] {
		words := stems(line)
		for _, w := range words[1:] {
			if w != words[0] {
				all[w] = []byte(words[0])
			}
		}
	}
	return all
}()

// alikes maps the folded stem of a word to those of the words that people use in its place.
var alikes = func() map[string][]string {
	all := map[string][]string{}
	for _, line := range lists["alike"] {
		words := stems(line)
		for i, w := range words {
			words[i] = string(fold([]byte(w)))
		}
		for _, w := range words {
			for _, other := range words {
				if w != other {
					all[w] = append(all[w], other)
				}
			}
		}
	}
	return all
}()

// stems returns the stems of the words of a line.
func stems(line string) []string {
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = string(stem([]byte(w)))
	}
	return words
}
