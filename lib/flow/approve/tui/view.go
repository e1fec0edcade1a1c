package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
)

// The list is above the item, or beside it if there is room for both.
const wide = 130 // minimum width in columns for the list beside the item

// listWidth returns the width of the list beside the item.
func (s *screen) listWidth() int { return min(s.width*2/5, 90) }

func (s *screen) beside() bool { return s.width >= wide }

// listHeight returns the number of rows of the list: a few of a small screen, most of which is the draft's.
func (s *screen) listHeight() int {
	if s.beside() {
		return max(s.height-3, 1)
	}
	return min(max(len(s.items), 1), max((s.height-4)/6, 1))
}

func (s *screen) detailHeight() int {
	if s.beside() {
		return max(s.height-3, 1)
	}
	return max(s.height-4-s.listHeight(), 1)
}

func (s *screen) detailWidth() int {
	if s.beside() {
		return s.width - s.listWidth() - 3
	}
	return s.width
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	v := tea.NewView(strings.Join(s.lines(), "\n"))
	v.AltScreen = true
	return v
}

func (s *screen) lines() []string {
	waiting := 0
	for _, it := range s.items {
		if it.Waits() {
			waiting++
		}
	}
	who := cmp.Or(text.Visible(s.Gate.By), "no name, so you may not decide: --as NAME, or TRI_USER")
	lines := []string{s.paint(bold, fit(fmt.Sprintf("tri  %d waiting%s  %s", waiting, s.room(), who), s.width))}
	list, detail := s.list(), s.detail()
	if s.beside() {
		for i := range list {
			lines = append(lines, list[i]+" │ "+detail[i])
		}
	} else {
		lines = append(append(append(lines, list...), strings.Repeat("─", s.width)), detail...)
	}
	return append(lines, s.foot()...)
}

// room names the chat that is shown, if it is only one.
func (s *screen) room() string {
	if s.Gate.Room == "" {
		return ""
	}
	return " in " + text.Line(s.Gate.Room, mostName)
}

// list shows the rows around the current one.
func (s *screen) list() []string {
	height, width := s.listHeight(), s.width
	if s.beside() {
		width = s.listWidth()
	}
	first := min(max(s.current-height/2, 0), max(len(s.items)-height, 0))
	rows := make([]string, 0, height)
	for i := first; i < len(s.items) && len(rows) < height; i++ {
		rows = append(rows, s.row(i, width))
	}
	if len(s.items) == 0 {
		rows = append(rows, fit("nothing waits"+s.room()+"; this screen shows when something does", width))
	}
	for len(rows) < height {
		rows = append(rows, strings.Repeat(" ", width))
	}
	return rows
}

func (s *screen) row(i, width int) string {
	it := s.items[i]
	mark := "  "
	if i == s.current {
		mark = "> "
	}
	at, _ := time.Parse(time.RFC3339, it.Since) // Age shows ? for the zero time
	state := strings.TrimPrefix(it.Checked(), "confidence ")
	if !it.Waits() {
		state = it.Note
	}
	state = text.Line(state, max(width/3, 20))
	if !it.Waits() {
		state += s.grace(it)
	}
	body := fmt.Sprintf("%s%4s %s %s %s", mark, term.Age(at, s.Gate.Now()),
		fit(text.Line(it.ChatName, 0), s.chats), fit(text.Line(it.Who, 0), s.names),
		text.Line(it.Question, 0))
	if state != "" {
		left := max(width-uniseg.StringWidth(state)-1, 20)
		body = fit(body, left) + " " + state
	}
	body = fit(body, width)
	if i == s.current {
		return s.paint(reverse, body)
	}
	if !it.Waits() {
		return s.paint(dim, body)
	}
	return body
}

// measure computes the widths of the columns of chats and people.
func (s *screen) measure() {
	s.chats, s.names = 0, 0
	for _, it := range s.items {
		s.chats = min(max(s.chats, uniseg.StringWidth(text.Line(it.ChatName, 0))), mostName)
		s.names = min(max(s.names, uniseg.StringWidth(text.Line(it.Who, 0))), mostName)
	}
}

const mostName = 14

// grace shows how long an approval can still be undone.
func (s *screen) grace(it *approve.Item) string {
	at := it.ApprovedAt()
	if it.Kind != approve.Approved || at.IsZero() {
		return ""
	}
	return fmt.Sprintf(", posted in %ds",
		max(0, int((s.Gate.Config.Gate.Grace()-s.Gate.Now().Sub(at)).Seconds())))
}

// detail shows the visible part of the page.
func (s *screen) detail() []string {
	height, width := s.detailHeight(), s.detailWidth()
	rows := make([]string, 0, height)
	if s.help {
		for line := range strings.Lines(keys) {
			rows = append(rows, fit(strings.TrimRight(line, "\n"), width))
		}
		rows = rows[:min(len(rows), height)]
	} else {
		page := s.content()
		code := fenced(page)
		for i := min(s.top, len(page)); i < min(s.top+height, len(page)); i++ {
			rows = append(rows, s.style(fit(page[i], width), code[i]))
		}
	}
	for len(rows) < height {
		rows = append(rows, strings.Repeat(" ", width))
	}
	return rows
}

// fenced returns the styles of a page's lines of code and of the fences around them, as a chat shows them.
func fenced(page []string) []string {
	styles, style := make([]string, len(page)), ""
	for i, line := range page {
		text, quoted := strings.CutPrefix(line, "  │ ")
		switch {
		case !quoted:
			style = ""
		case !strings.HasPrefix(text, "```"):
			styles[i] = style
		case style == "":
			styles[i], style = dim, cyan
		default:
			styles[i], style = dim, ""
		}
	}
	return styles
}

// style highlights headings, warnings and code; outside text is behind a bar or indented.
func (s *screen) style(line, code string) string {
	switch {
	case code != "":
		return s.paint(code, line)
	case strings.HasPrefix(line, "! "):
		return s.paint(bold, line)
	case line != "" && line[0] != ' ':
		return s.paint(bold, line)
	}
	return line
}

const keys = `a  approve, byte for byte          e  edit in $EDITOR and approve
r  another round, with a note      w  answer what it asks
d  dismiss, with a reason          l  investigate in a long run
u  undo, until it is posted        s  settle a parked post
r  on a dismissed one: reopen it    G  the end, where dismissed ones are
j k  next, previous                space b  page down, up
?  these keys, and back            q  leave
The first valid decision counts; the log keeps all.`

// foot shows the last outcome or the line being typed, and the keys.
func (s *screen) foot() []string {
	more := ""
	if below := len(s.content()) - s.top - s.detailHeight(); below > 0 && !s.help {
		more = fmt.Sprintf("  (%d lines more: space)", below)
	}
	said := text.Line(s.said, 0) + more
	if s.fault != nil {
		said = "! " + text.Line(s.fault.Error(), 0)
	}
	if q := s.asking; q != nil {
		said = q.label + ": " + tail(text.Line(string(q.text), 0),
			s.width-uniseg.StringWidth(q.label)-4) + "_"
	}
	keys := "a approve  e edit  r redo  w answer  d dismiss  l longer  u undo  ? keys  q quit"
	if it := s.item(); it != nil && it.Kind == approve.Ended {
		keys = "r reopen  j k next, previous  ? keys  q quit"
	}
	switch {
	case s.sure != nil:
		said, keys = s.sure.question()+more,
			"y posts it  e edits it again  space, b page  any other key decides nothing"
		if s.sure.fatal() {
			keys = strings.TrimPrefix(keys, "y posts it  ")
		}
	case s.asking != nil:
		keys = "enter sends it  esc cancels  ctrl+u clears the line"
	case s.help:
		keys = "? or esc closes this"
	}
	return []string{s.paint(bold, fit(said, s.width)), s.paint(dim, fit(keys, s.width))}
}

// Styles, as SGR parameters.
const (
	bold    = "1"
	dim     = "2"
	reverse = "7"
	cyan    = "36"
)

// paint applies a style if colour is on. Without it, a mark shows which row is current.
func (s *screen) paint(style, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// fit cuts or pads a line to a width in columns.
func fit(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = term.Cut(text, width)
	return text + strings.Repeat(" ", max(width-uniseg.StringWidth(text), 0))
}

// tail returns the end of a line, at most width columns wide.
func tail(text string, width int) string {
	for uniseg.StringWidth(text) > max(width, 1) {
		_, rest, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
		text = rest
	}
	return text
}
