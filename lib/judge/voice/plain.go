package voice

import (
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// Plain returns a draft as a person would type it: without the marks of headings, bold and plain lists,
// without sentences that are only a courtesy or repeat the one before them, and without emoji after the
// first that follow a sentence. What could change what is said stays: code, quotations, links, nested
// lists, an emoji within a sentence. Plain(Plain(s)) is Plain(s).
func Plain(draft string) string {
	for {
		next := unmarked(draft)
		if Same(draft, next) != "" {
			next = draft
		}
		next = undecorated(unrepeated(next))
		if next == draft || strings.TrimSpace(next) == "" {
			return draft
		}
		draft = next // shorter
	}
}

var (
	heading = lazyregexp.New(`^(?:#{1,6}[ \t]+)+`)
	mark    = lazyregexp.New(`^[-*+•][ \t]+([\pL` + "`" + `"“(*])`)
	nested  = lazyregexp.New(`(?m)^[ \t]+(?:[-*+•]|\d+[.)])[ \t]`)
	bold    = lazyregexp.New(`(^|[\s(])\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*([\s.,;:!?)]|$)`)
)

// unmarked removes marks outside of code, quotations and links. A heading ends with a colon, so that it
// still announces what follows.
func unmarked(draft string) string {
	flat := !nested.MatchString(draft)
	return outside(draft, func(s string, begins bool) string {
		var out strings.Builder
		for line := range strings.Lines(s) {
			bare, end := strings.TrimRight(line, "\n"), ""
			if end = line[len(bare):]; begins {
				if rest := heading.ReplaceAllString(bare, ""); rest != bare && rest != "" {
					if bare = rest; end != "" && !strings.ContainsAny(rest[len(rest)-1:], ".:?!") {
						bare += ":"
					}
				}
				if flat {
					bare = mark.ReplaceAllString(bare, "$1")
				}
			}
			out.WriteString(bold.ReplaceAllString(bare, "$1$2$3") + end)
			begins = true
		}
		return out.String()
	})
}

// outside applies a change to the parts of a text that are not exact. begins says that a part begins a line.
func outside(s string, change func(part string, begins bool) string) string {
	var out strings.Builder
	last := 0
	for _, at := range append(exact.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		out.WriteString(change(s[last:at[0]], last == 0 || s[last-1] == '\n'))
		out.WriteString(s[at[0]:at[1]])
		last = at[1]
	}
	return out.String()
}

// courtesy is a whole sentence that says nothing of what was asked. Assent (certainly, of course) is no
// courtesy: it can be the answer.
var courtesy = lazyregexp.New(`(?i)^(?:` +
	`(?:(?:that|what)(?:'s| is)? an? )?(?:great|good|excellent|fantastic) question` +
	`|(?:thanks|thank you)(?: so much)? for (?:asking|reaching out|your (?:question|patience|inquiry))` +
	`|i hope (?:this|that|it) (?:helps|clarifies (?:it|things)|answers your question)` +
	`|(?:please )?(?:let me know|feel free to (?:ask|reach out)` +
	`|(?:don't|do not) hesitate to (?:ask|reach out))(?: if (?:you|there)` +
	`(?: (?:have|need|are|is|any|other|further|more|additional|questions?|help|anything|else))+)?` +
	`|is there anything else (?:i|we) can help (?:you )?with` +
	`|(?:i'd be |i'm )?(?:happy|glad) to help(?: further)?` +
	`|have a (?:great|nice|good|wonderful) (?:day|one|weekend)|happy (?:coding|debugging|hacking)` +
	`|best of luck)[.!?]*$`)

// shortest is how many words a sentence has that is taken for a repetition: "Yes. Yes." answers two
// questions.
const shortest = 4

// unrepeated removes courtesies, and sentences that repeat the one before them.
func unrepeated(draft string) string {
	var out strings.Builder
	before := ""
	for _, b := range blocks(draft) {
		if !b.prose {
			out.WriteString(b.text)
			before = ""
			continue
		}
		var kept strings.Builder
		for _, s := range split(b.text) {
			said := strings.Join(strings.Fields(s), " ")
			again := said == before && text.Words(said) >= shortest
			if again || courtesy.MatchString(strings.ReplaceAll(said, "’", "'")) {
				continue
			}
			before = said
			kept.WriteString(s)
		}
		switch bare := strings.TrimSpace(b.text); {
		case kept.Len() == len(b.text):
			out.WriteString(b.text)
		case strings.TrimSpace(kept.String()) != "":
			out.WriteString(strings.TrimRight(kept.String(), " \t\n"))
			out.WriteString(b.text[strings.LastIndex(b.text, bare)+len(bare):])
		}
	}
	if out.Len() == len(draft) {
		return draft
	}
	return strings.TrimSpace(out.String())
}

// emoji are pictures, without the signs that say yes, no or a state: those are part of what is said.
var emoji = lazyregexp.New(`[🌀-🏿🐀-📿🙀-🙏🚀-🛿🤌-🧿🩰-🫿😀-😿][\x{FE0F}\x{200D}🏻-🏿👀-📿🤌-🧿]*`)

// undecorated removes emoji after the first of a text that follow a sentence which has ended.
func undecorated(draft string) string {
	n := 0
	return outside(draft, func(s string, _ bool) string {
		var out strings.Builder
		last := 0
		for _, at := range emoji.FindAllStringIndex(s, -1) {
			n++
			before := strings.TrimRight(out.String()+s[last:at[0]], " \t")
			ended := strings.HasSuffix(before, ".") || strings.HasSuffix(before, "!")
			if n > 1 && ended && (at[1] == len(s) || s[at[1]] == ' ' || s[at[1]] == '\n') {
				out.Reset()
				out.WriteString(before)
				last = at[1]
			}
		}
		out.WriteString(s[last:])
		return out.String()
	})
}
