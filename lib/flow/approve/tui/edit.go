package tui

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// edit is a text that a person wrote in place of a draft.
type edit struct {
	item     *approve.Item
	text     string
	problems []draft.Problem
	account  []verdict.Sentence
}

// approved describes the effect of an approval.
func approved(g *approve.Gate, said approve.Said, done string) string {
	if waits := said.Waits(); waits != "" {
		return done + ", " + waits + "; u takes it back"
	}
	return fmt.Sprintf("%s; posted in %v, u takes it back", done, g.Config.Gate.Grace())
}

// edit opens the person's editor on the draft, or on the text that they wrote before and did not send.
func (s *screen) edit(it *approve.Item) tea.Cmd {
	if it.Kind != approve.Draft {
		s.said = "! only a draft that waits can be edited"
		return nil
	}
	body := cmp.Or(s.texts[it.Key].text, s.Gate.View(it).Draft)
	dir, err := os.MkdirTemp("", "tri-edit-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "draft.md"), []byte(body), 0o600)
	}
	if err != nil {
		s.said = "! " + err.Error()
		return nil
	}
	file := filepath.Join(dir, "draft.md")
	argv := append(approve.Editor(), file)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout = term.File(s.Out) // an editor expects a terminal, not a pipe to one
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		return edited{it, file, err}
	})
}

// finishEdit shows the result of the editor. If the editor failed, or the text is empty or unchanged,
// nothing is decided; any other text is sent after confirmation.
func (s *screen) finishEdit(e edited) {
	b, err := os.ReadFile(e.file)
	_ = os.RemoveAll(filepath.Dir(e.file)) // at worst a file remains in the temporary folder
	body := approve.Edited(string(b))
	switch {
	case e.err != nil:
		err = fmt.Errorf("editor: %w; nothing was decided", e.err)
	case err != nil:
	case !utf8.ValidString(body):
		err = errors.New("the text is not valid UTF-8; nothing was decided")
	case strings.TrimSpace(body) == "":
		err = errors.New("the text is empty; nothing was decided")
	case body == s.Gate.View(e.item).Draft:
		delete(s.texts, e.item.Key)
		s.said = e.item.ID + ": the text is unchanged; nothing was decided"
		return
	}
	if err != nil {
		s.said = "! " + err.Error()
		return
	}
	account, _ := s.Gate.Account(e.item, body)
	s.sure = &edit{item: e.item, text: body, problems: s.Gate.Problems(e.item, body), account: account}
	s.texts[e.item.Key] = *s.sure
	s.said, s.top = "", 0
}

// content returns the lines to read: the current item, or the text to be confirmed.
func (s *screen) content() []string {
	if s.sure != nil {
		return s.sure.page(s.detailWidth())
	}
	return s.page
}

// page shows the text as it will be sent, and what is wrong with it.
func (e *edit) page(width int) []string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your text, %d characters, as it will be sent\n", utf8.RuneCountInString(e.text))
	for line := range strings.Lines(text.Visible(e.text)) {
		fmt.Fprintf(&b, "  │ %s\n", strings.TrimSuffix(line, "\n"))
	}
	for _, p := range e.problems {
		mark := "!"
		if p.Fatal {
			mark = "! it may not be sent:"
		}
		fmt.Fprintf(&b, "%s %s: %s\n", mark, text.Line(p.Name, 0), text.Line(p.Note, 0))
	}
	for i, said := range e.account {
		fmt.Fprintf(&b, "  sentence %d: %s: %s\n", i+1, text.Line(said.Label(), 0), text.Line(said.Text, 0))
	}
	return term.Wrap(b.String(), width)
}

// fatal reports whether the text may not be sent at all.
func (e *edit) fatal() bool {
	return slices.ContainsFunc(e.problems, func(p draft.Problem) bool { return p.Fatal })
}

// question is the question asked below the text.
func (e *edit) question() string {
	if e.fatal() {
		return "This text may not be sent. e edits it again, any other key leaves it"
	}
	return "Post this text instead of the draft? y/N, e edits it again"
}

// answer handles a key while an edited text awaits confirmation.
func (s *screen) answer(key string) tea.Cmd {
	e := s.sure
	switch key {
	case "space", "pgdown", "f":
		s.scroll(s.detailHeight() - 1)
		return nil
	case "b", "pgup":
		s.scroll(1 - s.detailHeight())
		return nil
	}
	s.sure, s.top = nil, 0
	switch {
	case key == "e":
		return s.edit(e.item)
	case key == "y" && !e.fatal():
		said, err := s.Gate.Edit(e.item, e.text)
		if err == nil {
			delete(s.texts, e.item.Key)
		}
		done := approved(&s.Gate, said, "approved with your text")
		if lesson := said.Proposes(); lesson != "" {
			done += "; " + lesson
		}
		s.tell(e.item, done, err)
	default:
		s.said = e.item.ID + ": nothing was decided; e opens your text again"
	}
	return nil
}
