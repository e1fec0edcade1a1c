package forge

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"tri/lib/base/git"
)

// Longest texts, in bytes: GitHub takes 65,536 characters of a body, and all
// three at least 255 of a title. The others keep a whole body below the first.
const (
	maxTitle = 200
	maxQuote = 10_000
	maxFiles = 60
	maxItems = 30
)

// gap is a zero-width space. A forge finds people, issues and links in what it
// shows by the letters behind a sign, also where Markdown has it escaped; with
// this between the two there is nothing to find.
const gap = "\u200b"

var (
	// signs before which forges see somebody or something: @ana, #12, !12, ~label,
	// $12, %12, &12.
	signs = regexp.MustCompile(`([@#!~$%&^])([\p{L}\p{N}_"])`)
	// links are addresses that are linked, fetched for a preview, or close an issue.
	links = regexp.MustCompile(`(?i)([a-z0-9+.-])(://)`)
	short = regexp.MustCompile(`(?i)\b(mailto|xmpp|data|javascript|vbscript)(:)`)
	hosts = regexp.MustCompile(`(?i)(www)(\.)`)
	// tickets are names of issues without a sign: GH-12, PAY-12.
	tickets = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9_]*-)(\d)`)
	ticks   = regexp.MustCompile("(`{8})(`)") // no fence need be longer
	// plain are names, paths and places in files, in which nothing can be found.
	plain = regexp.MustCompile(`^[A-Za-z0-9_./-]+(:[0-9]+(-[0-9]+)?)?$`)
)

// Line makes one line of what others wrote, for a title or the message of a
// commit: nobody is named, nothing is closed or linked by it.
func Line(text string) string {
	return strings.TrimLeft(cut(quiet(one(text)), maxTitle), "-/# ")
}

func one(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// quiet takes the effect out of text, and out of its looks nothing.
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
	for _, re := range []*regexp.Regexp{signs, signs, links, short, hosts, tickets, ticks} { // signs twice: "##1"
		text = re.ReplaceAllString(text, "${1}"+gap+"${2}")
	}
	return text
}

// Quote is a block of what others wrote. In it a forge reads no Markdown, no
// HTML, no commands ("/close") and no names; and it cannot be left, since its
// fence is longer than any in it.
func Quote(text string) string {
	text = cut(strings.Trim(quiet(strings.ReplaceAll(text, "\r\n", "\n")), "\n"), maxQuote)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + text + "\n" + fence + "\n"
}

// Inline is what others wrote, as code in a line.
func Inline(text string) string {
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

// cut shortens text to some bytes, at a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Story is what a pull request tells of the run that it comes from. All of it is
// taken as others' words.
type Story struct {
	Run     string // its id
	Type    string // fix, …
	Agent   string // which program, and which model
	Base    string // the commit that it began with
	Task    string // what was asked for
	Report  string // what the agent says it did
	Files   []git.Change
	Notes   []git.Finding // what a person should look at first
	Sources []string      // evidence: one reference a line
	Facts   [][2]string   // further lines: a name and a value
}

// Body is the text of a pull request.
func (s Story) Body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "An agent made these changes in a worktree of its own; a person looked at them and opened this.\n\n")
	for _, f := range append([][2]string{{"Run", s.Run}, {"Type", s.Type}, {"Agent", s.Agent}, {"Base", s.Base}}, s.Facts...) {
		if f[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", f[0], Inline(f[1]))
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
		fmt.Fprintf(&b, "- %s: %s\n", Inline(n.Path), Inline(n.Reason))
	}
	if len(s.Sources) > 0 {
		b.WriteString("\n**Evidence**\n\n")
	}
	for _, r := range some(&b, s.Sources, maxItems) {
		fmt.Fprintf(&b, "- %s\n", Inline(r))
	}
	if len(s.Files) > 0 {
		fmt.Fprintf(&b, "\n**Files** (%d)\n\n", len(s.Files))
	}
	for _, f := range some(&b, s.Files, maxFiles) {
		lines := fmt.Sprintf("+%d −%d", f.Added, f.Removed)
		if f.Binary {
			lines = "binary"
		}
		fmt.Fprintf(&b, "- %s %s, %s\n", Inline(f.Path), f.Kind, lines)
	}
	return b.String()
}

// some is as many as are shown, and says how many are not.
func some[T any](b *strings.Builder, all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	fmt.Fprintf(b, "- the first %d of %d:\n", most, len(all))
	return all[:most]
}
