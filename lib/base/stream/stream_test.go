package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// logOf is an events.ndjson of n records, whose seq is their offset.
func logOf(n int) []byte {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, `{"seq":%d,"n":%d}`+"\n", len(b), i)
	}
	return b
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// echo is a stage that passes records on and remembers which it was warmed with.
func echo(warmed *[]int64) Stage[ndjson.Record] {
	return Stage[ndjson.Record]{
		Prepare: func(rec ndjson.Record, t *ndjson.Record) error {
			*t = rec
			if bytes.Contains(rec.Bytes, []byte(`"refuse me"`)) {
				return errors.New("as asked")
			}
			return nil
		},
		Emit: func(dst []byte, t *ndjson.Record) ([]byte, error) {
			return append(append(dst, t.Bytes...), '\n'), nil
		},
		Warm: func(t *ndjson.Record) {
			if warmed != nil {
				*warmed = append(*warmed, t.Seq)
			}
		},
	}
}

func ctx(t *testing.T) context.Context {
	c, stop := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(stop)
	return c
}

func TestEachNamesAndSetsAside(t *testing.T) {
	in := "{\"a\":1}\nnope\n\n{\"a\":2}\n{\"a\":\"\xff\"}\n" + strings.Repeat("x", ndjson.MaxLine+1) +
		"\n{\"refuse\":1}\n{\"a\":3}"
	rejects := filepath.Join(t.TempDir(), "rejects.ndjson")
	var said, got []string
	stats, err := Each(ctx(t), Input{
		Stdin: strings.NewReader(in), After: -1, Rejects: rejects,
		Say: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) },
	}, func(rec ndjson.Record) error {
		if strings.Contains(string(rec.Bytes), "refuse") {
			return Refuse("unwanted")
		}
		if rec.Members != nil {
			t.Error("it has members, which are of another record by now")
		}
		got = append(got, fmt.Sprintf("%s:%d:%d:%s", rec.Source, rec.Line, rec.Offset, rec.Bytes))
		return nil
	})
	if status, _ := sysexit.Of(err); status != sysexit.Data || err.Error() != "4 records refused" {
		t.Errorf("error %v", err)
	}
	if stats != (Stats{Records: 3, Refused: 4}) {
		t.Errorf("stats %+v", stats)
	}
	want := []string{`stdin:1:0:{"a":1}`, `stdin:4:14:{"a":2}`, fmt.Sprintf(`stdin:8:%d:{"a":3}`, len(in)-7)}
	if !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
	wantSaid := []string{
		`stdin:2: invalid JSON at byte 0: unexpected 'n' where a value belongs`,
		`stdin:5: invalid UTF-8 at byte 6`, `stdin:6: longer than 1048576 bytes`, `stdin:7: unwanted`,
	}
	if !slices.Equal(said, wantSaid) {
		t.Errorf("said %q", said)
	}
	text, err := os.ReadFile(rejects)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) != 4 {
		t.Fatalf("%d rejects", len(lines))
	}
	var r struct {
		Source, Reason, Text string
		Line, Offset         int64
		Base64               []byte
	}
	if err := json.Unmarshal(lines[1], &r); err != nil || r.Source != "stdin" || r.Line != 5 ||
		string(r.Base64) != "{\"a\":\"\xff\"}" {
		t.Errorf("%s: %+v %v", lines[1], r, err)
	}
}

func TestRunKeepsOrderOverManyFiles(t *testing.T) {
	a, b := file(t, logOf(20_000)), file(t, logOf(10_000))
	var out bytes.Buffer
	stats, err := Run(ctx(t), Input{Files: []string{a, b}, After: -1}, Output{Stdout: &out}, echo(nil))
	if err != nil || stats.Records != 30_000 {
		t.Fatal(stats, err)
	}
	if want := append(logOf(20_000), logOf(10_000)...); !bytes.Equal(out.Bytes(), want) {
		t.Error("the output is not the input")
	}
}

func TestMissingFileIsSaidBeforeAnythingIsDone(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(ctx(t), Input{Files: []string{file(t, logOf(3)), "/no/such"}, After: -1},
		Output{Stdout: &out}, echo(nil))
	if !errors.Is(err, os.ErrNotExist) || out.Len() > 0 {
		t.Errorf("%v, wrote %d bytes", err, out.Len())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestFailedWriteEnds(t *testing.T) {
	boom := errors.New("boom")
	_, err := Run(ctx(t), Input{Stdin: bytes.NewReader(logOf(5000)), After: -1},
		Output{Stdout: failing{boom}}, echo(nil))
	if status, _ := sysexit.Of(err); status != sysexit.IO || !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsEnd(t *testing.T) {
	boom := errors.New("boom")
	n := 0
	_, err := Each(ctx(t), Input{Stdin: bytes.NewReader(logOf(5000)), After: -1}, func(ndjson.Record) error {
		if n++; n == 7 {
			return boom
		}
		return nil
	})
	if err != boom || n != 7 {
		t.Errorf("got %v after %d", err, n)
	}
}

func TestCancelEndsBetweenRecords(t *testing.T) {
	c, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go w.Write(logOf(10))
	n := 0
	_, err := Each(c, Input{Stdin: r, After: -1}, func(ndjson.Record) error {
		if n++; n == 3 {
			stop()
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("got %v after %d", err, n)
	}
}

// TestLiveRecordsComeOneByOne: each record is out, in a write of its own, before
// the next goes in.
func TestLiveRecordsComeOneByOne(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx(t), Input{Stdin: inR, After: -1}, Output{Stdout: outW}, echo(nil))
		outW.Close()
		done <- err
	}()
	buf := make([]byte, 4096)
	for i := range 20 {
		line := fmt.Sprintf("{\"n\":%d}\n", i)
		go io.WriteString(inW, line)
		n, err := outR.Read(buf)
		if err != nil || string(buf[:n]) != line {
			t.Fatalf("got %q, %v; want %q", buf[:n], err, line)
		}
	}
	go io.WriteString(inW, "{\"x\":1}\n{\"x\":2}\n")
	for i := range 2 {
		if n, err := outR.Read(buf); err != nil || n != 8 {
			t.Errorf("write %d: %q, %v", i, buf[:n], err)
		}
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// cuts are the ways in which an output can be left behind by a kill.
func TestOutputIsTheCursor(t *testing.T) {
	log := logOf(3000)
	for _, input := range []string{"file", "pipe"} {
		for _, cut := range []int{0, 1, 15, 16, 17, 1000, 20_000, len(log) - 1, len(log)} {
			t.Run(fmt.Sprintf("%s %d", input, cut), func(t *testing.T) {
				out := file(t, log[:cut])
				in := Input{Stdin: bytes.NewReader(log), After: -1, Window: 200}
				if input == "file" {
					in.Files = []string{file(t, log)}
				}
				var warmed []int64
				stats, err := Run(ctx(t), in, Output{File: out}, echo(&warmed))
				if err != nil {
					t.Fatal(err)
				}
				got, _ := os.ReadFile(out)
				if !bytes.Equal(got, log) {
					t.Fatalf("%d bytes, want %d", len(got), len(log))
				}
				whole := bytes.Count(log[:cut], []byte("\n"))
				if stats.Records != int64(3000-whole) {
					t.Errorf("%d records", stats.Records)
				}
				if want := min(whole, 8); len(warmed) < want || len(warmed) > want+5 {
					t.Errorf("warmed with %d", len(warmed))
				}
				if last, err := LastSeq(out); err != nil ||
					whole > 0 && len(warmed) > 0 && warmed[len(warmed)-1] > last {
					t.Error(last, err)
				}
			})
		}
	}
}

// TestDerivedInput: a file whose seq are another file's offsets is searched.
func TestDerivedInput(t *testing.T) {
	log := logOf(2000)
	var wide bytes.Buffer // the same records, longer, with a broken line between
	for i, line := range bytes.SplitAfter(log, []byte("\n")) {
		wide.Write(bytes.Replace(line, []byte("}"), []byte(`,"more":"`+strings.Repeat("x", i%300)+`"}`), 1))
		if i%7 == 0 {
			wide.WriteString("broken\n")
		}
	}
	want := strings.ReplaceAll(wide.String(), "broken\n", "")
	for _, k := range []int{1, 2, 3, 500, 1999, 2000} {
		out := file(t, []byte(strings.Join(strings.SplitAfter(want, "\n")[:k], "")))
		_, err := Run(ctx(t), Input{Files: []string{file(t, wide.Bytes())}, After: -1},
			Output{File: out}, echo(nil))
		if status, _ := sysexit.Of(err); err != nil && status != sysexit.Data {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(out); string(got) != want {
			t.Errorf("%d: %d bytes, want %d", k, len(got), len(want))
		}
	}
}

// TestLateAddition: a stage that adds nothing to its first records, such as tri-thread, writes a
// file that begins like the log but is not the log.
func TestLateAddition(t *testing.T) {
	log := logOf(20)
	lines := strings.SplitAfter(string(log), "\n")
	for i := 5; i < 20; i++ {
		lines[i] = strings.Replace(lines[i], "}", `,"thread_id":"7"}`, 1)
	}
	want := strings.Join(lines, "")
	for _, k := range []int{1, 3, 6, 7, 19} {
		out := file(t, []byte(strings.Join(lines[:k], "")))
		if _, err := Run(ctx(t), Input{Files: []string{file(t, []byte(want))}, After: -1}, Output{File: out},
			echo(nil)); err != nil {
			t.Errorf("%d: %v", k, err)
		}
		if got, _ := os.ReadFile(out); string(got) != want {
			t.Errorf("%d: %d bytes, want %d", k, len(got), len(want))
		}
	}
}

func TestCutOrReplacedInputIsSaid(t *testing.T) {
	log := logOf(100)
	out := log[:bytes.LastIndexByte(log[:len(log)-1], '\n')+1]
	for name, in := range map[string][]byte{
		"cut": log[:500], "replaced": bytes.ReplaceAll(log, []byte(`"seq":`), []byte(`"seq":1`)),
		"empty": nil, "lines removed": log[bytes.IndexByte(log, '\n')+1:],
		"no seq": bytes.ReplaceAll(log, []byte("seq"), []byte("sec")),
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t, out)
			_, err := Run(ctx(t), Input{Files: []string{file(t, in)}, After: -1}, Output{File: f}, echo(nil))
			if name == "lines removed" {
				// Indistinguishable from a derived file: offsets differ, order holds.
				if err != nil {
					t.Error(err)
				}
				return
			}
			if status, _ := sysexit.Of(err); status != sysexit.Data ||
				!strings.Contains(err.Error(), "cut or replaced") || len(sysexit.Hints(err)) == 0 {
				t.Errorf("got %v", err)
			}
			if got, _ := os.ReadFile(f); !bytes.Equal(got, out) {
				t.Error("the output changed")
			}
		})
	}
}

func TestSecondWriterIsToldToWait(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.ndjson")
	r, w := io.Pipe()
	held := make(chan error, 1)
	go func() {
		_, err := Run(ctx(t), Input{Stdin: r, After: -1}, Output{File: out}, echo(nil))
		held <- err
	}()
	if _, err := io.WriteString(w, "{\"seq\":0}\n"); err != nil { // it reads: it has the lock
		t.Fatal(err)
	}
	second := func(when string) {
		_, err := Run(ctx(t), Input{Stdin: strings.NewReader(""), After: -1}, Output{File: out}, echo(nil))
		if status, _ := sysexit.Of(err); status != sysexit.TempFail {
			t.Errorf("%s: got %v", when, err)
		}
	}
	second("locked")
	if err := os.Remove(filepath.Join(filepath.Dir(out), ".out.ndjson.lock")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" { // only it has open file description locks here
		second("the lock file was deleted")
	}
	w.Close()
	if err := <-held; err != nil {
		t.Error(err)
	}
	if _, err := Run(ctx(t), Input{Stdin: strings.NewReader(""), After: -1}, Output{File: out},
		echo(nil)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestOutputThatCannotBeResumed(t *testing.T) {
	in := file(t, logOf(3))
	for content, want := range map[string]string{"{\"a\":1}\n": "no seq", "junk\n": "last record"} {
		_, err := Run(ctx(t), Input{Files: []string{in}, After: -1},
			Output{File: file(t, []byte(content))}, echo(nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	_, err := Run(ctx(t), Input{Files: []string{in}, After: -1}, Output{File: in}, echo(nil))
	if status, _ := sysexit.Of(err); status != sysexit.Usage {
		t.Errorf("input as output: %v", err)
	}
}

func TestLastSeq(t *testing.T) {
	for content, want := range map[string]int64{
		"": -1, "{\"seq\":5}\n": 5, "{\"seq\":5}\n{\"seq\":9}": 5, "{\"seq\":5}\n{\"a\":1}\n": -1,
		"{\"seq\":-1}\n": -1, "torn": -1,
	} {
		if got, err := LastSeq(file(t, []byte(content))); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", content, got, err, want)
		}
	}
	if got, err := LastSeq("/no/such/file"); err != nil || got != -1 {
		t.Errorf("no file: %d, %v", got, err)
	}
}

// TestRefusedByEmitLeavesNothing: whatever a step began to write of a record that
// it then refuses is not in the output.
func TestRefusedByEmitLeavesNothing(t *testing.T) {
	var out strings.Builder
	stats, err := Run(t.Context(), Input{Stdin: strings.NewReader("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"),
		After: -1},
		Output{Stdout: &out}, Stage[ndjson.Record]{
			Prepare: func(rec ndjson.Record, r *ndjson.Record) error { *r = rec; return nil },
			Emit: func(dst []byte, r *ndjson.Record) ([]byte, error) {
				dst = append(append(dst, r.Bytes...), '\n')
				if r.Line == 2 {
					return dst, Refuse("not this one")
				}
				return dst, nil
			},
		})
	if out.String() != "{\"a\":1}\n{\"a\":3}\n" || stats.Records != 2 || stats.Refused != 1 || err == nil {
		t.Errorf("%q, %+v, %v", out.String(), stats, err)
	}
}
