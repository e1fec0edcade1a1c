package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tri/lib/record/event"
)

// follow tries generated sequences of what can happen to a log and to the program
// that follows it, with the real programs and the real clock. What is owed is what
// lib/base/stream's model says, which tries many more of them: every whole line once and
// in order, or an end with a status that says that the log was harmed.
func follow(o options) error {
	done := make([]*followed, o.rounds)
	errs := make([]error, o.rounds)
	next := make(chan int)
	var hands sync.WaitGroup
	var failed atomic.Bool
	for range 6 {
		hands.Go(func() {
			for i := range next {
				if done[i], errs[i] = followOnce(o, o.seed+uint64(i)); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	for i := range o.rounds {
		if failed.Load() {
			break
		}
		next <- i
	}
	close(next)
	hands.Wait()
	var sum followed
	for _, f := range done {
		if f != nil {
			sum.steps += f.steps
			sum.lives += f.lives
			sum.lines += f.lines
			sum.refusals += f.refusals
		}
	}
	count(counts{messages: sum.lines})
	err := errors.Join(errs...)
	if err == nil {
		fmt.Printf("follow: %d sequences of %d steps, %d lives, %d lines: 0 lost, 0 doubled; harm refused %d times\n",
			o.rounds, sum.steps, sum.lives, sum.lines, sum.refusals)
	}
	return err
}

// followed is one sequence: a log, its writer, and the program that follows it.
type followed struct {
	options
	rng      *rand.Rand
	dir      string
	log, out string
	args     []string

	text   []byte // what stands in the log
	held   []byte // the end of a begun line
	saved  []byte // what the log was once
	made   int
	before map[string]string // by a message's id: that of the line before it
	said   map[string]string // by a message's id: what it says

	p       *program
	stopped bool
	harmed  bool // since the program began, or what it delivered stands no longer there
	junk    bool

	steps, lives, lines, refusals int
}

var followSteps = []struct {
	chance int
	name   string
	do     func(*followed) error
}{
	{9, "write", (*followed).write},
	{3, "begin", (*followed).beginLine},
	{3, "go on", (*followed).goOn},
	{1, "junk", (*followed).writeJunk},
	{5, "start", (*followed).start},
	{2, "kill", (*followed).kill},
	{1, "term", (*followed).term},
	{2, "stop", func(f *followed) error { return f.stop(true) }},
	{2, "continue", func(f *followed) error { return f.stop(false) }},
	{1, "second", (*followed).second},
	{1, "cut", (*followed).cut},
	{1, "rewrite", (*followed).rewrite},
	{2, "rewrite unseen", (*followed).unseen},
	{1, "replace", (*followed).replace},
	{1, "remove", (*followed).remove},
	{1, "save", func(f *followed) error { f.saved = bytes.Clone(f.text); return nil }},
	{1, "restore", (*followed).restore},
	{2, "anew", (*followed).anew},
}

func followOnce(o options, seed uint64) (f *followed, err error) {
	dir, err := os.MkdirTemp("", "torture-follow")
	if err != nil {
		return nil, err
	}
	f = &followed{
		options: o, rng: rand.New(rand.NewPCG(seed, 3)), dir: dir, log: filepath.Join(dir, "events.ndjson"),
		out:    filepath.Join(dir, "out.ndjson"),
		before: map[string]string{}, said: map[string]string{},
	}
	f.args = []string{[]string{"tri-thread", "tri-classify"}[seed%2], "--follow", "--out", f.out, f.log}
	defer func() {
		if f.p != nil {
			f.p.kill9()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	var bag []int
	for i, s := range followSteps {
		bag = append(bag, slices.Repeat([]int{i}, s.chance)...)
	}
	var names []string
	for range 4 + f.rng.IntN(12) {
		s := followSteps[bag[f.rng.IntN(len(bag))]]
		names = append(names, s.name)
		if err := errors.Join(s.do(f), f.rest()); err != nil {
			return f, fmt.Errorf("follow -seed %d -rounds 1: %s: %s: %w", seed, f.args[0],
				strings.Join(names, ", "), err)
		}
	}
	if err := errors.Join(f.stop(false), f.rest(), f.start(), f.rest(), f.term()); err != nil {
		return f, fmt.Errorf("follow -seed %d -rounds 1: %s: %s, and an end: %w", seed, f.args[0],
			strings.Join(names, ", "), err)
	}
	f.lines += len(f.owed())
	return f, nil
}

// line is a new event, without its newline, that stands at the end of the log.
func (f *followed) line(at int) []byte {
	f.made++
	seq, id := int64(at), fmt.Sprint("m", f.made)
	e := event.Event{
		Seq: &seq, Platform: "local", ChatID: "dev", ChatName: "dev", MessageID: id,
		CreateTime: "2026-01-02T03:04:05Z", MsgType: "text",
		Content: fmt.Sprintf("%d things %s", f.made, strings.Repeat("and more ", f.rng.IntN(40))),
		Sender:  event.Sender{ID: "ana", Type: "user"}, Mentions: []string{},
	}
	f.said[id] = e.Content
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event of ours
	}
	return b
}

// set makes the log hold b, in place; more is what it says that may be delivered
// from now on.
func (f *followed) set(name string, b []byte) error {
	f.expect(b)
	f.text, f.held = b, nil
	return os.WriteFile(name, b, 0o600)
}

// expect learns in what order the lines of a log stand.
func (f *followed) expect(text []byte) {
	last := ""
	for _, id := range ids(text) {
		f.before[id] = last
		last = id
	}
}

// ids are the messages of the whole lines.
func ids(text []byte) (ids []string) {
	for line := range bytes.Lines(text) {
		var e event.Event
		if line[len(line)-1] == '\n' && json.Unmarshal(line, &e) == nil {
			ids = append(ids, e.MessageID)
		}
	}
	return ids
}

func (f *followed) owed() []string { return ids(f.text) }

func (f *followed) add(b []byte) error {
	f.expect(append(bytes.Clone(f.text), b...))
	f.text = append(f.text, b...)
	w, err := os.OpenFile(f.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return errors.Join(err, w.Close())
}

// mend cuts a begun line, as our writers do before they append.
func (f *followed) mend() error {
	end := bytes.LastIndexByte(f.text, '\n') + 1
	f.held = nil
	if end == len(f.text) {
		return nil
	}
	f.text = f.text[:end]
	return os.Truncate(f.log, int64(end))
}

func (f *followed) write() error {
	err := f.mend()
	var all []byte
	for range 1 + f.rng.IntN(30) {
		all = append(append(all, f.line(len(f.text)+len(all))...), '\n')
		if f.rng.IntN(3) == 0 {
			err = errors.Join(err, f.add(all))
			all = nil
		}
	}
	return errors.Join(err, f.add(all))
}

func (f *followed) beginLine() error {
	err := f.mend()
	l := append(f.line(len(f.text)), '\n')
	at := 1 + f.rng.IntN(len(l)-1)
	f.held = l[at:]
	held := f.held
	err = errors.Join(err, f.add(l[:at]))
	f.held = held
	return err
}

func (f *followed) goOn() error {
	at := min(len(f.held), 1+f.rng.IntN(300))
	more := f.held[:at]
	f.held = f.held[at:]
	return f.add(more)
}

func (f *followed) writeJunk() error {
	f.junk = true
	return errors.Join(f.mend(), f.add([]byte("no record\n")))
}

func (f *followed) cut() error {
	if len(f.text) == 0 {
		return nil
	}
	f.harmed = true
	f.text, f.held = f.text[:len(f.text)-1-f.rng.IntN(min(len(f.text), 700))], nil
	return os.Truncate(f.log, int64(len(f.text)))
}

// others are lines of another history.
func (f *followed) others() (all []byte) {
	for range f.rng.IntN(20) {
		all = append(append(all, f.line(len(all))...), '\n')
	}
	return all
}

func (f *followed) rewrite() error {
	f.harmed = true
	return f.set(f.log, f.others())
}

// unseen makes the log another, longer one while the program cannot look.
func (f *followed) unseen() error {
	var all []byte
	for len(all) <= len(f.text) {
		all = append(append(all, f.line(len(all))...), '\n')
	}
	f.harmed = true
	return errors.Join(f.stop(true), f.set(f.log, all), f.stop(false))
}

func (f *followed) put(b []byte) error {
	f.harmed = true
	return errors.Join(f.set(f.log+".new", b), os.Rename(f.log+".new", f.log))
}

func (f *followed) replace() error { return f.put(f.others()) }

func (f *followed) remove() error {
	f.harmed, f.text, f.held = true, nil, nil
	return os.RemoveAll(f.log)
}

func (f *followed) restore() error {
	if f.rng.IntN(2) == 0 {
		return f.put(bytes.Clone(f.saved))
	}
	f.harmed = true
	return f.set(f.log, bytes.Clone(f.saved))
}
