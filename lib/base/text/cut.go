package text

// Excerpt returns at most n characters of s, an ellipsis where more follow, fit for
// a terminal: outside text in a message.
func Excerpt(s string, n int) string {
	if rs := []rune(s); len(rs) > n {
		s = string(rs[:n]) + "…"
	}
	return Visible(s)
}
