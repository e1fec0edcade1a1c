package sysexit

import "slices"

// maxWord is how many bytes of a word are compared.
const maxWord = 64

// Nearest returns the known word closest to a mistyped one, for a hint; "" if none is close: one edit
// away, or two if the word has at least eight letters.
func Nearest(word string, known []string) string {
	word = word[:min(len(word), maxWord)]
	most := 1
	if len(word) >= 8 {
		most = 2
	}
	best, least := "", most+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(word, k); d < least && min(len(word), len(k)) > most {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of edits, in bytes, that make b of a: a letter more, fewer or another, or
// two neighbours exchanged.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j-1]+cost, rows[i][j-1]+1, rows[i-1][j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
