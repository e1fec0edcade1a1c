package durable

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/ndjson"
)

// TestTail: a repeated read continues after the last whole line, even if that line is too long.
func TestTail(t *testing.T) {
	h := home(t)
	long := strings.Repeat("x", ndjson.MaxLine+9)
	text := "one\n" + long + "\ntwo\ntorn"
	var got []string
	at := int64(0)
	read := func() {
		t.Helper()
		if err := h.Tail("log", at, func(line []byte, next int64) error {
			got, at = append(got, string(line)), next
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	read() // the file does not exist
	for _, add := range []string{text, " no more\n", "three\n"} {
		f, err := h.Root().OpenFile("log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(add); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		read()
		read()
	}
	if want := []string{"one", "two", "torn no more", "three"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
