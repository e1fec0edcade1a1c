package web

import "strings"

// piece is a part of a draft as the chat shows it: plain text, a mark (the fences and backticks
// themselves), inline code or a block; plain where the chat knows no markup.
type piece struct{ Kind, Text string }

// noMarkup are the chats that show text without markup.
var noMarkup = map[string]bool{"local": true, "irc": true}

// rendered splits a draft into code and other text, as the chat shows it. The pieces joined equal the
// draft, so the page shows every character.
func rendered(platform, draft string) []piece {
	if noMarkup[platform] {
		return []piece{{"plain", draft}}
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

// inline appends the pieces of a text without blocks.
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
