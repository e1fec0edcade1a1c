package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// limit is the longest that one program may run in a home of a few questions.
const limit = time.Minute

// flips changes one byte, or the structure, of one file of a home, asks the check of the home
// whether it sees it, and then lets the programs run: a new question is asked, every draft that
// waits is approved, and what is approved is posted. No post may differ from what was approved,
// none may be there twice, and every program must end.
func flips(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	f := &flipped{world: w, unseen: map[string]int{}}
	err = f.states()
	for round := 0; err == nil && round < w.rounds; round++ {
		if err = f.round(f.saved[round%len(f.saved)]); err != nil {
			err = fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err != nil {
		w.keep = true
		return err
	}
	return f.judge()
}

// saved is a home and its chat at one moment, and what stands in the chat once all is done.
type saved struct {
	dir   string
	files []string
	posts map[string]string // by thread
}

type flipped struct {
	*world
	saved                   []saved
	tried, seen, posted     int
	altered, doubled, stuck int
	hung                    int
	changed                 string         // what was done in this round: the file and the byte
	unseen                  map[string]int // by file and change
	first                   []string       // what went wrong first
}

// states makes the homes: drafts that wait, some approved, some posted.
func (f *flipped) states() error {
	for range 5 {
		if err := f.ask(); err != nil {
			return err
		}
	}
	f.pass("")
	steps := []func(){
		func() {},
		func() { f.approveFirst(3) },
		func() { f.run("tri-reply", "--config", f.configFile(), "--once"); f.approveFirst(1) },
		func() { f.pass("") },
	}
	for i, step := range steps {
		step()
		s := saved{dir: filepath.Join(f.dir, fmt.Sprint("state", i)), posts: map[string]string{}}
		if err := f.copy(f.home, s.dir+"/home"); err != nil {
			return err
		}
		if err := f.copy(filepath.Join(f.dir, "chat"), s.dir+"/chat"); err != nil {
			return err
		}
		f.cycle()
		if out, err := f.run("tri-report", "verify"); err != nil {
			return fmt.Errorf("a home that nobody touched is not whole: %w: %s", err, out)
		}
		posts, err := f.chat.posts()
		if err != nil || len(posts) != 6 {
			return errors.Join(err, fmt.Errorf("%d posts of 6 without a flip", len(posts)))
		}
		for _, p := range posts {
			s.posts[p.thread] = p.text
		}
		err = filepath.WalkDir(s.dir+"/home", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && f.ours(name) {
				s.files = append(s.files, strings.TrimPrefix(name, s.dir+"/home/"))
			}
			return err
		})
		if err != nil {
			return err
		}
		f.saved = append(f.saved, s)
		if err := f.restore(s); err != nil {
			return err
		}
	}
	return nil
}

// ours reports whether programs trust a file that they wrote: not what a person writes, nor what
// describes a process.
func (f *flipped) ours(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Size() > 0 && !slices.Contains([]string{"config.yaml", "watch.json"},
		filepath.Base(name))
}

func (f *flipped) copy(from, to string) error {
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(filepath.Dir(to), 0o700)); err != nil {
		return err
	}
	return exec.Command("cp", "-a", from, to).Run()
}

func (f *flipped) restore(s saved) error {
	return errors.Join(f.copy(s.dir+"/home", f.home), f.copy(s.dir+"/chat", filepath.Join(f.dir, "chat")))
}

// run runs one program. It may fail, and must end.
func (f *flipped) run(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	made := f.command(args...)
	cmd := exec.CommandContext(ctx, made.Path, made.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = made.Dir, made.Env, time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		f.hung++
		f.wrong(fmt.Sprintf("%s: %s has not ended after %v", f.changed, args[0], limit))
	}
	return out, err
}

// pass lets every stage but tri-reply do what is to be done.
func (f *flipped) pass(say string) {
	if say != "" {
		_, _ = f.chat.say("late", say)
	}
	config := f.configFile()
	f.run(append([]string{"tri-watch", "--config", config, "--once"}, f.chat.watch()...)...)
	f.run("tri-thread", "--out", f.path("events-threaded.ndjson"), f.path("events.ndjson"))
	f.run("tri-turn", "--out", f.path("events-turns.ndjson"), f.path("events-threaded.ndjson"))
	f.run("tri-classify", "--config", config, "--out", f.path("events-classified.ndjson"),
		f.path("events-turns.ndjson"))
	f.run("tri-dispatch", "--config", config, "--once", f.path("events-classified.ndjson"))
}

func (f *flipped) approveFirst(n int) {
	list, _ := f.run("tri-approve", "list", "--json") // 1: nothing waits
	for _, line := range bytes.Split(list, []byte("\n")) {
		var item struct {
			Key    string `json:"key"`
			SHA256 string `json:"draft_sha256"`
		}
		if json.Unmarshal(line, &item) == nil && item.SHA256 != "" && n > 0 {
			n--
			f.run("tri-approve", "approve", "--yes", item.Key)
		}
	}
}

// cycle is one full turn of all programs, and a second of those that post.
func (f *flipped) cycle() {
	f.pass("where is " + token(6) + " set?")
	f.approveFirst(99)
	for range 2 {
		f.run("tri-reply", "--config", f.configFile(), "--once")
	}
}

func (f *flipped) round(s saved) error {
	if err := f.restore(s); err != nil {
		return err
	}
	name := s.files[f.rng.IntN(len(s.files))]
	whole, err := os.ReadFile(f.path(name))
	if err != nil {
		return err
	}
	change, at, now := f.change(name, whole)
	f.changed = fmt.Sprintf("%s at %d of %s", change, at, name)
	if bytes.Equal(now, whole) {
		return nil
	}
	f.tried++
	if now == nil {
		err = os.Remove(f.path(name))
	} else {
		err = os.WriteFile(f.path(name), now, 0o600)
	}
	if err != nil {
		return err
	}
	if _, err := f.run("tri-report", "verify"); err == nil {
		f.unseen[change+" in "+kindOf(name)]++
	} else {
		f.seen++
	}
	f.cycle()
	return f.look(s)
}

// change flips a byte four times of five, and else changes the structure of a log. It returns what
// it did, at which byte or line, and the file then; nil means that it is gone.
func (f *flipped) change(name string, whole []byte) (string, int, []byte) {
	b := bytes.Clone(whole)
	if f.rng.IntN(5) > 0 || !strings.HasSuffix(name, ".ndjson") {
		at := f.rng.IntN(len(b))
		b[at] ^= byte(1 + f.rng.IntN(255))
		return "flip", at, b
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	lines = lines[:len(lines)-1]
	i := f.rng.IntN(len(lines))
	switch f.rng.IntN(6) {
	case 0:
		return "line removed", i, bytes.Join(slices.Delete(lines, i, i+1), nil)
	case 1:
		return "line doubled", i, bytes.Join(slices.Insert(lines, i, lines[i]), nil)
	case 2:
		k := f.rng.IntN(len(lines))
		lines[i], lines[k] = lines[k], lines[i]
		return "lines swapped", i, bytes.Join(lines, nil)
	case 3:
		at := f.rng.IntN(len(b))
		return "cut", at, b[:at]
	case 4:
		return "emptied", 0, []byte{}
	}
	return "removed", 0, nil
}

func kindOf(name string) string {
	dir, base, _ := strings.Cut(name, "/")
	if dir == "runs" {
		return "runs/*" + base[strings.IndexByte(base, '/'):]
	}
	if base != "" {
		return dir + "/*"
	}
	return name
}

// look compares what stands in the chat with what was approved.
func (f *flipped) look(s saved) error {
	posts, err := f.chat.posts()
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, p := range posts {
		f.posted++
		count[p.thread]++
		if p.text != s.posts[p.thread] {
			f.altered++
			f.wrong(fmt.Sprintf("%s: %q stands in %s, not %q", f.changed, p.text, p.thread,
				s.posts[p.thread]))
		}
	}
	for thread, n := range count {
		if n > 1 {
			f.doubled++
			f.wrong(fmt.Sprintf("%s: %d posts in %s", f.changed, n, thread))
		}
	}
	if len(count) < len(s.posts) {
		f.stuck++ // refused, as it should be
	}
	return nil
}

func (f *flipped) wrong(what string) {
	if len(f.first) < 10 {
		f.first = append(f.first, what)
	}
}

func (f *flipped) judge() error {
	unseen := 0
	for what, n := range f.unseen {
		unseen += n
		fmt.Printf("flips: unseen by verify: %d: %s\n", n, what)
	}
	for _, what := range f.first {
		fmt.Println("flips:", what)
	}
	fmt.Printf("flips: %d changes, %d seen by verify; %d posts looked at: %d altered, %d doubled; %d programs hung; %d cycles held something back\n",
		f.tried, f.seen, f.posted, f.altered, f.doubled, f.hung, f.stuck)
	count(counts{messages: f.tried, posts: f.posted, doubled: f.doubled})
	if f.altered+f.doubled+f.hung+unseen > 0 {
		return fmt.Errorf("%d posts altered, %d doubled, %d changes unseen, %d programs hung", f.altered,
			f.doubled, unseen, f.hung)
	}
	return nil
}
