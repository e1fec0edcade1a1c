package codesearch

import (
	"path"
	"slices"
	"strings"
)

// language describes how to classify the lines of a kind of file. The rules are few and cheap: they
// examine the beginning and the indentation of a line, which suffices for nearly all formatted code.
type language struct {
	prose    bool     // has paragraphs under headings
	line     []string // prefixes of a comment to the end of the line
	block    [2]string
	doc      []string // delimiters of documentation strings, on any line
	declares []string // words that begin a declaration
	deepest  int      // maximum indentation of a declaration, in columns
	imports  []string // prefixes of lines that only name other modules
}

var (
	goLanguage = &language{line: []string{"//"}, block: [2]string{"/*", "*/"},
		declares: strings.Fields("func type const var"), imports: []string{"import ", "package "}}
	python = &language{line: []string{"#"}, doc: []string{`"""`, `'''`},
		declares: strings.Fields("def class async"), deepest: 12, imports: []string{"import ", "from "}}
	braces = &language{line: []string{"//"}, block: [2]string{"/*", "*/"}, deepest: 4,
		imports: []string{"import ", "#include", "using ", "use ", "package "},
		declares: strings.Fields(`func function fn pub public private protected internal static export default abstract final async class struct enum
interface trait impl type def module namespace const let var val fun override extern typedef union #define mod macro_rules! object record void int bool char double float unsigned long`)}
	hashes = &language{line: []string{"#"}, deepest: 4, imports: []string{"require ", "use ", "source "},
		declares: strings.Fields("def class module sub function proc define task resource variable output data")}
	dashes = &language{line: []string{"--"}, block: [2]string{"/*", "*/"}, deepest: 2,
		imports:  []string{"import "},
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

// languageOf returns the language by file name alone.
func languageOf(name string) *language {
	base := strings.ToLower(path.Base(name))
	if l := languages[path.Ext(base)]; l != nil {
		return l
	}
	switch {
	case slices.Contains([]string{"makefile", "dockerfile", "rakefile", "gemfile", "vagrantfile", "justfile",
		"procfile"}, base):
		return hashes
	case strings.Contains(base, "."):
		return settings
	}
	return prose
}
