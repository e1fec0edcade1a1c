package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// judge looks at what is there once nothing runs any more.
func (w *boxWorld) judge() error {
	// bwrap's child can outlive a bwrap that was killed before it had set it up; it
	// waits for ever, and holds the run's lock. The next call ends it.
	runs, err := w.runs()
	if err != nil {
		return err
	}
	if err := w.noneLeft(); err != nil {
		return err
	}
	merged := 0
	for _, r := range runs {
		if err := w.isTrue(r); err != nil {
			return fmt.Errorf("run %s: %w", r.Meta.Name, err)
		}
		if r.State.Status == "MERGED" {
			merged++
		}
	}
	now, err := w.checkout()
	if err != nil {
		return err
	}
	if now != w.before {
		if merged == w.merged {
			return fmt.Errorf("the checkout has changed:\n%s\nbefore:\n%s", now, w.before)
		}
		if err := w.undo(); err != nil {
			return err
		}
	}
	w.merged = merged
	if _, err := os.Lstat(filepath.Join(w.dir, "canary")); err == nil {
		return errors.New("a task was run by a shell")
	}
	return w.ledger(runs)
}

// isTrue: a run that is over says how.
func (w *boxWorld) isTrue(r boxRun) error {
	switch f := r.State.Failure; r.State.Status {
	case "CRASHED":
		if f == nil || f.Kind == "" || f.Message == "" {
			return errors.New("CRASHED, and nobody knows why")
		}
	case "REVIEW":
		if out, err := w.command("git", "apply", "--check",
			filepath.Join(r.Dir, "changes.patch")).CombinedOutput(); err != nil &&
			!bytes.Contains(out, []byte("does not apply")) {
			return fmt.Errorf("its patch: %s", out)
		}
	case "DONE":
		if r.Meta.Type != "fix" {
			return nil
		}
		return errors.New("a fix that always changes something has no patch")
	case "MERGED", "ABANDONED":
	default:
		return fmt.Errorf("status %s, and nobody is at it", r.State.Status)
	}
	return nil
}

// undo puts the checkout back, which a merge has changed, and has its changes be
// the patch's: both files or none.
func (w *boxWorld) undo() error {
	out, err := w.command("git", "status", "--porcelain").Output()
	if err != nil {
		return err
	}
	if got := string(out); got != " M a.go\n D b.go\n?? new/\n" {
		return fmt.Errorf("half a merge:\n%s", got)
	}
	for _, args := range [][]string{{"checkout", "-q", "."}, {"clean", "-qfd"}} {
		if out, err := w.command("git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	w.did["merges that counted"]++
	now, err := w.checkout()
	if err == nil && now != w.before {
		err = fmt.Errorf("the checkout has changed beyond the patch:\n%s", now)
	}
	return err
}

// noneLeft waits for the processes of the runs to be gone.
func (w *boxWorld) noneLeft() error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
		for _, name := range names {
			line, err := os.ReadFile(name)
			if err == nil && bytes.Contains(line, []byte(filepath.Join(w.dir, "agent"))) {
				left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("left behind: %q", left)
		}
	}
}

// ledger holds the index to the runs.
func (w *boxWorld) ledger(runs []boxRun) error {
	text, err := os.ReadFile(filepath.Join(w.repo, ".agents/INDEX.jsonl"))
	if err != nil && len(runs) > 0 {
		return err
	}
	said := map[string]string{}
	for line := range bytes.Lines(text) {
		var e struct {
			Name   string `json:"run_name"`
			Status string `json:"status"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("INDEX.jsonl: %w: %q", err, line)
		}
		said[e.Name] = e.Status
	}
	for _, r := range runs {
		if said[r.Meta.Name] != r.State.Status {
			return fmt.Errorf("INDEX.jsonl says %q of %s, which is %s", said[r.Meta.Name], r.Meta.Name,
				r.State.Status)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(w.repo, ".agents/latest/meta.yaml")); err != nil {
		return err
	}
	return nil
}

// collected: gc leaves records and nothing else.
func (w *boxWorld) collected() error {
	if out, err := w.command("tri-box", "gc", "--older", "0s").CombinedOutput(); err != nil {
		return fmt.Errorf("gc: %w: %s", err, out)
	}
	var left []string
	for _, pattern := range []string{".agents/trees/*", ".agents/runs/.*", ".agents/.*.[0-9]*",
		".agents/pointers/.*", ".agents/runs/*/.*", ".git/worktrees/*", ".claude"} {
		found, err := filepath.Glob(filepath.Join(w.repo, pattern))
		if err != nil {
			return err
		}
		left = append(left, found...)
	}
	locks, err := filepath.Glob(filepath.Join(w.repo, ".agents/runs/*/lock"))
	if err != nil {
		return err
	}
	for _, name := range locks {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			left = append(left, name+" (held)")
		}
		f.Close()
	}
	if len(left) > 0 {
		return fmt.Errorf("gc has left: %q", left)
	}
	return w.judge()
}
