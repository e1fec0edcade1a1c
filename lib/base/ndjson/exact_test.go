package ndjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestNumbers: of every text of up to five characters that could be a number,
// those are taken that encoding/json takes.
func TestNumbers(t *testing.T) {
	const letters = "-+.eE019"
	texts := []string{""}
	for i := 0; i < len(texts); i++ {
		if text := texts[i]; len(text) < 5 {
			for _, c := range letters {
				texts = append(texts, text+string(c))
			}
		}
		line := fmt.Appendf(nil, `{"a":%s}`, texts[i])
		if err := Check(line); (err == nil) != json.Valid(line) {
			t.Fatalf("%s: %v", line, err)
		}
		if err := Check(line[:len(line)-1]); err == nil {
			t.Fatalf("%s: half a line was taken", line)
		}
	}
}

// TestPlain: the first byte that ends a run of ordinary bytes is found at any position, and no
// other byte ends a run.
func TestPlain(t *testing.T) {
	for c := range 256 {
		ends := c < 0x20 || c == '"' || c == '\\'
		for at := range 27 {
			b := bytes.Repeat([]byte{'x'}, 27)
			b[at] = byte(c)
			for from := range 10 {
				want := len(b)
				if ends && at >= from {
					want = at
				}
				if got := plain(b, from); got != want {
					t.Fatalf("byte %#x at %d, from %d: %d", c, at, from, got)
				}
			}
		}
	}
}

// TestEscapes: every code unit alone, and every pair about the bounds of surrogates.
func TestEscapes(t *testing.T) {
	check := func(inside string, ok bool) {
		t.Helper()
		line := []byte(`{"a":"` + inside + `"}`)
		if err := Check(line); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
	for u := range 1 << 16 {
		check(fmt.Sprintf(`\u%04x`, u), u < 0xd800 || u > 0xdfff)
	}
	bounds := []int{0x41, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000}
	for _, a := range bounds {
		for _, b := range bounds {
			high, low := 0xd800 <= a && a <= 0xdbff, 0xdc00 <= b && b <= 0xdfff
			bmp := (a < 0xd800 || a > 0xdfff) && (b < 0xd800 || b > 0xdfff)
			check(fmt.Sprintf(`\u%04X\u%04x`, a, b), high && low || bmp)
		}
	}
	for c := range 256 {
		line := []byte(`{"a":"\u00__"}`)
		digit := strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) && c < 0x80
		for i := range 4 {
			copy(line[8:], "0000")
			line[8+i] = byte(c)
			if err := Check(line); (err == nil) != digit {
				t.Errorf("%q: %v", line, err)
			}
		}
		line = []byte(`{"a":"\_"}`)
		line[7] = byte(c)
		if err := Check(line); (err == nil) != strings.ContainsRune(`"\/bfnrt`, rune(c)) {
			t.Errorf("%q: %v", line, err)
		}
	}
	whole := `{"a":"\ud83d\ude00"}`
	for n := range len(whole) {
		if err := Check([]byte(whole[:n])); err == nil {
			t.Errorf("%s: taken", whole[:n])
		}
	}
	for inside, says := range map[string]string{
		`\ud83dx`: `lone surrogate \ud83d at byte 6`, `\ud83d\n`: `lone surrogate \ud83d at byte 6`,
		`\ud83d\u00`: `unexpected '"' in an escape`, `\ud83dxude00`: `lone surrogate \ud83d at byte 6`,
		`\ude00\ude00`: `lone surrogate \ude00 at byte 6`,
	} {
		if err := Check([]byte(`{"a":"` + inside + `"}`)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", inside, err, says)
		}
	}
}

// TestBatches are bounded in lines and in bytes, small ones too, and never empty.
func TestBatches(t *testing.T) {
	long := strings.Repeat("l", 700<<10) // makes the buffer grow
	for _, tt := range []struct {
		name, in string
		lines    int // in all
		full     bool
	}{
		{"short lines", strings.Repeat("x\n", 3000), 3000, true},
		{"longer ones", long + "\n" + strings.Repeat(strings.Repeat("y", 2047)+"\n", 1000), 1001, false},
		{"blank at the end", "a\n  ", 1, false},
		{"only blank", "\n\n \n", 0, false},
	} {
		for _, most := range []struct{ lines, size int }{{batchMax, batchSize}, {smallMax, smallSize}} {
			r := NewReader(strings.NewReader(tt.in), "test", 0, 0)
			if most.lines == smallMax {
				r.Small()
			}
			var b Batch
			lines := 0
			var err error
			for err = r.Next(&b); err == nil; err = r.Next(&b) {
				size := 0
				for _, l := range b.Lines {
					if size += len(l.Bytes); l.Seq != -1 {
						t.Fatalf("%s: seq %d", tt.name, l.Seq)
					}
				}
				if lines += len(b.Lines); len(b.Lines) == 0 || len(b.Lines) > most.lines ||
					size != b.Size() || size > most.size+2047 && size != len(long) {
					t.Fatalf("%s: a batch of %d lines and %d bytes, said to be %d", tt.name, len(b.Lines),
						size, b.Size())
				}
				if tt.full && lines < 2560 && len(b.Lines) != most.lines {
					t.Fatalf("only %d lines of many", len(b.Lines))
				}
			}
			if err != io.EOF || lines != tt.lines {
				t.Errorf("%s: %d lines, %v", tt.name, lines, err)
			}
		}
	}
}

// TestNoProgress: a source that gives nothing and no error ends the reading.
func TestNoProgress(t *testing.T) {
	r := NewReader(iotest.ErrReader(nil), "test", 0, 0)
	var b Batch
	if err := r.Next(&b); err != io.ErrNoProgress {
		t.Errorf("%v, want %v", err, io.ErrNoProgress)
	}
}
