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
	failing   = regexp.MustCompile(`^\W*(?:panic|fatal error|error|(?:Caused by: )?[\w.$]*(?:Error|Exception))\W+\s*\w.{7,}`)
	templates = regexp.MustCompile(`(?i)\b(?:issue_template|pull_request_template|contributing)\b`)
	framed    = regexp.MustCompile(`([\w./\\@+-]*\w\.\w{1,5})(?::|", line )\d+`)
)

// frames returns the files of the frames of tracebacks, those next to the failure first, with '/'.
func (s section) frames() (files []string) {
	for _, m := range framed.FindAllStringSubmatch(s.text, -1) {
		if file := "/" + strings.ReplaceAll(m[1], `\`, "/"); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if strings.Contains(s.text, "File \"") { // Python's last frame is the innermost
		slices.Reverse(files)
	}
	return files
}

// asked removes the lines of a report that are in the codebase's own templates and guides for reports.
func (x *Index) asked(question string) string {
	template := map[string]bool{}
	for name := range x.known {
		if !templates.MatchString(name) {
			continue
		}
		text, _ := x.text(name) // a file that has gone has no lines
		for _, line := range strings.Split(string(text), "\n") {
			template[strings.TrimSpace(line)] = true
		}
	}
	return strings.Join(slices.DeleteFunc(strings.Split(question, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.Count(line, " ") > 1 && template[line]
	}), "\n")
}

// sections divides a report, the part with the highest weight first.
func sections(question string) []section {
	title, asked, prose := section{share: titleShare}, section{share: askedShare}, section{share: 1}
	code, trace := section{share: codeShare}, section{share: traceShare, trace: true}
	inCode, inTrace := false, false
	for i, line := range strings.Split(comments.ReplaceAllString(question, ""), "\n") {
		switch {
		case fence.MatchString(line):
			inCode, inTrace = !inCode, false
		case failing.MatchString(line):
			asked.text += line + "\n"
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
