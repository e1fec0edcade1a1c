package forge

import (
	"fmt"
	"strings"
	"unicode"

	"tri/lib/base/git"
	"tri/lib/base/lazyregexp"
)

// Maximum lengths. GitHub accepts 65,536 characters in a body, and all three forges at least 255
// in a title. maxQuote (bytes), maxFiles and maxItems keep a whole body below the first.
const (
	maxTitle = 200
	maxQuote = 10_000
	maxFiles = 60
	maxItems = 30
)

// gap is a zero-width space. A forge detects people, issues and links in text by the letters after
// a sign, even if Markdown escapes it; a gap between the two prevents that.
const gap = "\u200b"

var (
	// signs precede references to people or objects: @ana, #12, !12, ~label, $12, %12, &12.
	signs = lazyregexp.New(`([@#!~$%&^])([\p{L}\p{N}_"])`)
	// links are URLs that are linked, fetched for a preview, or close an issue.
	links = lazyregexp.New(`(?i)([a-z0-9+.-])(://)`)
	short = lazyregexp.New(`(?i)\b(mailto|xmpp|data|javascript|vbscript)(:)`)
	hosts = lazyregexp.New(`(?i)(www)(\.)`)
	// tickets are issue names without a sign: GH-12, PAY-12.
	tickets = lazyregexp.New(`\b([A-Za-z][A-Za-z0-9_]*-)(\d)`)
	// skips are words in a commit message for which a forge runs no checks: [skip ci], [no ci], [ci-skip].
	skips = lazyregexp.New(`(?i)(\[)([a-z_ -]*skip|no[_ -]ci)`)
	ticks = lazyregexp.New("(`{8})(`)") // bounds the length of a fence
	// plain are names, paths and file positions that contain no reference.
	plain = lazyregexp.New(`^[A-Za-z0-9_./-]+(:[0-9]+(-[0-9]+)?)?$`)
)

// Line makes one line of untrusted text, for a title or a commit message: it mentions no one, closes or
// links nothing, and skips no checks.
func Line(text string) string {
	return strings.TrimLeft(cut(quiet(one(text)), maxTitle), "-/# ")
}

func one(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// quiet removes the effects of a text and keeps its appearance.
func quiet(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) && r != '\u200d':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	// signs twice: "##1"
	for _, re := range []*lazyregexp.Pattern{signs, signs, links, short, hosts, tickets, skips, ticks} {
		text = re.ReplaceAllString(text, "${1}"+gap+"${2}")
	}
	return text
}

// Quote returns a block of untrusted text. A forge interprets no Markdown, HTML, commands
// ("/close") or names in it. The text cannot end the block, since its fence is longer than any in
// the text.
func Quote(text string) string {
	text = cut(strings.Trim(quiet(strings.ReplaceAll(text, "\r\n", "\n")), "\n"), maxQuote)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + text + "\n" + fence + "\n"
}

// inline returns untrusted text as inline code.
func inline(text string) string {
	if text = one(text); !plain.MatchString(text) || hosts.MatchString(text) {
		text = quiet(text)
	}
	text = cut(text, maxTitle)
	if strings.Trim(text, " ") == "" {
		return "` `"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cut shortens text to a number of bytes, at a character boundary.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Story is what a pull request reports about its run. All of it is treated as untrusted text.
type Story struct {
	Run     string // its id
	Type    string // fix, …
	Agent   string // program and model
	Base    string // the commit that it started from
	Task    string // the task
	Report  string // the agent's own report
	Files   []git.Change
	Notes   []git.Finding // what a person should check first
	Sources []string      // evidence, one reference per line
	Facts   [][2]string   // further lines: name and value
}

// Body returns the text of a pull request.
func (s Story) Body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "An agent made these changes in a worktree of its own; a person looked at them and opened this.\n\n")
	for _, f := range append([][2]string{{"Run", s.Run}, {"Type", s.Type}, {"Agent", s.Agent},
		{"Base", s.Base}}, s.Facts...) {
		if f[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", f[0], inline(f[1]))
		}
	}
	if s.Task != "" {
		fmt.Fprintf(&b, "\n**Task**\n\n%s", Quote(s.Task))
	}
	if s.Report != "" {
		fmt.Fprintf(&b, "\n**What the agent says**\n\n%s", Quote(s.Report))
	}
	if len(s.Notes) > 0 {
		b.WriteString("\n**Look at these first**\n\n")
	}
	for _, n := range some(&b, s.Notes, maxItems) {
		fmt.Fprintf(&b, "- %s: %s\n", inline(n.Path), inline(n.Reason))
	}
	if len(s.Sources) > 0 {
		b.WriteString("\n**Evidence**\n\n")
	}
	for _, r := range some(&b, s.Sources, maxItems) {
		fmt.Fprintf(&b, "- %s\n", inline(r))
	}
	if len(s.Files) > 0 {
		fmt.Fprintf(&b, "\n**Files** (%d)\n\n", len(s.Files))
	}
	for _, f := range some(&b, s.Files, maxFiles) {
		lines := fmt.Sprintf("+%d −%d", f.Added, f.Removed)
		if f.Binary {
			lines = "binary"
		}
		fmt.Fprintf(&b, "- %s %s, %s\n", inline(f.Path), f.Kind, lines)
	}
	return b.String()
}

// some returns the items to show, and notes how many there are in all.
func some[T any](b *strings.Builder, all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	fmt.Fprintf(b, "- the first %d of %d:\n", most, len(all))
	return all[:most]
}
