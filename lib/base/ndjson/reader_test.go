package ndjson

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns all lines, copied.
func readAll(t *testing.T, src io.Reader) []Line {
	t.Helper()
	r := NewReader(src, "test", 0, 0)
	var all []Line
	var b Batch
	for {
		err := r.Next(&b)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Lines {
			l.Bytes = slices.Clone(l.Bytes)
			all = append(all, l)
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, tt := range []struct {
		name, in string
		want     []string // line:offset:text
	}{
		{"nothing", "", nil},
		{"lines", "a\nb\n", []string{"1:0:a", "2:2:b"}},
		{"last without newline", "a\nb", []string{"1:0:a", "2:2:b"}},
		{"blank lines count", "\n \t\r\n\na\n\n", []string{"4:6:a"}},
		{"carriage returns stay", "a\r\nb\r\n", []string{"1:0:a\r", "2:3:b\r"}},
		{"as long as may be", long + "\nb\n", []string{"1:0:" + long, fmt.Sprintf("2:%d:b", MaxLine+1)}},
		{"too long", "a\nx" + long + "\nb\n",
			[]string{"1:0:a", "2:2:LONG", fmt.Sprintf("3:%d:b", MaxLine+4)}},
		{"far too long", strings.Repeat(long, 5) + "\nb",
			[]string{"1:0:LONG", fmt.Sprintf("2:%d:b", 5*MaxLine+1)}},
		{"too long at the end", "a\n" + long + long, []string{"1:0:a", "2:2:LONG"}},
		{"too long twice", long + "x\n" + long + "y\n",
			[]string{"1:0:LONG", fmt.Sprintf("2:%d:LONG", MaxLine+2)}},
	} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader {
				return r
			}, "halves": iotest.HalfReader, "with error": iotest.DataErrReader,
		} {
			t.Run(tt.name+" "+kind, func(t *testing.T) {
				var got []string
				for _, l := range readAll(t, wrap(strings.NewReader(tt.in))) {
					text := string(l.Bytes)
					if l.Long {
						text = "LONG"
					}
					got = append(got, fmt.Sprintf("%d:%d:%s", l.Record.Line, l.Offset, text))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %.80q, want %.80q", got, tt.want)
				}
			})
		}
	}
}

func TestReaderByteByByte(t *testing.T) {
	in := "{\"a\":1}\n\n{\"b\":2}\nlast"
	got := readAll(t, iotest.OneByteReader(strings.NewReader(in)))
	if len(got) != 3 || string(got[2].Bytes) != "last" || got[2].Offset != 17 || got[2].Line != 4 {
		t.Errorf("got %+v", got)
	}
}

// TestReaderKeepsTheErrorForLast: whole lines come before the error, and half a
// line is not a record when its source failed.
func TestReaderKeepsTheErrorForLast(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(boom)), "test", 0, 0)
	var b Batch
	if err := r.Next(&b); err != nil || len(b.Lines) != 1 || string(b.Lines[0].Bytes) != "a" {
		t.Errorf("got %v, %v", b.Lines, err)
	}
	if err := r.Next(&b); err != boom {
		t.Errorf("got %v, want boom", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestEndlessLine: a quarter of a gigabyte without a newline is not held in memory.
func TestEndlessLine(t *testing.T) {
	src := io.MultiReader(io.LimitReader(endless{}, 1<<28), strings.NewReader("\n{}\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := readAll(t, src)
	runtime.ReadMemStats(&after)
	if len(lines) != 2 || !lines[0].Long || lines[1].Offset != 1<<28+1 || lines[1].Line != 2 {
		t.Errorf("got %d lines", len(lines))
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
}
