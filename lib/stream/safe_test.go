package stream

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tri/lib/ndjson"
)

const (
	safeDir    = "TRI_STREAM_SAFE"
	safeFollow = "TRI_STREAM_SAFE_FOLLOW"
)

// TestStageTraced is what TestActsOnWhatIsDurable looks at.
func TestStageTraced(t *testing.T) {
	dir := os.Getenv(safeDir)
	if dir == "" {
		t.Skip("only below TestActsOnWhatIsDurable")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := Input{Files: []string{filepath.Join(dir, "in.ndjson")}, Follow: os.Getenv(safeFollow) != "", After: -1}
	_, err := Run(ctx, in, Output{File: filepath.Join(dir, "out.ndjson")}, Stage[[]byte]{
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

// TestActsOnWhatIsDurable: a record is made durable before what is made of it is
// written, whoever wrote it: were it gone after a power cut, and the other not, the
// stage would find no place to go on from.
func TestActsOnWhatIsDurable(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	for _, follow := range []string{"", "yes"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "in.ndjson"), []byte(`{"seq":0}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		trace := filepath.Join(dir, "trace")
		cmd := exec.Command(strace, "-f", "-y", "-o", trace, "-e", "trace=fsync,write", os.Args[0], "-test.run", "^TestStageTraced$")
		cmd.Env = append(os.Environ(), safeDir+"="+dir, safeFollow+"="+follow)
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
		if got := strings.Join(got, ", "); got != "fsync in, write out, fsync out" {
			t.Errorf("follow %q: %s", follow, got)
		}
	}
}
