package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/record/event"
)

// draft measures the time from a line appended to events.ndjson to its draft offered
// in decisions.ndjson, through the real tri-classify and tri-dispatch, with the
// in-process search over a small codebase.
func (b *bench) draft() error {
	const samples = 50
	sizes := []int{1, 10_000}
	if b.long {
		sizes = append(sizes, 100_000)
	}
	for _, closed := range sizes {
		g := b.sized("median", seconds, closed, "closed threads")
		late := b.sized("19 of 20 within", seconds, closed, "closed threads")
		dir := filepath.Join(b.work, "draft")
		if err := drafts(g, b, dir, closed, samples); err != nil {
			return err
		}
		late.add(drafting, percentile(g.series[0].samples, 95))
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

const drafting = "tri-classify | tri-dispatch"

func drafts(g *group, b *bench, dir string, closed, samples int) error {
	home, code := filepath.Join(dir, "home"), filepath.Join(dir, "code")
	if err := codebase(code); err != nil {
		return err
	}
	if err := b.threads(home, code, closed); err != nil {
		return err
	}
	log, out := filepath.Join(home, eventLog), filepath.Join(home, classifiedLog)
	for _, argv := range [][]string{
		{b.ours("tri-classify"), "--follow", "--out", out, log},
		{b.ours("tri-dispatch"), "--home", home, "--codebase", code, out},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "TRI_HOME="+home)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}()
	}
	for n := range samples + 1 {
		took, err := ask(home, log, n)
		if err != nil {
			return err
		}
		if n > 0 { // the first one builds the index
			g.add(drafting, took.Seconds())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// threads makes a home with closed threads: each was opened by a question whose asker said
// "never mind" at once, so that nothing was investigated. It is not synced: it can be made again.
func (b *bench) threads(home, code string, closed int) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	var events strings.Builder
	for n := range closed {
		id, who := closedID(n), fmt.Sprintf(`"id":"u%d"`, n)
		for i, text := range []string{fmt.Sprintf("where is RetryLimit%03d set?", n%100), "never mind"} {
			line := message(fmt.Sprint(id, strings.Repeat("w", i)), text, int64(events.Len()))
			line = strings.Replace(line, `"id":"ana"`, who, 1)
			if i > 0 {
				line = inThread(line, id)
			}
			events.WriteString(line)
		}
	}
	for name, text := range map[string]string{
		eventLog: events.String(), classifiedLog: "",
		"config.yaml": "budget: {investigations_per_day: 0, investigations_per_person_per_day: 0}\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	out := filepath.Join(home, classifiedLog)
	if _, err := process(nil, b.ours("tri-classify"), "--out", out, filepath.Join(home, eventLog)); err != nil {
		return err
	}
	_, err := process(nil, b.ours("tri-dispatch"), "--once", "--home", home, "--codebase", code, out)
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(home, "closed", "*", "*.json"))
	if len(left) != closed {
		err = errors.Join(err, fmt.Errorf("%d of %d threads were closed", len(left), closed))
	}
	return err
}

const eventLog, classifiedLog = "events.ndjson", "events-classified.ndjson"

// closedID is the id of the first message of a closed thread.
func closedID(n int) string { return fmt.Sprint("c", n) }

// inThread returns a message that answers in the thread of another.
func inThread(line, id string) string {
	return strings.Replace(line, `"thread_id":null`, fmt.Sprintf(`"thread_id":%q`, id), 1)
}

// codebase makes one of 100 files.
func codebase(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for n := range 100 {
		src := fmt.Sprintf("package code\n\n// RetryLimit%03d is how often loader %d tries before it gives up.\nconst RetryLimit%03d = %d\n\nfunc load%d() error { return try(RetryLimit%03d) }\n", n, n, n, n, n, n)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("loader%03d.go", n)), []byte(src),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

// ask appends a question and waits for its offer.
func ask(home, log string, n int) (time.Duration, error) {
	const patience, look = 30 * time.Second, 500 * time.Microsecond
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	id := fmt.Sprint("q", n)
	line := message(id, fmt.Sprintf("where is RetryLimit%03d set?", n%100), info.Size())
	decisions := filepath.Join(home, "decisions.ndjson")
	key := []byte(`"key":"` + event.Key("local", "dev", id) + `"`)
	began := time.Now()
	if _, err := f.WriteString(line); err != nil {
		return 0, err
	}
	for time.Since(began) < patience {
		if b, err := os.ReadFile(decisions); err == nil && bytes.Contains(b, key) {
			return time.Since(began), nil
		}
		time.Sleep(look)
	}
	return 0, fmt.Errorf("question %d has no draft after %v", n, patience)
}
