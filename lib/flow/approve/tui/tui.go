// Package tui shows the review queue on a full terminal screen, a key for each decision. It works in 80
// columns and 24 lines, over ssh, and without colour. With Plain it works line by line, for a screen
// reader.
package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
)

// Options configure a screen.
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
		return sysexit.Hint(sysexit.With(sysexit.Usage, errors.New("the screen needs a terminal")),
			"tri-approve list and show work without; tri-approve tui --plain goes line by line")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board, err := o.Gate.Watch(ctx)
	if err != nil {
		return err
	}
	m := newScreen(o, board)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithoutSignalHandler())
	_, err = p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("show the screen: %w", err))
	}
	return nil
}

// screen is the state of the screen.
type screen struct {
	Options
	board   *approve.Board
	chats   int // width of the list's column of chats
	names   int // width of its column of people
	items   []*approve.Item
	version int
	fault   error

	current int      // index in items
	id      string   // of the current item, to keep it current when the list changes
	page    []string // its full view, by line
	of      string   // the item and version that page shows
	top     int      // first visible line of page
	seen    int      // lines of page shown so far, from its beginning
	unseen  string   // the item whose draft may be approved without being read to its end

	said   string // the outcome of the last decision, until another item is shown
	asking *question
	sure   *edit           // a text awaiting confirmation
	texts  map[string]edit // texts written and not sent, by thread
	help   bool

	width, height int
	resized       bool // the page of the new width has not come yet
}

// question is a line being typed about an item, which may leave the list meanwhile.
type question struct {
	item  *approve.Item
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

// Messages of this package.
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

// take shows the current list, and keeps the same item current.
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
		s.id, s.top, s.seen, s.page, s.unseen, s.said = id, 0, 0, nil, "", ""
	}
}

func (s *screen) item() *approve.Item {
	if s.current < len(s.items) {
		return s.items[s.current]
	}
	return nil
}

// look prepares the full view of the current item in the background, since it may read files.
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
	g, width, dense := s.Gate, s.detailWidth(), !s.beside()
	return func() tea.Msg {
		var b bytes.Buffer
		if err := g.View(it).Print(&b, g.Now()); err != nil {
			return viewed{of, []string{err.Error()}}
		}
		page := term.Wrap(b.String(), width)
		if from, _ := draftLines(page); dense { // empty lines before the draft would take its room
			page = append(slices.DeleteFunc(page[:from:from], func(line string) bool { return line == "" }),
				page[from:]...)
		}
		return viewed{of, page}
	}
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height, s.seen, s.resized = msg.Width, msg.Height, 0, true
		return s, s.look()
	case changed:
		s.take()
		return s, tea.Batch(s.await(), s.look())
	case viewed:
		if msg.of == s.of {
			s.page = msg.page
			s.scroll(0)
			if s.resized {
				s.resized = false
				return s, tea.ClearScreen // the renderer leaves parts of lines wrapped for the old width
			}
		}
	case tick:
		return s, everySecond()
	case edited:
		s.finishEdit(msg)
		return s, s.look()
	case tea.PasteMsg: // elsewhere it would be keys
		if s.asking != nil {
			s.asking.add(msg.Content)
		}
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

// key handles a key.
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

// word makes a decision, or starts one that needs a line of text.
func (s *screen) word(k string) tea.Cmd {
	it := s.item()
	if it == nil {
		return nil
	}
	ask := func(kind, label string, must bool) {
		s.asking = &question{item: it, kind: kind, label: label, must: must}
	}
	switch k {
	case "a":
		if n := s.hidden(); it.Kind == approve.Draft && n > 0 && s.unseen != it.Name() {
			s.unseen = it.Name()
			s.said = text.Count(n, "line") +
				" of the draft not shown; a again approves it, space shows the rest"
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

// write handles a key while a line is being typed.
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
		s.decide(q.item, q.kind, text)
	case "backspace":
		q.text = q.text[:max(len(q.text)-1, 0)]
	case "ctrl+u":
		q.text = nil
	default:
		q.add(k.Text)
	}
}

// add appends typed or pasted text, as one line.
func (q *question) add(text string) {
	line := strings.Join(strings.FieldsFunc(text, unicode.IsControl), " ")
	q.text = append(q.text, []rune(line)...)
	q.text = q.text[:min(len(q.text), 2000)]
}

// decide makes a decision about the item shown.
func (s *screen) decide(it *approve.Item, kind, note string) {
	done, err := say(&s.Gate, it, kind, note)
	s.tell(it, done, err)
}

// hidden returns how many lines of the current draft have not been shown.
func (s *screen) hidden() int {
	at, end := draftLines(s.page)
	if len(s.page) == 0 {
		return 1
	}
	return max(0, end-max(s.seen, at))
}

// draftLines returns where the draft begins and ends in a page: the lines behind a bar after its heading and
// what is said of it. Outside text cannot form the heading.
func draftLines(page []string) (from, to int) {
	for i, line := range page {
		if !strings.HasPrefix(line, "Draft, ") {
			continue
		}
		for from = i + 1; from < len(page) && page[from] != "" &&
			!strings.HasPrefix(page[from], "  │"); from++ {
		}
		for to = from; to < len(page) && strings.HasPrefix(page[to], "  │"); to++ {
		}
		if to > from {
			return from, to
		}
	}
	return 0, 0
}

// say makes a decision and describes it.
func say(g *approve.Gate, it *approve.Item, kind, note string) (done string, err error) {
	if kind == decision.Settle {
		if it.Kind != approve.Parked {
			return "", errors.New("only a parked post is settled")
		}
		_, err = g.Settle(it, note, "")
		return note, err
	}
	said, err := g.Decide(it, kind, note)
	switch done = approve.Done[kind]; kind {
	case decision.Approve:
		done = approved(g, said, "approved")
	case decision.Dismiss:
		done += "; tri-approve reopen " + it.ID + ", or r here, investigates it again"
	}
	return done, err
}

// tell shows the outcome of a decision.
func (s *screen) tell(it *approve.Item, done string, err error) {
	s.board.Refresh()
	s.take() // may show the next item, before the outcome is set
	if s.said = it.ID + ": " + done; err != nil {
		s.said = "! " + err.Error()
	}
}
