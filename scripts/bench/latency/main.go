// Latency measures the time from a line appended to events.ndjson to its draft
// offered in decisions.ndjson, through the real tri-classify and tri-dispatch,
// with the in-process search over a small codebase.
//
//	latency [-bin DIR] [-samples N] [-closed N]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/disk"
	"tri/lib/event"
	"tri/lib/thread"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the programs")
	samples := flag.Int("samples", 100, "questions")
	closed := flag.Int("closed", 1, "closed threads on disk")
	flag.Parse()
	if err := run(*bin, *samples, *closed); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(bin string, samples, closed int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "latency")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	home, code := filepath.Join(dir, "home"), filepath.Join(dir, "code")
	if err := prepare(home, code, closed); err != nil {
		return err
	}
	ev, cl := filepath.Join(home, "events.ndjson"), filepath.Join(home, "events-classified.ndjson")
	for _, args := range [][]string{
		{"tri-classify", "--follow", "--out", cl, ev},
		{"tri-dispatch", "--home", home, "--codebase", code, cl},
	} {
		cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
		cmd.Env = append(os.Environ(), "TRI_HOME="+home)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	if _, err := ask(home, ev, 0); err != nil { // the first one builds the index
		return err
	}
	var took []time.Duration
	for n := range samples {
		d, err := ask(home, ev, n+1)
		if err != nil {
			return err
		}
		took = append(took, d)
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(took)
	at := func(p int) time.Duration {
		return took[min(len(took)-1, len(took)*p/100)].Round(100 * time.Microsecond)
	}
	fmt.Printf("%d closed threads, %d questions: p50 %v, p95 %v, max %v\n", closed, samples, at(50), at(95), at(100))
	return nil
}

// prepare makes a codebase of 100 files and a home with closed threads.
func prepare(home, code string, closed int) error {
	h, err := disk.Open(home)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := errors.Join(os.Mkdir(code, 0o755), os.WriteFile(filepath.Join(home, "config.yaml"), []byte("budget: {investigations_per_day: 0, investigations_per_person_per_day: 0}\n"), 0o600)); err != nil {
		return err
	}
	for n := range 100 {
		src := fmt.Sprintf("package code\n\n// RetryLimit%03d is how often loader %d tries before it gives up.\nconst RetryLimit%03d = %d\n\nfunc load%d() error { return try(RetryLimit%03d) }\n", n, n, n, n, n, n)
		if err := os.WriteFile(filepath.Join(code, fmt.Sprintf("loader%03d.go", n)), []byte(src), 0o644); err != nil {
			return err
		}
	}
	for n := range closed {
		t := thread.Thread{Key: event.Key("old", "dev", fmt.Sprint(n)), Status: thread.Closed, PendingMessageIDs: []string{}}
		b, err := t.Marshal()
		if err != nil {
			return err
		}
		path := filepath.Join(home, thread.ClosedPath(t.Key))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			return err
		}
	}
	for _, name := range []string{"events.ndjson", "events-classified.ndjson"} {
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ask appends a question and waits for its offer.
func ask(home, log string, n int) (time.Duration, error) {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	line := fmt.Sprintf(`{"seq":%d,"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"q%d","create_time":"2026-11-21T10:00:00Z","msg_type":"text","content":"where is RetryLimit%03d set?","thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[]}`+"\n", info.Size(), n, n%100)
	decisions := filepath.Join(home, "decisions.ndjson")
	key := []byte(`"key":"` + event.Key("local", "dev", fmt.Sprint("q", n)) + `"`)
	began := time.Now()
	if _, err := f.WriteString(line); err != nil {
		return 0, err
	}
	for time.Since(began) < 10*time.Second {
		if b, err := os.ReadFile(decisions); err == nil && bytes.Contains(b, key) {
			return time.Since(began), nil
		}
		time.Sleep(500 * time.Microsecond)
	}
	return 0, fmt.Errorf("question %d has no draft after 10 s", n)
}
