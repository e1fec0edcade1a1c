package stream

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tri/lib/base/ndjson"
)

const (
	safeDir    = "TRI_STREAM_SAFE"
	safeFollow = "TRI_STREAM_SAFE_FOLLOW"
	safeStdout = "TRI_STREAM_SAFE_STDOUT"
)

// TestSafe: data that is not durable is not treated as durable, and the error is reported each
// time.
func TestSafe(t *testing.T) {
	f, err := os.Open(file(t, []byte("{}\n")))
	if err != nil {
		t.Fatal(err)
	}
	s := &syncedReader{synced{f: f}}
	if n, err := s.Read(make([]byte, 1)); n != 1 || err != nil || s.to != 3 {
		t.Errorf("%d bytes read, %d durable, %v", n, s.to, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.upTo(9); err == nil || s.to != 3 {
			t.Errorf("a closed file is durable up to %d, %v", s.to, err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if n, err := (&syncedReader{synced{f: r}}).Read(make([]byte, 9)); n != 0 || err == nil {
		t.Errorf("what has no place was handed out: %d bytes, %v", n, err)
	}
}

// TestStageTraced is what TestActsOnWhatIsDurable looks at.
func TestStageTraced(t *testing.T) {
	dir := os.Getenv(safeDir)
	if dir == "" {
		t.Skip("only below TestActsOnWhatIsDurable")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := Input{Files: []string{filepath.Join(dir, "in.ndjson")},
		Follow: os.Getenv(safeFollow) != "", After: -1}
	out := Output{File: filepath.Join(dir, "out.ndjson")}
	if how := os.Getenv(safeStdout); how != "" {
		in.Durable, out = how == "durable", Output{Stdout: io.Discard}
	}
	_, err := Run(ctx, in, out, Stage[[]byte]{
		Prepare: func(rec ndjson.Record, line *[]byte) error { *line = rec.Bytes; return nil },
		Emit: func(dst []byte, line *[]byte) ([]byte, error) {
			if in.Follow {
				cancel()
			}
			return append(append(dst, *line...), '\n'), nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestActsOnWhatIsDurable: a record is made durable, whoever wrote it, before its results are
// written: if a power cut removed the record and kept the results, the stage could not resume.
// Records that are only shown are not synced.
func TestActsOnWhatIsDurable(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct{ follow, stdout, want string }{
		{"", "", "fsync in, write out, fsync out"}, {"yes", "", "fsync in, write out, fsync out"},
		{"", "durable", "fsync in"}, {"", "shown", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "in.ndjson"), []byte(`{"seq":0}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		trace := filepath.Join(dir, "trace")
		cmd := exec.Command(strace, "-f", "-y", "-o", trace, "-e", "trace=fsync,write", os.Args[0],
			"-test.run", "^TestStageTraced$")
		cmd.Env = append(os.Environ(), safeDir+"="+dir, safeFollow+"="+tt.follow, safeStdout+"="+tt.stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			if strings.Contains(string(out), "PTRACE") {
				t.Skipf("strace may not trace here: %s", out)
			}
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^\d+ +(\w+)\(\d+<[^>]*/(in|out)\.ndjson>`).FindAllStringSubmatch(string(text), -1) {
			got = append(got, m[1]+" "+m[2])
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
