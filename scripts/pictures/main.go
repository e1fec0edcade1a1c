// Pictures draws the screen of a terminal as SVG:
//
//	tmux capture-pane -ep | pictures [-columns N] [-title TEXT] >screen.svg
//
// It reads lines with SGR sequences (colours, bold, faint, reverse), as tmux prints them,
// and ignores every other sequence. scripts/pictures/draw makes all pictures of examples/pictures.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Sizes of a cell and of the frame around the screen, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 14
	titleBar   = 30
)

// palette has the sixteen colours of a dark terminal, each readable on background.
var palette = [16]string{
	"#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
	"#7f8796", "#ff7a85", "#b5e08f", "#ffd787", "#8ac6ff", "#dd9bf0", "#7fd6e0", "#ffffff",
}

const (
	background = "#1b1f27"
	foreground = "#d8dee9"
)

func main() {
	columns := flag.Int("columns", 80, "width of the screen in `cells`")
	title := flag.String("title", "", "`text` above the screen")
	flag.Parse()
	if err := draw(os.Stdin, os.Stdout, *columns, *title); err != nil {
		fmt.Fprintf(os.Stderr, "pictures: %v\n", err)
		os.Exit(70)
	}
}

// A style is how a run of cells looks; colours are empty where they are the default.
type style struct {
	fg, bg                string
	bold, faint, reversed bool
	underlined            bool
}

// draw writes the screen that r holds as one SVG image.
func draw(r io.Reader, w io.Writer, columns int, title string) error {
	var rows []string
	in := bufio.NewScanner(r)
	var s style
	for in.Scan() {
		row, next := line(in.Text(), s, len(rows))
		s = next
		rows = append(rows, row)
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read the screen: %w", err)
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	width := float64(columns)*cellWidth + 2*margin
	height := len(rows)*cellHeight + 2*margin + titleBar
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" `+
		`font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">`+"\n",
		width, height, width, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprintf(out, `<text x="50%%" y="20" text-anchor="middle" fill="%s" font-size="12">%s</text>`+"\n",
		palette[8], html.EscapeString(title))
	for i, name := range []int{1, 3, 2} {
		fmt.Fprintf(out, `<circle cx="%d" cy="16" r="5" fill="%s"/>`+"\n", 18+16*i, palette[name])
	}
	for _, row := range rows {
		out.WriteString(row)
	}
	out.WriteString("</svg>\n")
	return out.Flush()
}

// line draws one line of the screen, beginning with style s, and returns the style after it.
func line(text string, s style, row int) (string, style) {
	var b strings.Builder
	y := titleBar + margin + row*cellHeight
	column, begin := 0, 0
	var run strings.Builder
	flush := func() {
		if run.Len() > 0 {
			b.WriteString(cells(run.String(), s, begin, column, y))
		}
		run.Reset()
		begin = column
	}
	var state byte
	parser := ansi.GetParser()
	defer ansi.PutParser(parser)
	for len(text) > 0 {
		seq, width, n, next := ansi.DecodeSequence(text, state, parser)
		state, text = next, text[n:]
		switch {
		case width > 0:
			run.WriteString(seq)
			column += width
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			flush()
			s = s.set(seq[2 : len(seq)-1])
		}
	}
	flush()
	return b.String(), s
}

// cells draws text of one style from column begin to end; y is the top of the line.
func cells(text string, s style, begin, end, y int) string {
	fg, bg := s.fg, s.bg
	if fg == "" {
		fg = foreground
	}
	if s.reversed {
		if bg == "" {
			bg = background
		}
		fg, bg = bg, fg
	}
	x := margin + float64(begin)*cellWidth
	wide := float64(end-begin) * cellWidth
	var b strings.Builder
	if bg != "" {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
			x, y, wide, cellHeight, bg)
	}
	if strings.TrimSpace(text) == "" {
		return b.String()
	}
	attributes := ""
	if s.bold {
		attributes += ` font-weight="bold"`
	}
	if s.faint {
		attributes += ` opacity="0.65"`
	}
	if s.underlined {
		attributes += ` text-decoration="underline"`
	}
	fmt.Fprintf(&b, `<text xml:space="preserve" x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n",
		x, y+14, wide, fg, attributes, html.EscapeString(text))
	return b.String()
}

// set applies the numbers of one SGR sequence (ECMA-48 8.3.117).
func (s style) set(numbers string) style {
	var ns []int
	for _, f := range strings.FieldsFunc(numbers, func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return s
		}
		ns = append(ns, n)
	}
	if len(ns) == 0 {
		return style{}
	}
	for len(ns) > 0 {
		n := ns[0]
		ns = ns[1:]
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 4:
			s.underlined = true
		case n == 7:
			s.reversed = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 24:
			s.underlined = false
		case n == 27:
			s.reversed = false
		case n >= 30 && n <= 37:
			s.fg = palette[n-30]
		case n >= 90 && n <= 97:
			s.fg = palette[n-90+8]
		case n == 39:
			s.fg = ""
		case n >= 40 && n <= 47:
			s.bg = palette[n-40]
		case n >= 100 && n <= 107:
			s.bg = palette[n-100+8]
		case n == 49:
			s.bg = ""
		case n == 38 || n == 48:
			var c string
			if c, ns = colour(ns); n == 38 {
				s.fg = c
			} else {
				s.bg = c
			}
		}
	}
	return s
}

// colour reads what follows 38 or 48: 5 and an index, or 2 and red, green, blue.
func colour(ns []int) (string, []int) {
	switch {
	case len(ns) >= 2 && ns[0] == 5:
		return indexed(ns[1]), ns[2:]
	case len(ns) >= 4 && ns[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", ns[1]&255, ns[2]&255, ns[3]&255), ns[4:]
	}
	return "", nil
}

// indexed is a colour of xterm's table of 256.
func indexed(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return palette[n]
	case n >= 232:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := func(v int) int {
		if v == 0 {
			return 0
		}
		return 55 + 40*v
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}
