package evidence

import (
	"strings"

	"tri/lib/base/lazyregexp"
)

var (
	remarked = lazyregexp.New(`^\s*(?://[/!]?|/\*\*?|\*/?|#+|--|;+|<!--|"""|''')\s?(.*?)\s*(?:\*/|-->|"""|''')?\s*$`)
	trailing = lazyregexp.New(`^(.*?\S)\s+(?://|#)\s+(.*)$`)
	literal  = lazyregexp.New(`"([^"\\]{12,300})"|'([^'\\]{12,300})'`)
	noCode   = lazyregexp.New(`^\s*[\p{L}\d"'` + "`" + `(][^={}<>|]*[\p{L}\d.,:;!?)"'` + "`" + `]\s*$`)
)

// passages parts lines of a file into what can be compared with a claim: the
// sentences of its prose and remarks, and its lines of code. first is the number
// of the first line; inside tells which lines a remark of several goes on in.
func passages(lines []string, first int, prose bool, inside []bool) []clause {
	var out []clause
	var text []string
	began := 0
	flush := func() {
		for _, s := range sentences(strings.Join(text, "\n")) {
			c := analyse(strings.Join(strings.Fields(s), " "), false)
			c.line = began
			out = append(out, c)
		}
		text = nil
	}
	say := func(s string, line int) {
		if len(text) == 0 {
			began = line
		}
		text = append(text, s)
	}
	for i, l := range lines {
		n := first + i
		if i < len(inside) && inside[i] {
			say(bareRemark(l), n)
			continue
		}
		if m := remarked.FindStringSubmatch(l); m != nil && !strings.HasPrefix(strings.TrimSpace(l), "#include") {
			say(m[1], n)
			continue
		}
		behind := trailing.FindStringSubmatch(l)
		if (behind == nil || prose) && sentenceLike(l, prose) {
			say(strings.TrimSpace(l), n)
			continue
		}
		flush()
		out = append(out, codeLine(lines[i:], n, behind)...)
	}
	flush()
	return out
}

// codeLine is what the first of some lines holds, the n-th of its file: the remark
// behind it, its texts, and the code, alone and with the line that it leads to.
func codeLine(lines []string, n int, behind []string) []clause {
	var out []clause
	add := func(text string, code bool, context []term) {
		c := analyse(text, code)
		c.line, c.context = n, context
		out = append(out, c)
	}
	l := lines[0]
	if behind != nil {
		add(behind[2], false, terms(behind[1]))
	}
	for _, m := range literal.FindAllStringSubmatch(l, 3) {
		if s := m[1] + m[2]; len(strings.Fields(s)) > 2 {
			add(s, false, nil)
		}
	}
	if strings.TrimSpace(l) == "" {
		return out
	}
	add(l, true, nil)
	if len(lines) > 1 && opens.MatchString(l) && !remarked.MatchString(lines[1]) {
		add(l+"\n"+lines[1], true, nil)
	}
	return out
}

// opens is a condition whose consequence stands in the next line.
var opens = lazyregexp.New(`^\s*(?:\}\s*)?(?:if|unless|elif|else if|when|case)\b`)

// closedLine is a line that ends a sentence in a script without spaces.
var closedLine = lazyregexp.New(`[。！？]\s*$`)

const leastWords = 4 // of a line that is prose though no mark says so

// sentenceLike reports whether a line is prose: in a document, or inside a
// remark of several lines.
func sentenceLike(l string, prose bool) bool {
	if prose && isDense(l) && !strings.ContainsAny(l, "{}=") || closedLine.MatchString(l) {
		return true
	}
	if !noCode.MatchString(l) {
		return prose && len(strings.Fields(l)) >= leastWords && !strings.ContainsAny(l, "{}=")
	}
	n := 0
	for _, f := range strings.Fields(l) {
		if lettered.MatchString(f) && !strings.ContainsAny(f, "()_=<>[]{}") {
			n++
		}
	}
	return n >= leastWords && n*4 >= len(strings.Fields(l))*3 && !strings.HasSuffix(strings.TrimSpace(l), ";") || prose && n > 0
}

// isProse reports whether a file is a document.
func isProse(path string) bool {
	for _, e := range []string{".md", ".txt", ".rst", ".adoc", ".org", ".mdx", ".html"} {
		if strings.HasSuffix(strings.ToLower(path), e) {
			return true
		}
	}
	return false
}
