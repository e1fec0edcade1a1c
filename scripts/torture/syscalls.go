package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

// calls are the system calls of the write paths.
var calls = []string{"openat", "mkdirat", "write", "fsync", "ftruncate", "renameat", "unlinkat",
	"flock", "close"}

// faults are what strace does to one of them. A kill fires before the call.
var faults = []string{"signal=SIGKILL", "error=EIO", "error=ENOSPC"}

// path is a write path: a program, run once over a prepared world, and what must
// be true when it has ended well, however often it was cut before.
type path struct {
	name string
	args func(w *world) []string
	done func(w *world) error
}

func paths() []path {
	return []path{
		{"tri-watch", func(w *world) []string {
			return append([]string{"tri-watch", "--once", "--config", w.configFile()}, w.chat.watch()...)
		}, watched},
		{"tri-thread", func(w *world) []string {
			return []string{"tri-thread", "--out", w.path("events-threaded.ndjson"), w.path("events.ndjson")}
		}, threaded},
		{"tri-turn", func(w *world) []string {
			return []string{"tri-turn", "--out", w.classified(), w.threaded()}
		}, turned},
		{"tri-classify", func(w *world) []string {
			return []string{"tri-classify", "--config", w.configFile(), "--out",
				w.path("events-classified.ndjson"), w.classified()}
		}, classified},
		{"tri-dispatch", func(w *world) []string {
			return []string{"tri-dispatch", "--once", "--config", w.configFile(),
				w.path("events-classified.ndjson")}
		}, dispatched},
		{"tri-approve", func(w *world) []string {
			return []string{"tri-approve", "approve", "--yes", "--config", w.configFile(), w.key(0)}
		}, approved},
		{"tri-reply", func(w *world) []string {
			return []string{"tri-reply", "--once", "--config", w.configFile()}
		}, replied},
	}
}

func syscalls(o options) error {
	o.messages, o.chat = 3, "local"
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	for _, say := range []func() error{w.ask, func() error {
		_, err := w.chat.say("ben", "ok thanks")
		return err
	}, w.ask} {
		if err := say(); err != nil {
			return err
		}
	}
	if err := os.Remove(w.path("events.ndjson")); err != nil {
		return err
	}
	var wrong []string
	for _, p := range paths() {
		if o.only == "" || o.only == p.name {
			points, bad, err := w.inject(p)
			if err != nil {
				return err
			}
			fmt.Printf("%-13s %4d points, %d wrong\n", p.name, points, len(bad))
			wrong = append(wrong, bad...)
		}
		// The way on: this path once, undisturbed.
		if out, err := w.command(p.args(w)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s undisturbed: %w: %s", p.name, err, out)
		}
		if err := p.done(w); err != nil {
			return fmt.Errorf("%s undisturbed: %w", p.name, err)
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n  "))
	}
	return nil
}

// inject cuts a path at every call in every way, each time in a fresh copy of
// the world, and counts the points at which a fault really struck.
func (w *world) inject(p path) (points int, wrong []string, err error) {
	for _, call := range calls {
		for _, fault := range faults {
			for k, misses := 1, 0; misses < 3; k++ {
				struck, fail, err := w.strike(p, call, fault, k)
				switch {
				case err != nil:
					return points, wrong, err
				case !struck:
					misses++ // a thread's calls are counted for itself: look a little further
				default:
					misses = 0
					points++
				}
				if fail != nil {
					wrong = append(wrong, fmt.Sprintf("%s: %s at %s %d: %v", p.name, fault, call, k, fail))
				}
			}
		}
	}
	return points, wrong, nil
}

func (w *world) strike(p path, call, fault string, k int) (struck bool, wrong, err error) {
	c, err := w.copy()
	if err != nil {
		return false, nil, err
	}
	defer os.RemoveAll(c.dir)
	trace := filepath.Join(c.dir, "trace")
	args := []string{"-f", "-qq", "-o", trace, "-e", "trace=" + call, "-e",
		fmt.Sprintf("inject=%s:%s:when=%d", call, fault, k)}
	cmd := c.command(p.args(c)...)
	traced := exec.Command("strace", append(args, cmd.Args...)...)
	traced.Dir, traced.Env = cmd.Dir, append(cmd.Env, "TRI_ONE_THREAD=1", "GOMAXPROCS=1")
	_, runErr := traced.CombinedOutput()
	log, err := os.ReadFile(trace)
	if err != nil {
		return false, nil, err
	}
	struck = bytes.Contains(log, []byte("INJECTED")) || bytes.Contains(log, []byte("killed by SIGKILL"))
	if !struck {
		return false, nil, nil
	}
	if runErr == nil && fault != "signal=SIGKILL" {
		if err := p.done(c); err != nil {
			return true, fmt.Errorf("status 0, and yet: %w", err), nil
		}
	}
	if out, err := c.command(p.args(c)...).CombinedOutput(); err != nil && !over(p, out) {
		return true, fmt.Errorf("afterwards: %w: %.300s", err, out), nil
	}
	return true, p.done(c), nil
}

// over reports whether a path says, rightly, that its work had been done.
func over(p path, out []byte) bool {
	return p.name == "tri-approve" && bytes.Contains(out, []byte("approved"))
}

// copy is this world at another place.
func (w *world) copy() (*world, error) {
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		return nil, err
	}
	c := *w
	c.dir, c.home = dir, filepath.Join(dir, "home")
	c.chat = &local{filepath.Join(dir, "chat"), "dev"}
	for _, part := range []string{"home", "chat"} {
		if out, err := exec.Command("cp", "-a", filepath.Join(w.dir, part),
			dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("copy: %w: %s", err, out)
		}
	}
	return &c, c.rewrite(w.dir)
}

// rewrite makes the configuration speak of this place.
func (w *world) rewrite(from string) error {
	name := w.path("config.yaml")
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b = bytes.ReplaceAll(b, []byte(from+"/chat"), []byte(w.dir+"/chat"))
	return os.WriteFile(name, b, 0o600)
}

// key is the thread of a question.
func (w *world) key(n int) string {
	return "local.dev." + w.questions[n].id
}

func watched(w *world) error {
	var faults []string
	w.checkEvents(func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) })
	if lines, err := w.lines("events.ndjson"); err != nil || len(lines) != 3 {
		faults = append(faults, fmt.Sprintf("%d events, %v", len(lines), err))
	}
	return join(faults)
}

func join(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

func classified(w *world) error {
	var faults []string
	w.checkClassified(func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) })
	return join(faults)
}

func threaded(w *world) error {
	var faults []string
	w.checkThreaded(func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) })
	return join(faults)
}

func turned(w *world) error {
	var faults []string
	w.checkTurned(func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) })
	return join(faults)
}

func dispatched(w *world) error {
	var faults []string
	fault := func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) }
	w.checkRebuild(fault)
	w.checkThreads(fault)
	offers := map[string]int{}
	records, err := w.decisions()
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Kind == decision.Offer {
			offers[fmt.Sprint(r.Key, r.Cycle, r.DraftSHA256)]++
		}
	}
	for id, n := range offers {
		if n > 1 {
			fault("%s was offered %d times", id, n)
		}
	}
	failed := 0
	for n := range w.questions {
		told, err := w.draftOf(n)
		if err != nil {
			fault("%v", err)
		}
		if told {
			failed++
		}
	}
	if len(offers)+failed != len(w.questions) {
		fault("%d offers for %d questions", len(offers), len(w.questions))
	}
	return join(faults)
}

// draftOf makes sure that a question has its right draft, or that its thread
// tells a person why the codebase could not be read.
func (w *world) draftOf(n int) (told bool, err error) {
	b, err := os.ReadFile(w.path(thread.OpenPath(w.key(n))))
	if err != nil {
		return false, err
	}
	var t thread.Thread
	if err := json.Unmarshal(b, &t); err != nil {
		return false, err
	}
	if t.Badge == "failed" && (strings.Contains(t.InvestigatorError, "input/output error") ||
		strings.Contains(t.InvestigatorError, "no space left")) {
		return true, nil
	}
	if t.DraftPending == nil || !strings.Contains(*t.DraftPending, w.questions[n].tokens[0]) {
		return false, fmt.Errorf("question %d has no right draft: %s %s", n, t.Status, t.InvestigatorError)
	}
	return false, nil
}

func (w *world) decisions() ([]decision.Record, error) {
	h, err := durable.Open(w.home)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return decision.Read(h)
}

func approved(w *world) error {
	records, err := w.decisions()
	if err != nil {
		return err
	}
	state, counted := decision.NewState(decision.Policy{Approvers: []string{"operator"}}), 0
	for _, r := range records {
		if counts, _ := state.Add(r); counts && r.Kind == decision.Approve {
			counted++
		}
	}
	if counted != 1 {
		return fmt.Errorf("%d approvals count", counted)
	}
	return nil
}

func replied(w *world) error {
	posts, err := w.chat.posts()
	if err != nil {
		return err
	}
	if len(posts) != 1 || !strings.Contains(posts[0].text, w.questions[0].tokens[0]) {
		return fmt.Errorf("%d posts: %v", len(posts), posts)
	}
	var faults []string
	w.checkReplies(posts, func(f string, a ...any) { faults = append(faults, fmt.Sprintf(f, a...)) })
	return join(faults)
}
