package steer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/lazyregexp"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// stamper makes receipts for the files that an agent is seen to read.
type stamper struct {
	root     *os.Root // nil: the codebase cannot be opened, as the agent will report
	repo     evidence.Repo
	codebase string
	now      func() time.Time
}

func newStamper(codebase string, now func() time.Time) *stamper {
	s := &stamper{now: now}
	var err error
	if s.codebase, err = filepath.Abs(codebase); err != nil || codebase == "" {
		return s
	}
	if s.root, err = os.OpenRoot(s.codebase); err != nil {
		s.root = nil
		return s
	}
	s.repo, _ = evidence.OpenRepo(s.codebase) // without one receipts have no commit
	return s
}

func (s *stamper) close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// reading matches the names of tools that read one file, in the programs that have adapters, and
// ACP's kind of such a tool.
var reading = lazyregexp.New(`(?i)^(read|view|open|fs_read|read_?file|text_editor|developer__text_editor)$`)

// shell matches the names of tools that run a command line.
var shell = lazyregexp.New(`(?i)^(bash|shell|execute|exec_command|run_shell_command|run_terminal_cmd|developer__shell)$`)

// prints are commands that print the files that they are given.
var prints = []string{"cat", "head", "tail", "sed", "nl"}

// maxWords bounds the words of a command line that are looked at.
const maxWords = 40

// readings returns the files that a tool call reads, if they are in the codebase.
func (s *stamper) readings(e agent.Event) (all []run.Reading) {
	switch {
	case s.root == nil:
	case reading.MatchString(e.Tool):
		if r, ok := s.stamp(e.Text, e.Lines); ok {
			all = append(all, r)
		}
	case shell.MatchString(e.Tool):
		words := strings.FieldsFunc(e.Text, func(r rune) bool {
			return strings.ContainsRune(" \t\n\"';|&()<>", r)
		})
		words = words[:min(len(words), maxWords)]
		i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(prints, w) })
		for _, w := range words[max(i, 0):] {
			if r, ok := s.stamp(w, ""); ok && i >= 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

// stamp returns the receipt of a file.
func (s *stamper) stamp(path, lines string) (run.Reading, bool) {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(s.codebase, path)
		if err != nil {
			return run.Reading{}, false
		}
		path = rel
	}
	if path = filepath.ToSlash(filepath.Clean(path)); !filepath.IsLocal(path) || path == "." {
		return run.Reading{}, false
	}
	ref := evidence.Stamp(s.root, s.repo, []draft.Ref{{Kind: draft.KindFile, Ref: path}}, s.now())[0]
	if ref.Receipt == nil {
		return run.Reading{}, false
	}
	return run.Reading{Path: path, Lines: lines, SHA256: ref.Receipt.SHA256, Commit: ref.Receipt.Commit}, true
}

// stands reports whether a file is as it was when it was read.
func (s *stamper) stands(r run.Reading) bool {
	if s.root == nil {
		return false
	}
	ok, _, err := evidence.StillStands(s.root, s.repo, draft.Ref{
		Kind: draft.KindFile, Ref: r.Path, Receipt: &draft.Receipt{Commit: r.Commit, SHA256: r.SHA256},
	})
	return ok && err == nil
}
