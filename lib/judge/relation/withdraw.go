package relation

import "strings"

// maxWithdrawal is the length in bytes from which a message withdraws nothing.
const maxWithdrawal = 400

// Withdraws reports whether text, as a whole, withdraws a question or says that it is settled. The text is
// split at punctuation: each part must be in a closed list or be polite, and at least one must be in a
// list. A part may have polite words before or after it. A text with a question mark is a question. What
// tells another person than the bot to stop withdraws nothing.
func Withdraws(text string, names Names) bool {
	section, _ := withdraws(text, called(names))
	return section != ""
}

// withdraws returns the section of the list that text is in as a whole, withdraw before order before settled,
// and the phrase; "" if it is in none.
func withdraws(text string, calls calls) (section, phrase string) {
	if len(text) > maxWithdrawal || asks(text) {
		return "", ""
	}
	for _, said := range parts(text, calls) {
		said = bare(said, withdraw, order, settled)
		p := strings.Join(said, " ")
		switch {
		case p == "":
		case in(order, p) && calls.others(text):
			return "", ""
		case in(withdraw, p):
			section, phrase = withdraw, p
		case in(order, p):
			if section != withdraw {
				section, phrase = order, p
			}
		case !in(settled, p):
			return "", ""
		case section == "":
			section, phrase = settled, p
		}
	}
	return section, phrase
}

// asks reports whether text has a question mark.
func asks(text string) bool { return strings.ContainsAny(text, "?？؟") }

// Opens reports whether text, as a whole, only greets or says that something follows.
func Opens(text string, names Names) bool {
	if len(text) > maxWithdrawal || asks(text) {
		return false
	}
	said := parts(text, called(names))
	for _, part := range said {
		if rest := bare(part, opening); len(rest) > 0 && !in(opening, strings.Join(rest, " ")) {
			return false
		}
	}
	return len(said) > 0
}
