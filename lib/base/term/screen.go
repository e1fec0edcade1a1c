package term

import (
	"io"
	"os"
	"unicode/utf8"

	"tri/lib/base/text"
)

// screen is a terminal that gets no character of another's text that acts on it: those that are not
// ASCII are written as in JSON, \u202e. ASCII control characters are the program's own: JSON has none
// raw, and other text passes through text.Visible.
// The file is not embedded: io.Copy and io.WriteString would take its methods instead of Write.
type screen struct {
	f    *os.File
	rest []byte // the beginning of a character that the next Write completes
}

// Screen returns f, or a writer for records and prose if f is a terminal.
func Screen(f *os.File) io.Writer {
	if !Is(f) {
		return f
	}
	return &screen{f: f}
}

// File returns the file behind a writer of Screen, which a child process needs itself, else end.
func File(end io.Writer) io.Writer {
	if s, ok := end.(*screen); ok {
		return s.f
	}
	return end
}

// Fd, Read and Close are what a library asks of a terminal.
func (s *screen) Fd() uintptr                { return s.f.Fd() }
func (s *screen) Read(p []byte) (int, error) { return s.f.Read(p) }
func (s *screen) Close() error               { return s.f.Close() }

func (s *screen) Write(p []byte) (int, error) {
	b := append(s.rest, p...)
	whole := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				whole -= i
			}
			break
		}
	}
	s.rest = append([]byte(nil), b[whole:]...)
	if _, err := s.f.WriteString(text.Escape(string(b[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
