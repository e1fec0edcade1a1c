package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// width is the maximum width of a report, in columns.
const width = 80

// sheet collects the text of a report. Text added by cell contains no terminal control sequences.
type sheet struct {
	strings.Builder
	colour bool
}

// newSheet returns a sheet, with colours if w is a terminal.
func newSheet(w io.Writer) *sheet { return &sheet{colour: term.Colors(w)} }

// send writes the sheet.
func (s *sheet) send(w io.Writer) error {
	_, err := io.WriteString(w, s.String())
	return sysexit.With(sysexit.IO, err)
}

func (s *sheet) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// paint colours a word of the report green, red or yellow, on a terminal.
func (s *sheet) paint(text string, good, bad bool) string {
	switch {
	case !s.colour:
		return text
	case good:
		return "\x1b[32m" + text + "\x1b[0m"
	case bad:
		return "\x1b[31m" + text + "\x1b[0m"
	}
	return "\x1b[33m" + text + "\x1b[0m"
}

// rows are the lines of a table. The first cell of each is a name; the others are numbers, aligned
// to the right.
type rows [][]string

// table writes rows; the names get the remaining width.
func (s *sheet) table(r rows) {
	var wide []int
	for _, row := range r {
		for i, c := range row {
			if len(wide) <= i {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], columns(c))
		}
	}
	rest := 0
	for _, w := range wide[min(1, len(wide)):] {
		rest += w + 2
	}
	for _, row := range r {
		line := ""
		for i, c := range row {
			if i == 0 {
				in := c[:len(c)-len(strings.TrimLeft(c, " "))]
				c = in + fit(c, width-2-rest-len(in))
				line = "  " + c + strings.Repeat(" ", max(0, min(wide[0], width-2-rest)-columns(c)))
				continue
			}
			line += strings.Repeat(" ", 2+wide[i]-columns(c)) + c
		}
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// columns returns the width of a text on a terminal.
func columns(s string) int { return uniseg.StringWidth(s) }

// fit cuts outside text to most columns of a line.
func fit(body string, most int) string { return term.Cut(text.Line(body, 0), most) }

// wrap writes a text after a mark, in lines that fit.
func (s *sheet) wrap(mark, body string) {
	for i, line := range append(term.Wrap(text.Line(body, 0), width-columns(mark)), "") {
		if line = strings.TrimSpace(line); i == 0 || line != "" {
			s.WriteString(strings.TrimRight(mark+line, " ") + "\n")
		}
		mark = strings.Repeat(" ", columns(mark))
	}
}

// took returns a duration in short form: 40s, 12m, 3.5h, 2.1d.
func took(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1fh", d.Hours())
	}
	return fmt.Sprintf("%.1fd", d.Hours()/24)
}

func seconds(s float64) string { return took(time.Duration(s * float64(time.Second))) }

func percent(x float64) string {
	if x > 0 && x < 0.1 {
		return fmt.Sprintf("%.1f%%", 100*x)
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}
