package evidence

import (
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

var lettered = lazyregexp.New(`[\p{L}\p{N}][\p{L}\p{N}\p{M}']*`)

// oneOf are words before a unit that mean one of it: a minute, per second.
var oneOf = text.Set("a an per each every setiap tiap un une una ein eine einer um uma")

// spelled lists the quantities that prose spells out: thirty seconds, half an hour.
func spelled(text string) []quantity {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		text = lower // a letter is longer in lower case; offsets refer to the text read
	}
	at := lettered.FindAllStringIndex(lower, -1)
	w := make([]string, len(at))
	for i, m := range at {
		w[i] = lower[m[0]:m[1]]
	}
	var out []quantity
	for i := 0; i < len(w); i++ {
		n, used := spelledNumber(w, i)
		if used == 0 {
			continue
		}
		q := quantity{soft: true, values: []float64{n}}
		k := i + used
		part := n > 0 && n < 1
		for k < len(w) && (w[k] == "of" || w[k] == "a" || w[k] == "an") && part {
			k++
		}
		if k < len(w) {
			if u, ok := unitOf(w[k]); ok && len(w[k]) > 1 && !ordinal(w[i], w[k:]) {
				q.unit, k = u, k+1
			} else if part || oneOf[w[i]] {
				continue // "half of them", "a line"
			} else {
				k = i + used
			}
		} else if part || oneOf[w[i]] {
			continue
		}
		q.at, q.end = at[i][0], at[k-1][1]
		q.text = text[q.at:q.end]
		out = append(out, q)
		i = k - 1
	}
	return out
}

// ordinal reports whether second after an article is no unit: a second request.
func ordinal(article string, w []string) bool {
	l := words()
	return w[0] == "second" && oneOf[article] && article != "per" && len(w) > 1 && !l.is("stop", w[1]) &&
		!l.is("bound", w[1])
}

func fraction(w []string, i int) bool {
	return i+1 < len(w) && w[i+1] == "of" && slices.Index(nths, w[i]) > 1
}

// spelledNumber reads a number from the words at i. used is the number of words, 0 if there is no number.
func spelledNumber(w []string, i int) (n float64, used int) {
	l := words()
	switch {
	case w[i] == "half" || w[i] == "setengah":
		return 0.5, 1
	case w[i] == "quarter":
		return 0.25, 1
	case fraction(w, i): // a fifth of a second
		return 1 / float64(slices.Index(nths, w[i])+1), 1
	case oneOf[w[i]] && i+1 < len(w) && (w[i+1] == "half" || w[i+1] == "quarter" || w[i+1] == "hundred" ||
		w[i+1] == "thousand" || w[i+1] == "dozen" || fraction(w, i+1)):
		n, used = spelledNumber(w, i+1)
		return n, used + 1
	case oneOf[w[i]]:
		return 1, 1
	}
	n, ok := l.number[w[i]]
	if !ok {
		return 0, 0
	}
	used = 1
	for i+used < len(w) {
		m, ok := l.number[w[i+used]]
		switch {
		case !ok:
			return n, used
		case m >= 100 && m > n && n > 0:
			n *= m
		case n >= 20 && m < 10 && m > 0 || n >= 100 && m < 100 && m > 0:
			n += m
		default:
			return n, used
		}
		used++
	}
	return n, used
}
