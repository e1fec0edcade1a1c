package memory

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
)

// Headings of the two parts of an export.
const (
	coreHeading    = "## Core Lessons"
	workingHeading = "## Working Memory"
)

// export writes the used entries as Markdown: core lessons, then the others below a heading for each day and
// category. An entry is one line: "- [CATEGORY] text (ref: path#L1-L2)".
func export(w io.Writer, all []Shown) error {
	var b strings.Builder
	b.WriteString(coreHeading + "\n\n")
	for _, s := range all {
		if s.Used && s.Core {
			b.WriteString(item(&s.Entry))
		}
	}
	b.WriteString("\n" + workingHeading + "\n")
	last := ""
	for _, s := range all {
		if !s.Used || s.Core {
			continue
		}
		if head := fmt.Sprintf("\n## %s [%s]\n\n", day(s.At), s.Category); head != last {
			b.WriteString(head)
			last = head
		}
		b.WriteString(item(&s.Entry))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func item(e *memory.Entry) string {
	refs := ""
	for _, r := range e.Refs {
		if p, err := evidence.Parse(r.Ref); err == nil && r.Kind == draft.KindFile {
			refs += fmt.Sprintf(" (ref: %s#L%d-L%d)", p.Path, max(p.Start, 1), max(p.End, p.Start, 1))
		}
	}
	return fmt.Sprintf("- [%s] %s%s\n", e.Category, text.Line(e.Text, 0), refs)
}

var (
	itemLine = lazyregexp.New(`^- \[([A-Z]+)\] (.+)$`)
	refPart  = lazyregexp.New(` ?\(ref: ([^()#\s]+)#L([0-9]{1,7})(?:-L([0-9]{1,7}))?\)`)
)

// maxImport is the most that an imported file may have, in bytes.
const maxImport = 1 << 20

// Import reads entries in the form of Export and returns them as proposals by a person, each with receipts of
// the lines that it cites in the codebase now. Lines that are not entries, or whose lines cannot be read, are
// left out and named in problems.
func Import(r io.Reader, folder, by string,
	now time.Time) (words []memory.Word, problems []string, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase %q: %w", folder, err))
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(folder)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewScanner(io.LimitReader(r, maxImport))
	in.Buffer(nil, maxImport)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimRight(in.Text(), " \r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := itemLine.FindStringSubmatch(line)
		if m == nil {
			problems = append(problems,
				fmt.Sprintf("line %d: not of the form - [CATEGORY] text (ref: path#L1-L2)", n))
			continue
		}
		w := memory.Word{Kind: memory.Propose, By: by, Category: m[1], Codebase: folder}
		w.Text = strings.TrimSpace(refPart.ReplaceAllString(m[2], ""))
		for _, ref := range refPart.FindAllStringSubmatch(m[2], -1) {
			at := ref[1] + ":" + ref[2]
			if ref[3] != "" && ref[3] != ref[2] {
				at += "-" + ref[3]
			}
			w.Refs = append(w.Refs, draft.Ref{Kind: draft.KindFile, Ref: at, SupportsClaim: w.Text})
		}
		if w.Refs, err = cite(root, repo, w.Refs, now); err == nil {
			err = w.Check()
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", n, err))
			continue
		}
		words = append(words, w)
	}
	if err := in.Err(); err != nil {
		return nil, nil, fmt.Errorf("read the import: %w", err)
	}
	return words, problems, nil
}

// Note returns a person's entry, with receipts of the lines that it cites in the codebase now.
func Note(folder, by, category, said string, places []string, now time.Time) (memory.Word, error) {
	w := memory.Word{Kind: memory.Note, By: by, Text: said, Category: category, Codebase: folder}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return w, sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase %q: %w", folder, err))
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(folder)
	if err != nil {
		return w, err
	}
	for _, at := range places {
		w.Refs = append(w.Refs, draft.Ref{Kind: draft.KindFile, Ref: at, SupportsClaim: said})
	}
	if w.Refs, err = cite(root, repo, w.Refs, now); err != nil {
		return w, sysexit.With(sysexit.Data, err)
	}
	return w, nil
}

// cite returns refs to files with receipts of the lines that they name now.
func cite(root *os.Root, repo evidence.Repo, refs []draft.Ref, now time.Time) ([]draft.Ref, error) {
	if len(refs) == 0 {
		return nil, errors.New("the entry cites no line")
	}
	refs = evidence.Stamp(root, repo, refs, now)
	if i := slices.IndexFunc(refs, func(r draft.Ref) bool {
		return r.Receipt == nil || r.Receipt.Lines == ""
	}); i >= 0 {
		return nil, fmt.Errorf("%s: no such lines in the codebase", refs[i].Ref)
	}
	return refs, nil
}
