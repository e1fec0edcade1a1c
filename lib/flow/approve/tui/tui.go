// Package tui shows the review queue on a full terminal screen, a key for each decision.
// It works in 80 columns and 24 lines, over ssh, and without colour; with Plain it goes
// line by line, for a screen reader.
package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
)

// Options are what a screen is made of.
type Options struct {
	Gate  approve.Gate
	In    io.Reader
	Out   io.Writer
	Color bool
	Plain bool // line by line instead
}

// Run shows the screen until the person leaves it, or ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.Plain {
		return linewise(ctx, o)
	}
	if !term.Is(o.In) || !term.Is(o.Out) {
		return sysexit.Hint(sysexit.With(sysexit.Usage, errors.New("the screen needs a terminal")), "tri-approve list and show work without; tri-approve tui --plain goes line by line")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board, err := o.Gate.Watch(ctx)
	if err != nil {
		return err
	}
	m := newScreen(o, board)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
	_, err = p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("show the screen: %w", err))
	}
	return nil
}

// screen is what is shown.
type screen struct {
	Options
	board   *approve.Board
	chats   int // columns of the list's names of chats
	names   int // and of people
	items   []*approve.Item
	version int
	fault   error

	current int      // in items
	id      string   // of the current item, to stay with it when the list moves
	page    []string // everything about it, a line each
	of      string   // the item and version that page is of
	top     int      // first line of page that is shown
	seen    int      // lines of page that were shown, from its begin
	unseen  string   // the item whose draft may be approved without being seen to its end

	said   string // what came of the last word
	asking *question
	sure   *edit           // a text that is sent on a yes
	texts  map[string]edit // that were written and not sent, by the item's name
	help   bool

	width, height int
}

// question is a line that the person is writing.
type question struct {
	kind  string // decision kind
	label string
	text  []rune
	must  bool
}

func newScreen(o Options, b *approve.Board) *screen {
	s := &screen{Options: o, board: b, width: 80, height: 24, texts: map[string]edit{}}
	s.take()
	return s
}

// Messages of our own.
type (
	changed struct{}
	viewed  struct {
		of   string
		page []string
	}
	edited struct {
		item *approve.Item
		file string
		err  error
	}
	tick time.Time
)

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return tea.Batch(s.await(), s.look(), everySecond()) }

// await waits for the list to change.
func (s *screen) await() tea.Cmd {
	c := s.board.Changed()
	return func() tea.Msg {
		<-c
		return changed{}
	}
}

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

// take shows the list as it is now, and stays with the item that was current.
func (s *screen) take() {
	s.items, s.version, s.fault = s.board.Items()
	s.measure()
	at := min(s.current, max(len(s.items)-1, 0))
	for i, it := range s.items {
		if it.ID == s.id {
			at = i
		}
	}
	s.move(at)
}

func (s *screen) move(to int) {
	s.current = min(max(to, 0), max(len(s.items)-1, 0))
	id := ""
	if it := s.item(); it != nil {
		id = it.ID
	}
	if id != s.id {
		s.id, s.top, s.seen, s.page, s.unseen = id, 0, 0, nil, ""
	}
}

func (s *screen) item() *approve.Item {
	if s.current < len(s.items) {
		return s.items[s.current]
	}
	return nil
}

// look reads everything about the current item: files may have to be read.
func (s *screen) look() tea.Cmd {
	it := s.item()
	if it == nil {
		return nil
	}
	of := fmt.Sprint(it.ID, s.version, s.detailWidth())
	if of == s.of {
		return nil
	}
	s.of = of
	g, width := s.Gate, s.detailWidth()
	return func() tea.Msg {
		var b bytes.Buffer
		if err := g.View(it).Print(&b, g.Now()); err != nil {
			return viewed{of, []string{err.Error()}}
		}
		return viewed{of, wrap(b.String(), width)}
	}
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height, s.seen = msg.Width, msg.Height, 0
		return s, s.look()
	case changed:
		s.take()
		return s, tea.Batch(s.await(), s.look())
	case viewed:
		if msg.of == s.of {
			s.page = msg.page
			s.scroll(0)
		}
	case tick:
		return s, everySecond()
	case edited:
		s.finishEdit(msg)
		return s, s.look()
	case tea.KeyPressMsg:
		if s.sure != nil {
			return s, tea.Batch(s.answer(msg.String()), s.look())
		}
		if s.asking != nil {
			s.write(msg)
			return s, s.look()
		}
		cmd := s.key(msg.String())
		return s, tea.Batch(cmd, s.look())
	}
	return s, nil
}

func (s *screen) scroll(lines int) {
	s.top = min(max(s.top+lines, 0), max(len(s.content())-s.detailHeight(), 0))
	if s.sure == nil {
		s.seen = max(s.seen, s.top+s.detailHeight())
	}
}

// key does what one key says.
func (s *screen) key(k string) tea.Cmd {
	help := s.help
	s.help = false
	switch k {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		s.help = !help
	case "esc":
	case "j", "down", "n":
		s.move(s.current + 1)
	case "k", "up", "p":
		s.move(s.current - 1)
	case "g", "home":
		s.move(0)
	case "G", "end":
		s.move(len(s.items) - 1)
	case "space", "pgdown", "f":
		s.scroll(s.detailHeight() - 1)
	case "b", "pgup":
		s.scroll(1 - s.detailHeight())
	case "ctrl+d", "J":
		s.scroll(3)
	case "ctrl+u", "K":
		s.scroll(-3)
	default:
		return s.word(k)
	}
	return nil
}

// word is a decision, or begins one that takes a line.
func (s *screen) word(k string) tea.Cmd {
	it := s.item()
	if it == nil {
		return nil
	}
	ask := func(kind, label string, must bool) { s.asking = &question{kind: kind, label: label, must: must} }
	switch k {
	case "a":
		if n := s.hidden(); it.Kind == approve.Draft && n > 0 && s.unseen != it.Name() {
			s.unseen = it.Name()
			s.said = fmt.Sprintf("%d lines of the draft not shown; a again approves it, space shows them", n)
			return nil
		}
		s.decide(it, decision.Approve, "")
	case "u":
		s.decide(it, decision.Undo, "")
	case "e":
		return s.edit(it)
	case "r":
		ask(decision.Redo, "investigate again; look at", false)
	case "w":
		ask(decision.Answer, "your answer", true)
	case "d":
		ask(decision.Dismiss, "post nothing; because", false)
	case "l":
		ask(decision.Escalate, "look for longer; at", false)
	case "s":
		ask(decision.Settle, "posted, retry or drop", true)
	}
	return nil
}

// write takes a key of a line that is being written.
func (s *screen) write(k tea.KeyPressMsg) {
	q := s.asking
	switch k.String() {
	case "esc", "ctrl+c":
		s.asking, s.said = nil, ""
	case "enter":
		text := strings.TrimSpace(string(q.text))
		if q.must && text == "" {
			return
		}
		s.asking = nil
		if it := s.item(); it != nil {
			s.decide(it, q.kind, text)
		}
	case "backspace":
		q.text = q.text[:max(len(q.text)-1, 0)]
	case "ctrl+u":
		q.text = nil
	default:
		if t := k.Text; t != "" && len(q.text) < 2000 {
			q.text = append(q.text, []rune(t)...)
		}
	}
}

// decide says a word about the item that the person sees.
func (s *screen) decide(it *approve.Item, kind, note string) {
	done, err := say(&s.Gate, it, kind, note)
	s.tell(it, done, err)
}

// hidden is how many lines of the current draft the person has not had before them.
func (s *screen) hidden() int {
	at, end := draftLines(s.page)
	if len(s.page) == 0 {
		return 1
	}
	return max(0, end-max(s.seen, at))
}

// draftLines is where the draft begins and ends in a page: behind its heading, as far
// as lines are behind a bar. What came from outside begins no heading.
func draftLines(page []string) (from, to int) {
	for i, line := range page {
		if !strings.HasPrefix(line, "Draft, ") {
			continue
		}
		for from = i + 1; from < len(page) && page[from] != "" && !strings.HasPrefix(page[from], "  │"); from++ {
		} // the heading's own second line
		for to = from; to < len(page) && strings.HasPrefix(page[to], "  │"); to++ {
		}
		if to > from {
			return from, to
		}
	}
	return 0, 0
}

// say has a gate decide, and tells what was done.
func say(g *approve.Gate, it *approve.Item, kind, note string) (done string, err error) {
	switch kind {
	case decision.Approve:
		var said approve.Said
		said, err = g.Approve(it)
		done = approved(g, said, "approved")
	case decision.Undo:
		_, err = g.Undo(it)
		done = "taken back"
	case decision.Redo:
		_, err = g.Redo(it, note)
		done = "investigated again"
	case decision.Answer:
		_, err = g.Answer(it, note)
		done = "investigated with your answer"
	case decision.Dismiss:
		_, err = g.Dismiss(it, note)
		done = "dismissed"
	case decision.Escalate:
		_, err = g.Escalate(it, note)
		done = "looked into for longer"
	case decision.Settle:
		if it.Kind != approve.Parked {
			return "", errors.New("only a parked post is settled")
		}
		_, err = g.Settle(it, note, "")
		done = note
	}
	return done, err
}

// tell shows what came of a word.
func (s *screen) tell(it *approve.Item, done string, err error) {
	if s.said = it.ID + ": " + done; err != nil {
		s.said = "! " + err.Error()
	}
	s.board.Refresh()
	s.take()
}
