package declaration

import (
	"strings"

	"tri/lib/base/lazyregexp"
)

// grammars are languages by each of their extensions.
var grammars = func() map[string]*grammar {
	by := map[string]*grammar{}
	for extensions, g := range languages {
		for _, e := range strings.Fields(extensions) {
			by[e] = g
		}
	}
	return by
}()

func form(kind Kind, in, pattern string, holds bool) head {
	return head{kind, in,
		lazyregexp.New(strings.NewReplacer("NAME", `(?P<name>#?[A-Za-z_$][\w$]*)`, "VALUE",
			`(?P<value>\S(?s:.*?))`, "RESULT", `(?:[^{]|\{[^{}]*\})+?`, "PARAMS", `(?P<params>(?s:.*?))`).Replace(pattern)), holds}
}

const (
	rustPub = `^(?:pub(?:\([^)]*\))?\s+)?`
	jsMods  = `^(?:(?:public|private|protected|static|async|get|set|override|readonly|declare|abstract|accessor)\s+|\*)*`
	jsBegin = `^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?`
	java    = `^(?:(?:@\w+(?:\([^)]*\))?|public|private|protected|static|final|abstract|synchronized|native|default|volatile|transient|sealed|non-sealed|strictfp)\s+)*`
	anyBody = "function method setting"
)

// How languages quote and comment.
var (
	withBacktick = quoting{line: "//", block: true, quotes: []string{`"`, "'", "`"}}
	withText     = quoting{line: "//", block: true, quotes: []string{`"""`, `"`}, chars: true}
	withChars    = quoting{line: "//", block: true, quotes: []string{`"`}, chars: true}
)

// languages are the grammars by their extensions.
var languages = map[string]*grammar{
	".py .pyi": {indented: true, comment: "#",
		quoting: quoting{line: "#", quotes: []string{`"""`, `'''`, `"`, `'`}}, heads: []head{
			form(Type, "file type", `^class\s+NAME`, true),
			form(Function, "file type function method",
				`^(?:async\s+)?def\s+NAME\s*\(PARAMS\)\s*(?:->\s*(?P<type>[^:]+?))?\s*:`, true),
			form(Constant, "type",
				`^(?P<name>[A-Z][A-Z0-9_]*)(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE\s*$`,
				false),
			form(Field, "type", `^NAME(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE\s*$`, false),
			form(Field, "type", `^NAME\s*:\s*(?P<type>[^=]+?)\s*$`, false),
			form(Constant, "file",
				`^(?P<name>_?[A-Z][A-Z0-9_]*)(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE\s*$`,
				false),
			form(Variable, "file", `^NAME(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE\s*$`, false),
			form(Setting, anyBody, `^self\.NAME(?:\s*:\s*[^=]+?)?\s*=\s*(?P<value>[^=\s](?s:.*?))\s*$`,
				false),
		}},
	".rs": {comment: "//", quoting: withChars, heads: []head{
		form("", "file type",
			`^(?:unsafe\s+)?impl\b(?:<[^{]*?>)?\s+(?:[^{]*\sfor\s+)?&?(?:'\w+\s+)?(?:mut\s+)?(?:\w+::)*(?P<owner>\w+)[^{]*\{`, true),
		form(Function, "file type "+anyBody,
			rustPub+`(?:(?:default|const|async|unsafe|extern(?:\s+"[^"]*")?)\s+)*fn\s+NAME(?:<[^(]*>)?\s*\(PARAMS\)\s*(?:->\s*(?P<type>[^{;]+?))?\s*(?:\bwhere\b[^{]*)?[{;]`, true),
		form(Function, "file type "+anyBody,
			rustPub+`(?:(?:default|const|async|unsafe|extern(?:\s+"[^"]*")?)\s+)*fn\s+NAME`, true),
		form(Type, "file type", rustPub+`(?:struct|enum|trait|union|unsafe\s+trait)\s+NAME`, true),
		form(Type, "file", rustPub+`type\s+NAME`, false),
		form(Type, "file", `^macro_rules!\s*NAME`, true),
		form(Constant, "file type "+anyBody,
			rustPub+`(?:const|static)\s+(?:mut\s+)?NAME\s*:\s*(?P<type>[^=]+?)\s*=\s*VALUE;`, false),
		form("", "file", `^(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*(?P<owner>)\{`, true),
		form(Field, "type", rustPub+`NAME\s*:\s*(?P<type>[^=]+?),?\s*$`, false),
		form(Constant, "type", `^(?P<name>[A-Z]\w*)\s*(?:[,({=](?s:.*))?\s*$`, false),
		form(Setting, anyBody, `^NAME\s*:\s*(?P<value>[^:\s](?s:.*?)),?\s*$`, false),
	}},
	".java": {comment: "//", quoting: withText, heads: []head{
		form(Type, "file type", java+`(?:class|interface|enum|record|@interface)\s+NAME`, true),
		form(Constant, "type", java+`static\s+final\s+(?P<type>[\w<>\[\],.? ]+?)\s+NAME\s*=\s*VALUE;`,
			false),
		form(Method, "type",
			java+`(?:<[^(]*?>\s+)?(?P<type>[\w$<>\[\],.?& ]+?)\s+NAME\s*\(PARAMS\)[^;={]*(?:\{[^{}]*\}|[{;])?\s*$`,
			true),
		form(Method, "type", `^(?:(?:public|private|protected)\s+)?NAME\s*\(PARAMS\)[^;={]*\{`, true),
		form(Field, "type", java+`(?P<type>[\w$<>\[\],.? ]+?)\s+NAME\s*=\s*VALUE;`, false),
		form(Field, "type", java+`(?P<type>[\w$<>\[\],.? ]+?)\s+NAME\s*;`, false),
		form(Constant, "type", `^(?P<name>[A-Z][A-Z0-9_]*)\s*(?:\([^)]*\))?\s*[,;{]?\s*$`, false),
		form(Setting, anyBody, `^(?:this\.)?NAME\s*=\s*(?P<value>[^=\s](?s:.*?));\s*$`, false),
	}},
	".js .mjs .cjs .jsx .ts .tsx .mts .cts": {comment: "//", quoting: withBacktick, heads: []head{
		form(Function, "file type "+anyBody,
			jsBegin+`(?:async\s+)?function\s*\*?\s*NAME\s*(?:<[^(]*>)?\(PARAMS\)\s*(?::\s*(?P<type>RESULT))?\s*\{?\s*$`, true),
		form(Type, "file type", jsBegin+`(?:const\s+)?(?:class|interface|enum|namespace)\s+NAME`, true),
		form(Type, "file type", jsBegin+`type\s+NAME(?:<[^=]*>)?\s*=\s*(?P<type>[^;]*);?\s*$`, false),
		form(Function, "file",
			jsBegin+`(?:const|let|var)\s+NAME(?:\s*:\s*[^=]+)?\s*=\s*(?:async\s+)?(?:function\b\s*\w*\s*)?\(PARAMS\)\s*(?::\s*(?P<type>[^=]+?))?\s*(?:=>\s*)?\{\s*$`, true),
		form(Variable, "file",
			jsBegin+`(?:const|let|var)\s+NAME(?:\s*:\s*[^={]+?)?\s*=\s*(?:Object\.freeze\(|new\s+Map\(|\w+\()?\s*\{\s*$`, true),
		form(Constant, "file", jsBegin+`(?:const)\s+NAME(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE;?\s*$`,
			false),
		form(Variable, "file", jsBegin+`(?:let|var)\s+NAME(?:\s*:\s*(?P<type>[^=]+?))?\s*=\s*VALUE;?\s*$`,
			false),
		form(Function, "file",
			`^(?:module\.)?(?P<owner>[\w$.]+)\.NAME\s*=\s*(?:async\s+)?function\b[^(]*\(PARAMS\)`, true),
		form(Method, "type variable",
			jsMods+`NAME\s*(?:<[^(]*>)?\??\(PARAMS\)\s*(?::\s*(?P<type>RESULT))?\s*(?:\{[^{}]*\}|[{;])?\s*$`, true),
		form(Field, "type", jsMods+`NAME[?!]?\s*:\s*(?P<type>[^=;]+?)\s*[;,]?\s*$`, false),
		form(Field, "type", jsMods+`NAME[?!]?\s*(?::\s*(?P<type>[^=;]+?))?\s*=\s*VALUE[;,]?\s*$`,
			false),
		form(Constant, "type", `^(?P<name>[A-Z]\w*)\s*,?\s*$`, false),
		form(Setting, "variable", `^['"]?NAME['"]?\s*:\s*VALUE,?\s*$`, false),
		form(Setting, anyBody, `^this\.NAME\s*=\s*(?P<value>[^=\s](?s:.*?));?\s*$`, false),
	}},
}
