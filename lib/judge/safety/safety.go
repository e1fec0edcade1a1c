// Package safety refuses text that must not be posted: secrets, mentions that notify
// people, hidden characters, unknown links, and instructions to an agent.
package safety

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tri/lib/base/filename"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Sources are the texts that a draft may use, and the secrets that it must not contain.
type Sources struct {
	Texts   []string    // the question, its context, lines of the evidence
	Refs    []draft.Ref // their quotes, and addresses of documents
	Secrets []string    // of this installation: searched in every form
	// Approved means that a person wrote the text, not an agent: an address without a source, or an
	// instruction to a reader, is then reported but not fatal.
	Approved bool
	// Exists reports whether a path is in the codebase; nil if there is none.
	Exists func(path string) bool
}

// Check is applied to every text before it is shown to a person as ready, after an edit, and before it is
// posted: no secret, no mention of a group or of a person by id, no invisible character, no address
// without a source.
func Check(body string, s Sources) []draft.Problem {
	var out []draft.Problem
	fatal := func(name, format string, args ...any) {
		out = append(out, draft.Problem{Name: name, Note: fmt.Sprintf(format, args...), Fatal: true})
	}
	if strings.TrimSpace(body) == "" {
		fatal("empty", "there is no text")
	}
	if n := utf8.RuneCountInString(body); n > draft.MaxDraftRunes {
		fatal("size", "%d characters, at most %d", n, draft.MaxDraftRunes)
		return out // checking a huge body would take too long
	}
	if !utf8.ValidString(body) {
		fatal("encoding", "not valid UTF-8")
	}
	for _, kind := range secrets(body, s.Secrets) {
		fatal("secret", "holds what looks like a secret: %s", kind)
	}
	if found := mentions(body); len(found) > 0 {
		fatal("mention", "calls people: %s", strings.Join(found, " "))
	}
	if found := text.Hidden(body); len(found) > 0 {
		fatal("control", "%d characters that cannot be seen, the first U+%04X", len(found), found[0])
	}
	if found := Injected(body, s); len(found) > 0 {
		out = append(out, draft.Problem{Name: "injection", Fatal: !s.Approved,
			Note: fmt.Sprintf("tells its reader what to do about it: %s", strings.Join(found, ", "))})
	}
	for _, address := range strangeURLs(body, s) {
		out = append(out, draft.Problem{Name: "url", Fatal: !s.Approved,
			Note: fmt.Sprintf("address that stands in no evidence and not in the question: %s", address)})
	}
	return out
}

// massMentions matches mentions of a group, or of a person by id, on the supported platforms: Slack,
// Discord, Mattermost, Rocket.Chat, Matrix, Lark, Teams, Zulip. Code spans are not exception, since not
// every platform honours them.
var massMentions = lazyregexp.New(`(?i)` + strings.Join([]string{
	`(?:^|[^A-Za-z0-9])@(?:channel|here|all|everyone|room|group|team|online|semua)(?:[^A-Za-z0-9]|$)`,
	`@(?:全体成员|全體成員|所有人|全员|全員|大家|みんな|チャンネル|모두|전체|채널|todos|todas|tous|alle|все|mọi người|ทุกคน)`,
	`<users/[^>]{1,60}>`,
	`<!(?:channel|here|everyone|subteam\^[^>]*|group)[^>]*>`,
	`<@[!&]?[A-Z0-9]{2,}(?:\|[^>]*)?>`,
	`<at\b[^>]*>`,
	`@_?\*\*?[^*\n]{1,60}\*\*?`,
	`matrix\.to/#/[@!#]`,
}, "|"))

func mentions(text string) []string {
	text = strings.NewReplacer("＠", "@", "﹫", "@", "＜", "<", "！", "!", "＞", ">").Replace(text)
	var out []string
	for _, m := range massMentions.FindAllString(text, 5) {
		out = append(out, fmt.Sprintf("%q", strings.TrimSpace(m)))
	}
	return out
}

// addresses matches what a chat client would turn into a link: anything with a scheme, www., and bare host
// names. Top-level domains that are also file extensions or field names (net, io, dev, app, info) count
// only if a path follows.
var addresses = lazyregexp.New(`(?i)` + strings.Join([]string{
	`\b[a-z][a-z0-9+.-]{1,20}://[^\s<>"'` + "`" + `|)\]}]+`,
	`\b(?:mailto|javascript|data|tel|sms|vbscript):[^\s<>"'` + "`" + `|)\]}]+`,
	`\bwww\.[^\s<>"'` + "`" + `|)\]}]+`,
	`\b(?:[a-z0-9-]{2,63}\.)+(?:com|org|ru|cn|xyz|biz)\b(?:/[^\s<>"'` + "`" + `|)\]}]*)?`,
	`\b(?:[a-z0-9-]{2,63}\.)+(?:net|io|dev|app|info|link|click|site|online|top|me|gg|ly|sh|co|to|ai|cc)(?::\d+)?/[^\s<>"'` + "`" + `|)\]}]+`,
	`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?/[^\s<>"'` + "`" + `|)\]}]*`,
}, "|"))

// countries matches a host below a country's domain, or one in another script, with a path.
var countries = lazyregexp.New(`(?i)(?:[\pL\pN-]{2,63}\.)+([a-z]{2}|[^\x00-\x7f]{2,})(?::\d+)?/[^\s<>"'` + "`" + `|)\]}]+`)

func urls(text string) []string {
	found := addresses.FindAllString(text, -1)
	for _, m := range countries.FindAllStringSubmatch(text, -1) {
		if !filename.IsWritten("x." + m[1]) { // a folder or a list of files
			found = append(found, m[0])
		}
	}
	for i, u := range found {
		found[i] = strings.TrimRight(strings.TrimRight(u, ".,;:!?*_~"), "/")
	}
	return found
}

// strangeURLs lists the addresses of text that are not verbatim in its sources: a changed path or query
// could leak data.
func strangeURLs(text string, s Sources) []string {
	found := urls(text)
	if len(found) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, t := range s.Texts {
		for _, u := range urls(t) {
			known[u] = true
		}
	}
	for _, r := range s.Refs {
		for _, u := range urls(r.Ref + "\n" + r.Quote) {
			known[u] = true
		}
	}
	var out []string
	for _, u := range found {
		if !known[u] {
			known[u] = true // reported once
			out = append(out, u)
		}
	}
	return out
}
