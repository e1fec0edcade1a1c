package codesearch

import (
	"path"
	"slices"
	"strings"
)

// language is how the lines of a kind of file are told apart. The rules are few
// and cheap: they look at how a line begins and how far it is indented, which
// holds for nearly all code that somebody has formatted.
type language struct {
	prose    bool     // paragraphs under headings
	line     []string // what begins a comment that ends with its line
	block    [2]string
	doc      []string // what begins and ends a text that documents, on any line
	declares []string // words that begin a declaration
	deepest  int      // columns that a declaration may be indented
	imports  []string // what begins a line that only names other modules
}

var (
	goLanguage = &language{line: []string{"//"}, block: [2]string{"/*", "*/"}, declares: strings.Fields("func type const var"), imports: []string{"import ", "package "}}
	python     = &language{line: []string{"#"}, doc: []string{`"""`, `'''`}, declares: strings.Fields("def class async"), deepest: 12, imports: []string{"import ", "from "}}
	braces     = &language{line: []string{"//"}, block: [2]string{"/*", "*/"}, deepest: 4, imports: []string{"import ", "#include", "using ", "use ", "package "},
		declares: strings.Fields(`func function fn pub public private protected internal static export default abstract final async class struct enum
interface trait impl type def module namespace const let var val fun override extern typedef union #define mod macro_rules! object record void int bool char double float unsigned long`)}
	hashes = &language{line: []string{"#"}, deepest: 4, imports: []string{"require ", "use ", "source "},
		declares: strings.Fields("def class module sub function proc define task resource variable output data")}
	dashes = &language{line: []string{"--"}, block: [2]string{"/*", "*/"}, deepest: 2, imports: []string{"import "},
		declares: strings.Fields("function local create alter table insert type data module class instance CREATE ALTER")}
	settings = &language{line: []string{"#", ";", "//"}}
	prose    = &language{prose: true}
)

var languages = map[string]*language{}

func init() {
	for l, extensions := range map[*language]string{
		goLanguage: ".go",
		python:     ".py .pyi .pyx .bzl",
		braces:     ".js .mjs .cjs .jsx .ts .tsx .vue .svelte .java .kt .kts .scala .groovy .c .h .cc .cpp .cxx .hpp .hh .m .mm .cs .rs .swift .dart .php .proto .thrift .graphql .zig .css .scss",
		hashes:     ".rb .pl .pm .sh .bash .zsh .fish .ex .exs .r .jl .tf .hcl .cr .nim .mk .cmake .ps1 .jq",
		dashes:     ".sql .lua .hs .elm .ada .vhd",
		settings:   ".yaml .yml .toml .json .json5 .jsonc .ini .cfg .conf .properties .xml .gradle .env .service .plist .mod .nix",
		prose:      ".md .markdown .rst .adoc .org .txt .html .htm .tex .1 .2 .3 .4 .5 .6 .7 .8",
	} {
		for _, e := range strings.Fields(extensions) {
			languages[e] = l
		}
	}
}

// languageOf goes by the name of a file alone.
func languageOf(name string) *language {
	base := strings.ToLower(path.Base(name))
	if l := languages[path.Ext(base)]; l != nil {
		return l
	}
	switch {
	case slices.Contains([]string{"makefile", "dockerfile", "rakefile", "gemfile", "vagrantfile", "justfile", "procfile"}, base):
		return hashes
	case strings.Contains(base, "."):
		return settings
	}
	return prose
}
