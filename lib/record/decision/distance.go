package decision

// maxDistance bounds the compared texts, in characters. A post is shorter.
const maxDistance = 8000

// Distance returns how many characters must be added, removed or replaced to turn a into b
// (Levenshtein distance).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	if len(from) > maxDistance || len(to) > maxDistance {
		return max(len(from), len(to)) // an upper bound
	}
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			cost := diagonal
			if r != s {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
