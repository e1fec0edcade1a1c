package codesearch

import (
	"regexp"
	"slices"
	"strings"
)

// A report is a question of more than maxShort words: what was done, what happened, a traceback, versions,
// the headings of a template. Its lines differ in how much they say about the cause.
const (
	titleShare = 1.3 // a word in the first line
	askedShare = 1.5 // a word in a sentence that asks
	nameShare  = 2.5 // a name outside tracebacks
	codeShare  = 0.6 // a word of code that was run
	traceShare = 0.4 // a word of a traceback
)

// section is a part of a report, with the weight of its words.
type section struct {
	text  string
	share float64
	trace bool
}

var (
	comments  = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	boxes     = regexp.MustCompile(`^\s*[-*] \[[ xX]\]`)
	headings  = regexp.MustCompile(`^\s*(?:#{1,6} .*|\*\*[^*]+\*\*:?)\s*$`)
	versions  = regexp.MustCompile(`(?i)^\W*(?:[\w .-]{0,30}version|os|platform|environment|python|go|node|arch|goos|goarch|uname)\b[^:=]{0,20}[:=]`)
	frames    = regexp.MustCompile(`^\s*(?:File "[^"]+", line \d+|at [\w.$<>/]+\s?\(|goroutine \d+ \[|Traceback \(|panic: |\S+\.(?:go|py|ts|js|rs|java):\d+|[\w./*()-]+\(0x[0-9a-f, .]+\)$)`)
	fence     = regexp.MustCompile("^\\s*(?:```|~~~)")
	indented  = regexp.MustCompile(`^(?:    |\t)\S`)
	sentence  = regexp.MustCompile(`.+?(?:[.!?](?:\s+|$)|$)`)
	promptSay = regexp.MustCompile(`^\s*(?:\$|>>>|\.\.\.|#) `)
)

// sections divides a report, the part with the highest weight first.
func sections(question string) []section {
	title, asked, prose := section{share: titleShare}, section{share: askedShare}, section{share: 1}
	code, trace := section{share: codeShare}, section{share: traceShare, trace: true}
	inCode, inTrace := false, false
	for i, line := range strings.Split(comments.ReplaceAllString(question, ""), "\n") {
		switch {
		case fence.MatchString(line):
			inCode, inTrace = !inCode, false
		case frames.MatchString(line):
			inTrace = true
			trace.text += line + "\n"
		case inTrace && (indented.MatchString(line) || inCode && strings.TrimSpace(line) != ""):
			trace.text += line + "\n"
			inTrace = indented.MatchString(line) || strings.HasPrefix(line, " ")
		case boxes.MatchString(line), headings.MatchString(line) && i > 0, versions.MatchString(line):
			inTrace = false
		case inCode, indented.MatchString(line), promptSay.MatchString(line):
			code.text += line + "\n"
		case i == 0:
			title.text += line + "\n"
		default:
			inTrace = false
			for _, sentence := range sentence.FindAllString(line, -1) {
				if strings.HasSuffix(strings.TrimSpace(sentence), "?") {
					asked.text += sentence + "\n"
				} else {
					prose.text += sentence + "\n"
				}
			}
		}
	}
	all := []section{asked, title, prose, code, trace}
	return slices.DeleteFunc(all, func(s section) bool { return strings.TrimSpace(s.text) == "" })
}
