package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tri/lib/record/event"
	record "tri/lib/record/run"
	"tri/lib/record/thread"
)

// killPoints are the files on a message's way into a draft: the process that is killed has just changed
// one, "": at any instant. A * is the item or its newest run.
var killPoints = []string{
	"", "events-classified.ndjson", "dispatch.ndjson", "open/*", "runs/*/prompt-*.md", "runs/*/state.json",
	"runs/*/words.ndjson",
	"runs/*/raw/stream.jsonl", "runs/*/heard.ndjson", "runs/*/checkpoint.json", "runs/*/result.json",
	"decisions.ndjson",
}

// dispatchedTally is what stories with the real dispatcher counted.
type dispatchedTally struct {
	words, lost, runs, cycles int
	orders                    map[string]int // the operator's, by kind
	failed                    int            // words of items whose run failed, which a person sees
	killed                    [2]int         // dispatchers with the wrappers in them, agents
	at                        map[string]int // kills by what was said last and by point
}

// print prints the sums, and the kills at each point by what was said last.
func (sum *dispatchedTally) print(stories int) {
	fmt.Printf("words: with tri-dispatch, %d stories, %d words, of them %d told and %d redirected by the operator, "+
		"%d branches, %d cancelled, %d runs, %d cycles, killed: %d dispatchers, %d agents: %d lost, "+
		"%d wait for a person\n", stories, sum.words, sum.orders["tell"], sum.orders["redirect"],
		sum.orders["branch"], sum.orders["cancel"], sum.runs, sum.cycles, sum.killed[0], sum.killed[1],
		sum.lost, sum.failed)
	for _, p := range killPoints {
		line := fmt.Sprintf("words:   killed at %-24s", cmp.Or(p, "any instant"))
		for _, kind := range []string{"asked", "tell", "redirect", "branch", "cancel"} {
			line += fmt.Sprintf("  %s %d", kind, sum.at[kind+" "+p])
		}
		fmt.Println(line)
	}
}

// add adds a story's counts.
func (sum *dispatchedTally) add(t dispatchedTally) {
	sum.words, sum.lost, sum.runs, sum.cycles = sum.words+t.words, sum.lost+t.lost, sum.runs+t.runs,
		sum.cycles+t.cycles
	sum.failed += t.failed
	sum.killed[0], sum.killed[1] = sum.killed[0]+t.killed[0], sum.killed[1]+t.killed[1]
	for p, n := range t.at {
		sum.at[p] += n
	}
	for kind, n := range t.orders {
		sum.orders[kind] += n
	}
}

// saidToDispatcher has an asker write and an operator tell, redirect, branch and cancel while tri-dispatch,
// which tells the run what is said, and the agent are killed at every point of a message's way. It counts
// what the draft in the end does not answer, and commands that took effect twice or not at all.
func saidToDispatcher(o options) (sum dispatchedTally, err error) {
	var mu sync.Mutex
	var errs []error
	var hands sync.WaitGroup
	next := make(chan uint64)
	sum.at, sum.orders = map[string]int{}, map[string]int{}
	for range 4 {
		hands.Go(func() {
			for seed := range next {
				t, err := dispatchOnce(o, seed)
				mu.Lock()
				sum.add(t)
				if err != nil {
					errs = append(errs, fmt.Errorf("seed %d: %w", seed, err))
				}
				mu.Unlock()
			}
		})
	}
	for i := range o.rounds {
		next <- o.seed + uint64(i)
	}
	close(next)
	hands.Wait()
	return sum, errors.Join(errs...)
}

// dispatchStory is one such story.
type dispatchStory struct {
	dispatchedTally
	o    options
	dir  string
	rng  *rand.Rand
	cmd  *exec.Cmd
	said bytes.Buffer // by the dispatchers
	sent int          // words
	last string       // what was said last: asked, or the command of the operator
}

func dispatchOnce(o options, seed uint64) (dispatchedTally, error) {
	dir, err := os.MkdirTemp("", "torture-dispatched")
	if err != nil {
		return dispatchedTally{}, err
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	d := &dispatchStory{o: o, dir: dir, rng: rand.New(rand.NewPCG(seed, 11))}
	d.at, d.orders = map[string]int{}, map[string]int{}
	kind := []string{"native", "legs"}[seed%2]
	self, err := os.Executable()
	if err != nil {
		return d.dispatchedTally, err
	}
	config := fmt.Sprintf("sandbox: off\nteam: {approvers: [op]}\ncodebases: [{name: code, path: ../code}]\nturn: {hold_s: 0}\n"+
		"budget: {per_thread: {runs: 0}, per_person: {runs: 0}}\n"+
		"investigator: {agent: %s, command: [%q, words-part, agent, %s-return]}\n",
		map[string]string{"native": "claude", "legs": "exec"}[kind], self, kind)
	for name, text := range map[string]string{"home/config.yaml": config, "code/code.go": "package code\n",
		"home/events-classified.ndjson": ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			return d.dispatchedTally, err
		}
	}
	d.words = 4 + d.rng.IntN(9)
	if err := d.story(seed); err != nil {
		return d.dispatchedTally, fmt.Errorf("%w\n%s", err, d.said.String())
	}
	return d.dispatchedTally, nil
}

func (d *dispatchStory) story(seed uint64) error {
	defer func() {
		if d.cmd != nil {
			d.cmd.Process.Kill()
			d.cmd.Wait() // it was killed
		}
	}()
	mark := func(n int) string { return fmt.Sprintf("WORD-%d-%d", seed, n) }
	kills := 6 + d.rng.IntN(6)
	tell := func() error {
		if d.sent == d.words {
			return nil
		}
		d.sent++
		return d.say(d.sent-1, mark(d.sent-1))
	}
	for end := time.Now().Add(d.o.wait); ; {
		if time.Now().After(end) {
			return errors.New("it does not come to rest")
		}
		if err := d.start(); err != nil {
			return err
		}
		switch n := d.rng.IntN(6); {
		case n < 2 && d.sent < d.words:
			if err := tell(); err != nil {
				return err
			}
		case n > 3 && kills > 0 && d.sent > 0:
			kills--
			if err := d.kill(tell); err != nil {
				return err
			}
		case d.sent == d.words:
			if t, err := d.thread(""); err != nil || t != nil && d.rests(t) {
				if err != nil {
					return err
				}
				d.judge(t, mark)
				return d.end(t.Key, mark(d.words), end)
			}
		}
		time.Sleep(time.Duration(d.rng.IntN(12)) * time.Millisecond)
	}
}

// start starts the dispatcher if none runs. One ends at once if a child of the killed one before it, which
// has not become the agent yet, still has the lock.
func (d *dispatchStory) start() error {
	if d.cmd != nil {
		if !gone(d.cmd) {
			return nil
		}
		_ = d.cmd.Wait() // d.said has why it ended
	}
	d.cmd = exec.Command(filepath.Join(d.o.bin, "tri-dispatch"), d.path("events-classified.ndjson"))
	d.cmd.Env = append(os.Environ(), "TRI_HOME="+d.path(""))
	d.cmd.Stderr, d.cmd.SysProcAttr = &d.said, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return d.cmd.Start()
}

// rests reports whether an item waits for a person, with all that was said to it.
func (d *dispatchStory) rests(t *thread.Thread) bool {
	return t.Status == thread.PendingUser && len(t.PendingNotes) == 0 &&
		len(t.Messages)+len(t.Pending)+len(t.Notes) >= d.words
}

// judge counts the words that an item at rest has lost, and those that it has twice.
func (d *dispatchStory) judge(t *thread.Thread, mark func(int) string) {
	d.cycles = t.Cycle
	for n := range d.words {
		times := 0
		for _, m := range t.Messages {
			if strings.Contains(m.Content+" ", mark(n)+" ") {
				times++
			}
		}
		for _, o := range t.Notes {
			if strings.Contains(o.Text+" ", mark(n)+" ") {
				times++
			}
		}
		switch {
		case times != 1 || t.DraftPending != nil && !strings.Contains(*t.DraftPending+" ", mark(n)+" "):
			d.lost++
			fmt.Printf("words: seed %d: %s is %d times there: %s\n", d.o.seed, mark(n), times, d.dir)
		case t.DraftPending == nil: // the agent was killed too often; the item says so, and keeps all
			d.failed++
		}
	}
}

// end has the operator branch and cancel the item, with kills, and compares what they did.
func (d *dispatchStory) end(key, mark string, end time.Time) error {
	kinds := []string{"branch", "cancel"}
	for i, kind := range kinds {
		for range 1 + d.rng.IntN(2) { // once it is said, another kill may follow
			if err := errors.Join(d.start(), d.kill(func() error {
				said := kinds[i] != ""
				kinds[i] = ""
				if !said {
					return nil
				}
				return d.order(kind, key, "why "+mark+" ?")
			})); err != nil {
				return err
			}
		}
	}
	for ; ; time.Sleep(10 * time.Millisecond) {
		if err := d.start(); err != nil {
			return err
		}
		t, err := d.thread("")
		if err != nil {
			return err
		}
		beside, err := d.thread(key)
		if err != nil {
			return err
		}
		if t == nil && beside != nil && beside.Status == thread.PendingUser {
			if beside.DraftPending != nil && !strings.Contains(*beside.DraftPending, mark) {
				d.lost++
				fmt.Printf("words: seed %d: the branch does not answer %s: %s\n", d.o.seed, mark, d.dir)
			}
			break
		}
		if time.Now().After(end) {
			return errors.New("a branch or a cancelled item does not come to rest")
		}
	}
	closed, err := filepath.Glob(d.path("closed/*/*.json"))
	open, err2 := filepath.Glob(d.path("open/*.json"))
	if len(closed) != 1 || len(open) != 1 {
		err = errors.Join(err, fmt.Errorf("%d items open and %d closed, want 1 and 1", len(open), len(closed)))
	}
	runs, err3 := os.ReadDir(d.path("runs"))
	d.runs = len(runs)
	return errors.Join(err, err2, err3)
}

// order has an operator say something with tri-task.
func (d *dispatchStory) order(kind, key, text string) error {
	c := exec.Command(filepath.Join(d.o.bin, "tri-task"), kind, "--as", "op", key, text)
	c.Env = append(os.Environ(), "TRI_HOME="+d.path(""))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("tri-task %s: %w: %s", kind, err, out)
	}
	d.orders[kind]++
	d.last = kind
	return nil
}

func (d *dispatchStory) path(name string) string { return filepath.Join(d.dir, "home", name) }

// say has the operator direct the item, or appends the asker's next message to what the dispatcher follows.
func (d *dispatchStory) say(n int, text string) error {
	if t, err := d.thread(""); err != nil || t != nil && d.rng.IntN(2) == 0 {
		kind := []string{"tell", "redirect"}[d.rng.IntN(2)]
		if err == nil && d.order(kind, t.Key, "and it says "+text) == nil {
			return nil // else another word decided the draft first, which the operator is told
		}
		if err != nil {
			return err
		}
	}
	name := d.path("events-classified.ndjson")
	s, err := os.Stat(name)
	if err != nil {
		return err
	}
	e := event.Classified{Classification: event.Ambient}
	e.Seq, e.Platform, e.ChatID, e.ChatName, e.MessageID, e.MsgType = new(s.Size()), "local", "dev", "dev",
		fmt.Sprint(n+1), "text"
	e.CreateTime, e.Content, e.Mentions = time.Now().UTC().Format(time.RFC3339),
		"and it says "+text, []string{}
	e.Sender = event.Sender{ID: "ana", Type: "user"}
	if root := "1"; n > 0 {
		e.ThreadID = &root
	} else {
		e.Content, e.Classification, e.IsQuestion = "why does it say "+text+" ?", event.Actionable, true
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	d.last = "asked"
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// thread returns the open item that is beside parent, "" for the first one; nil if there is none.
func (d *dispatchStory) thread(parent string) (*thread.Thread, error) {
	names, err := filepath.Glob(d.path("open/*.json"))
	for _, name := range names {
		t := new(thread.Thread)
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, os.ErrNotExist): // it has just been closed
		case err != nil:
			return nil, err
		case json.Unmarshal(text, t) != nil:
			return nil, fmt.Errorf("%s: no item", name)
		case t.Parent == parent:
			return t, nil
		}
	}
	return nil, err
}

// kill kills the dispatcher, with the wrapper in it, or the agent, once a file has changed after the asker
// has said something more.
func (d *dispatchStory) kill(tell func() error) error {
	point := killPoints[d.rng.IntN(len(killPoints))]
	stamps := func() (all []string) {
		names, _ := filepath.Glob(d.path(point)) // the pattern is good
		for _, name := range names {
			if s, err := os.Stat(name); err == nil {
				all = append(all, fmt.Sprint(name, s.Size(), s.ModTime().UnixNano()))
			}
		}
		return all
	}
	was := stamps()
	if err := tell(); err != nil {
		return err
	}
	if point != "" {
		for end := time.Now().Add(1500 * time.Millisecond); slices.Equal(was,
			stamps()); time.Sleep(100 * time.Microsecond) {
			if time.Now().After(end) {
				point = ""
				break
			}
		}
	}
	time.Sleep(time.Duration(d.rng.IntN(1500)) * time.Microsecond)
	if d.rng.IntN(3) == 0 {
		dirs, _ := filepath.Glob(d.path("runs/*")) // the pattern is good
		for _, dir := range dirs {
			if s, err := record.LoadState(dir); err == nil && s.PID != nil && s.Agent.Alive() {
				d.killed[1]++
				d.at[d.last+" "+point]++
				syscall.Kill(*s.PID, syscall.SIGKILL) // it may have ended
			}
		}
		return nil
	}
	d.killed[0]++
	d.at[d.last+" "+point]++
	d.cmd.Process.Kill()
	d.cmd.Wait() // it was killed
	d.cmd = nil
	return nil
}
