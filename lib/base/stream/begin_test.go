package stream

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"testing"

	"tri/lib/base/ndjson"
)

// TestBegin: what a stage looks at in Begin is new for each record that was waited for.
func TestBegin(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	clock, begun := 0, 0
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx(t), Input{Stdin: in, After: -1}, Output{Stdout: out}, Stage[ndjson.Record]{
			Prepare: func(rec ndjson.Record, t *ndjson.Record) error { *t = rec; return nil },
			Begin:   func() { clock++; begun = clock },
			Emit: func(dst []byte, _ *ndjson.Record) ([]byte, error) {
				return fmt.Appendln(dst, begun), nil
			},
		})
		out.Close()
		done <- err
	}()
	lines := bufio.NewScanner(read)
	for n := 1; n <= 3; n++ {
		if _, err := io.WriteString(write, "{}\n"); err != nil {
			t.Fatal(err)
		}
		if lines.Scan(); lines.Text() != strconv.Itoa(n) {
			t.Errorf("record %d came after Begin number %q", n, lines.Text())
		}
	}
	write.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestFileBeforeLive: what a file held is out, and durable, before anything live is
// waited for.
func TestFileBeforeLive(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	name := file(t, []byte("{\"n\":1}\n{\"n\":2}\n"))
	c := ctx(t)
	go func() {
		_, err := Run(c, Input{Files: []string{name, "-"}, Stdin: inR, After: -1},
			Output{Stdout: outW}, echo(nil))
		outW.Close()
		done <- err
	}()
	buf := make([]byte, 4096)
	if n, err := outR.Read(buf); err != nil || string(buf[:n]) != "{\"n\":1}\n{\"n\":2}\n" || c.Err() != nil {
		t.Errorf("%q, %v; out at the end: %v", buf[:n], err, c.Err())
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
