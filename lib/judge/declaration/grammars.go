package declaration

import (
	_ "embed"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// grammars are languages by each of their extensions.
var grammars = func() map[string]*grammar {
	by, sections := map[string]*grammar{}, text.Sections(forms)
	for extensions, g := range languages {
		g.heads = headsOf(sections[extensions])
		for _, e := range strings.Fields(extensions) {
			by[e] = g
		}
	}
	return by
}()

//go:embed grammars.txt
var forms string

// shared are the parts that many patterns have in common.
var shared = strings.NewReplacer(
	"NAME", `(?P<name>#?[A-Za-z_$][\w$]*)`, "VALUE", `(?P<value>\S(?s:.*?))`,
	"RESULT", `(?:[^{]|\{[^{}]*\})+?`, "PARAMS", `(?P<params>(?s:.*?))`,
	"<pub>", `^(?:pub(?:\([^)]*\))?\s+)?`,
	"<mods>", `^(?:(?:public|private|protected|static|async|get|set|override|readonly|declare|abstract|accessor)\s+|\*)*`,
	"<begin>", `^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?`,
	"<java>", `^(?:(?:@\w+(?:\([^)]*\))?|public|private|protected|static|final|abstract|synchronized|native|default|volatile|transient|sealed|non-sealed|strictfp)\s+)*`,
)

// headsOf returns the heads of a section of grammars.txt.
func headsOf(lines []string) (heads []head) {
	for _, line := range lines {
		f := strings.SplitN(line, "\t", 4)
		in := strings.NewReplacer("body", "function method setting", ",", " ").Replace(f[1])
		heads = append(heads,
			head{Kind(strings.TrimPrefix(f[0], "-")), in, lazyregexp.New(shared.Replace(f[3])), f[2] == "+"})
	}
	return heads
}

// How languages quote and comment.
var (
	withBacktick = quoting{line: "//", block: true, quotes: []string{`"`, "'", "`"}}
	withText     = quoting{line: "//", block: true, quotes: []string{`"""`, `"`}, chars: true}
	withChars    = quoting{line: "//", block: true, quotes: []string{`"`}, chars: true}
)

// languages are the grammars by their extensions. Their heads are in grammars.txt.
var languages = map[string]*grammar{
	".py .pyi": {indented: true, comment: "#",
		quoting: quoting{line: "#", quotes: []string{`"""`, `'''`, `"`, `'`}}},
	".rs":                                   {comment: "//", quoting: withChars},
	".java":                                 {comment: "//", quoting: withText},
	".js .mjs .cjs .jsx .ts .tsx .mts .cts": {comment: "//", quoting: withBacktick},
}
