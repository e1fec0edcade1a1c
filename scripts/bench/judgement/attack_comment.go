package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/report/faults"
)

// themes are what a claim can be turned by. Of each, comments of the codebases
// that speak of it are made into returns, so many of a codebase: the rarer ones
// are all taken.
var themes = []struct {
	re   *regexp.Regexp
	most int
}{
	{regexp.MustCompile(`\b(?:never|not|cannot|nobody|does|is)\b`), 8},
	{regexp.MustCompile(`\b(?:at most|at least|up to|more than|less than|longer than|greater than|maximum|minimum|largest|smallest|longest|upper limit)\b`), 50},
	{regexp.MustCompile(`\b(?:before|after|first|last|until|earlier|later|previous|next)\b`), 30},
	{regexp.MustCompile(`\d`), 12},
	{regexp.MustCompile(`\b(?:enabled|disabled|required|optional|allowed|true|false|blocking|recursive|recursively|closed|refused|removed|lost|fails|succeeds|left out|void)\b`), 40},
	{regexp.MustCompile(`\d+ ?(?:seconds?|s|ms|minutes?|hours?|days?|bytes?|KB|MiB|KiB|words|characters|lines)\b`), 50},
}

const longestQuote = 4 // lines

// remark is a sentence of a comment, and the lines that it stands in.
type remark struct {
	file       string
	start, end int
	text       string
	lines      []string
}

// commentReturns makes returns that say what a comment says, nearly word for word,
// as a model does that found the right one.
func commentReturns(dirs map[string]string) ([]*trial, error) {
	var all []*trial
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if strings.HasPrefix(name, pythonic) || attacked[name].written { // the former's remarks are of another form
			continue
		}
		found, err := remarks(dirs[name])
		if err != nil {
			return nil, err
		}
		for k, theme := range themes {
			n := 0
			for step := range found {
				r := found[step*37%len(found)] // from all over the codebase
				if n < theme.most && !taken[r.text] && theme.re.MatchString(r.text) {
					taken[r.text] = true
					n++
					all = append(all, &trial{
						Record: faults.Record{Key: fmt.Sprintf("comment-%s-%d-%d", path.Base(name), k, n), Return: r.asReturn(n)},
						half:   halves[n%2], maker: "comment", dir: dirs[name],
					})
				}
			}
		}
	}
	return all, nil
}

// asReturn answers a question by what the remark says.
func (r remark) asReturn(n int) *draft.Return {
	at := evidence.Place{Path: r.file, Start: r.start, End: r.end}.String()
	said := strings.TrimSuffix(r.text, ".")
	if n%3 == 0 {
		said = strings.NewReplacer("does not", "doesn't", "is not", "isn't", "cannot", "can't", "are not", "aren't").Replace(said)
	}
	form := []string{"%s (%s).", "%s, see %s.", "%s. That's in %s.", "%s; the comment in %s says so."}[n%4]
	words := strings.Fields(r.text)
	return &draft.Return{
		Confidence: draft.High, ConfidenceReason: "The comment was read.", SummaryForOrchestrator: r.text,
		DraftReply: fmt.Sprintf(form, said, at), DraftLanguage: "en", InvestigatorRound: 1, OpenQuestions: []string{},
		EvidenceRefs: []draft.Ref{{Kind: draft.KindFile, Ref: at, SupportsClaim: r.text, Quote: strings.Join(r.lines, "\n")}},
		Question:     fmt.Sprintf("what does %s say about %q?", path.Base(r.file), strings.Join(words[len(words)/2:min(len(words), len(words)/2+4)], " ")),
	}
}

// remarks lists the sentences of a codebase's comments that stand on their own.
func remarks(dir string) ([]remark, error) {
	var all []remark
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		all = append(all, remarksOf(filepath.ToSlash(name), strings.Split(string(text), "\n"))...)
		return nil
	})
	return all, err
}

// alone is a sentence that can be told without those around it.
var alone = regexp.MustCompile(`^[A-Za-z][A-Za-z ,;:'0-9-]{30,170}\.$`)

var dangling = regexp.MustCompile(`^(?i:this|that|these|those|it|they|he|she|so|but|and|then|thus|here|there|otherwise|see|note|doing|such|also|example|for example|if so|same|both|or|which|where|who|nolint|go:|todo)\b`)

// ending is the end of a sentence.
var ending = regexp.MustCompile(`\.(?: |$)`)

// remarksOf lists the remarks of a file.
func remarksOf(name string, lines []string) []remark {
	var out []remark
	for i := 0; i < len(lines); i++ {
		from := i
		var text strings.Builder
		var line []int // of each byte of text
		for ; i < len(lines); i++ {
			said, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "// ")
			if !ok {
				break
			}
			text.WriteString(strings.Join(strings.Fields(said), " ") + " ")
			for len(line) < text.Len() {
				line = append(line, i)
			}
		}
		if i == from {
			continue
		}
		at := 0
		for _, end := range ending.FindAllStringIndex(text.String(), -1) {
			sentence := strings.TrimSpace(text.String()[at : end[0]+1])
			first, last := line[at], line[end[0]]
			at = end[1]
			if alone.MatchString(sentence) && !dangling.MatchString(sentence) && last-first < longestQuote {
				out = append(out, remark{name, first + 1, last + 1, sentence, lines[first : last+1]})
			}
		}
	}
	return out
}
