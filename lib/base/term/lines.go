package term

import (
	"bytes"
	"io"
)

// Lines returns a writer that shows each record written to out, which is a terminal, as the line that show
// makes of it, cut to the terminal's width; a record for which show returns nothing is left out. Where out
// is no terminal, it returns out.
func Lines(out io.Writer, show func(record []byte) string) io.Writer {
	if !Is(out) {
		return out
	}
	return &lines{out: out, show: show}
}

type lines struct {
	out  io.Writer
	show func([]byte) string
	rest []byte // of a record whose end has not been written yet
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	var shown []byte
	width := Width(l.out)
	for {
		record, rest, found := bytes.Cut(l.rest, []byte{'\n'})
		if !found {
			break
		}
		if line := l.show(record); line != "" {
			shown = append(append(shown, Cut(line, width)...), '\n')
		}
		l.rest = rest
	}
	if len(shown) > 0 {
		if _, err := l.out.Write(shown); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
