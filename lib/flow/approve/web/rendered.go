package web

import "strings"

// piece is a stretch of a draft as the chat shows it: plain text, a mark (the fences
// and backticks themselves), a line of code or a block.
type piece struct{ Kind, Text string }

// noMarkup are the chats that show a text as it is.
var noMarkup = map[string]bool{"local": true, "irc": true}

// rendered cuts a draft into what the chat shows as code and what it does not. The
// pieces joined are the draft, so that every character of it is on the page.
func rendered(platform, draft string) []piece {
	if noMarkup[platform] {
		return []piece{{"block", draft}}
	}
	var all []piece
	for draft != "" {
		text, rest, found := strings.Cut(draft, "```")
		body, after, closed := strings.Cut(rest, "```")
		if !found || !closed {
			return inline(all, draft)
		}
		all = append(inline(all, text), piece{"mark", "```"}, piece{"block", body}, piece{"mark", "```"})
		draft = after
	}
	return all
}

// inline adds the pieces of a text without blocks.
func inline(all []piece, text string) []piece {
	for text != "" {
		before, rest, found := strings.Cut(text, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !found || !closed || code == "" || strings.Contains(code, "\n") {
			break
		}
		if before != "" {
			all = append(all, piece{"text", before})
		}
		all = append(all, piece{"mark", "`"}, piece{"code", code}, piece{"mark", "`"})
		text = after
	}
	if text != "" {
		all = append(all, piece{"text", text})
	}
	return all
}
