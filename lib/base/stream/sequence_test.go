package stream

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"tri/lib/base/sysexit"
)

var (
	sequences = flag.Int("sequences", 500, "TestFollowModel: sequences of steps to try")
	firstSeed = flag.Uint64("seed", 1, "TestFollowModel: of the first sequence; the next has the next")
)

// Probabilities of the steps, in a world where the log is not damaged, and in one where it is.
var (
	peaceful = map[string]int{
		"write": 8, "burst": 1, "begin": 3, "go on": 4, "mend": 1, "blank": 1, "junk": 1,
		"start": 4, "end": 1, "kill": 2, "pause": 2, "continue": 3, "second": 1,
	}
	hostile = map[string]int{
		"write": 8, "burst": 1, "begin": 3, "go on": 3, "mend": 1, "blank": 1, "junk": 1,
		"start": 4, "end": 1, "kill": 2, "pause": 2, "continue": 3, "second": 1,
		"cut": 2, "anew": 1, "replace": 1, "remove": 1, "copy": 1, "restore": 2, "over": 2,
	}
)

// sequence is the steps of a seed.
func sequence(seed uint64) (seq []step) {
	rng := rand.New(rand.NewPCG(seed, 7))
	chances := peaceful
	if seed%2 == 1 {
		chances = hostile
	}
	var bag []string
	for what, n := range chances {
		bag = append(bag, slices.Repeat([]string{what}, n)...)
	}
	slices.Sort(bag)
	for range 4 + rng.IntN(24) {
		seq = append(seq, step{bag[rng.IntN(len(bag))], rng.Uint64N(1 << 20)})
	}
	return seq
}

// TestFollowModel tries generated sequences against the model, and reports the shortest failing
// sequence that it finds.
func TestFollowModel(t *testing.T) {
	was := newWatcher
	// the net below it looks
	newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("none") }
	defer func() { newWatcher = was }()
	dir := inMemory(t)
	steps := 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*sequences); seed++ {
		seq := sequence(seed)
		steps += len(seq)
		if err := try(t, dir, seed, seq); err != nil {
			short := shortest(seq, func(seq []step) bool { return try(t, dir, seed, seq) != nil })
			t.Fatalf("seed %d: %v\n%d steps of %d are enough: %v", seed, try(t, dir, seed, short), len(short),
				len(seq), short)
		}
	}
	t.Logf("%d sequences, %d steps", *sequences, steps)
}

// inMemory is a folder where fsync costs nothing, where there is one.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "follow")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// try runs a sequence in a world of its own.
func try(t *testing.T, dir string, seed uint64, seq []step) (err error) {
	dir, e := os.MkdirTemp(dir, "")
	if e != nil {
		t.Fatal(e)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(*testing.T) {
		w := newWorld(dir, rand.New(rand.NewPCG(seed, 8)))
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
			}
			w.end()
		}()
		for i, s := range slices.Concat(seq, []step{{"continue", 0}, {"start", 0}}) {
			steps[s.what](w, s.n)
			if err = w.check(); err != nil {
				err = fmt.Errorf("step %d, %v: %w", i, s, err)
				return
			}
		}
	})
	return err
}

// shortest leaves steps out for as long as fails says that it fails without them.
func shortest(seq []step, fails func([]step) bool) []step {
	for n := len(seq) / 2; n > 0; {
		cut := false
		for i := 0; i+n <= len(seq); {
			less := slices.Delete(slices.Clone(seq), i, i+n)
			if fails(less) {
				seq, cut = less, true
			} else {
				i++
			}
		}
		if !cut || n > len(seq) {
			n /= 2
		}
	}
	return seq
}

// check verifies the promises.
func (w *world) check() error {
	have := w.owed()
	for i, l := range have {
		if i == 0 {
			w.before[l] = ""
		} else {
			w.before[l] = have[i-1]
		}
	}
	r := w.reader
	if r == nil || r.over {
		return w.sound(w.delivered())
	}
	if r.pause.Load() != nil {
		synctest.Wait()
		w.stalled = true
		return w.sound(w.delivered())
	}
	time.Sleep(2 * pollEvery)
	synctest.Wait()
	select {
	case <-r.done:
		r.over = true
	default:
	}
	got := w.delivered()
	if err := w.sound(got); err != nil {
		return err
	}
	now, _ := os.Stat(w.log)
	if r.over {
		return w.justified(r.err, now, bytes.HasPrefix(w.text, w.known))
	}
	if !slices.Equal(got, have) {
		return fmt.Errorf("it runs, and has delivered %d lines: %.300q; there stand %d: %.300q", len(got),
			short(got), len(have), short(have))
	}
	if w.sure != nil && (now == nil || !os.SameFile(now, w.sure)) {
		return errors.New("it runs on another file than it began")
	}
	w.sure, w.harmed, w.stalled = now, false, false
	w.known = bytes.Clone(w.text[:bytes.LastIndexByte(w.text, '\n')+1])
	return nil
}

func short(lines []string) []string { return lines[max(0, len(lines)-3):] }

// owed returns the lines of the log, without the refused ones.
func (w *world) owed() []string {
	lines := whole(w.text)
	if w.stage {
		lines = slices.DeleteFunc(lines, func(l string) bool { return l[0] != '{' })
	}
	return lines
}

// delivered are the lines that the follower has handed on.
func (w *world) delivered() []string {
	if !w.stage {
		return w.got
	}
	lines := whole(w.output())
	for i, l := range lines {
		lines[i] = strings.Replace(l, `,"seen":true}`, "}", 1)
	}
	return lines
}

// sound reports lines that were not in the log, in order from the first.
func (w *world) sound(got []string) error {
	last := ""
	for i, l := range got {
		before, stood := w.before[l]
		if !stood {
			return fmt.Errorf("delivered what never stood there: %.100q", l)
		}
		if before != last {
			return fmt.Errorf("delivered as number %d %.100q, which stood behind %.100q, not %.100q", i, l,
				before, last)
		}
		last = l
	}
	return nil
}

// justified looks at the end of a follower that ended by itself.
func (w *world) justified(err error, now os.FileInfo, stands bool) error {
	status, _ := sysexit.Of(err)
	gone := errors.Is(err, os.ErrNotExist)
	switch {
	case status != sysexit.Data && !gone || strings.Contains(fmt.Sprint(err), "refused"):
		return fmt.Errorf("ended with %v", err)
	case !w.harmed:
		return fmt.Errorf("ended although nobody did the log any harm: %v", err)
	case !w.stalled && stands && w.sure != nil && now != nil && os.SameFile(now, w.sure):
		return fmt.Errorf("ended although all that it delivered stands there: %v", err)
	}
	return nil
}
