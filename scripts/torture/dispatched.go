package main

import (
	"bytes"
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
	"", "events-classified.ndjson", "dispatch.ndjson", "open/*", "runs/*/prompt.md", "runs/*/state.json",
	"runs/*/words.ndjson",
	"runs/*/raw/stream.jsonl", "runs/*/heard.ndjson", "runs/*/checkpoint.json", "runs/*/result.json",
	"decisions.ndjson",
}

// dispatchedTally is what stories with the real dispatcher counted.
type dispatchedTally struct {
	words, lost, runs, cycles int
	failed                    int            // words of items whose run failed, which a person sees
	killed                    [2]int         // dispatchers with the wrappers in them, agents
	at                        map[string]int // kills by point
}

// saidToDispatcher has an asker write while tri-dispatch, which tells the run what is written, and the
// agent are killed at every point of a message's way, and counts the messages that the draft in the end
// does not answer.
func saidToDispatcher(o options) (sum dispatchedTally, err error) {
	var mu sync.Mutex
	var errs []error
	var hands sync.WaitGroup
	next := make(chan uint64)
	sum.at = map[string]int{}
	for range 4 {
		hands.Go(func() {
			for seed := range next {
				t, err := dispatchOnce(o, seed)
				mu.Lock()
				sum.words, sum.lost, sum.runs, sum.cycles = sum.words+t.words, sum.lost+t.lost,
					sum.runs+t.runs, sum.cycles+t.cycles
				sum.failed += t.failed
				sum.killed[0], sum.killed[1] = sum.killed[0]+t.killed[0], sum.killed[1]+t.killed[1]
				for p, n := range t.at {
					sum.at[p] += n
				}
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
	d.at = map[string]int{}
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
	d.words = 3 + d.rng.IntN(8)
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
	kills, sent := 6+d.rng.IntN(6), 0
	tell := func() error {
		if sent == d.words {
			return nil
		}
		sent++
		return d.say(sent-1, mark(sent-1))
	}
	for end := time.Now().Add(d.o.wait); ; {
		if time.Now().After(end) {
			return errors.New("it does not come to rest")
		}
		if d.cmd == nil {
			d.cmd = exec.Command(filepath.Join(d.o.bin, "tri-dispatch"), d.path("events-classified.ndjson"))
			d.cmd.Env = append(os.Environ(), "TRI_HOME="+d.path(""))
			d.cmd.Stderr, d.cmd.SysProcAttr = &d.said, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := d.cmd.Start(); err != nil {
				return err
			}
		}
		switch n := d.rng.IntN(6); {
		case n < 2 && sent < d.words:
			if err := tell(); err != nil {
				return err
			}
		case n > 3 && kills > 0 && sent > 0:
			kills--
			if err := d.kill(tell); err != nil {
				return err
			}
		case sent == d.words:
			t, err := d.thread()
			if err != nil {
				return err
			}
			if t == nil || t.Status != thread.PendingUser || len(t.Messages)+len(t.Pending) < d.words {
				break
			}
			d.cycles = t.Cycle
			for n := range d.words {
				asked := slices.ContainsFunc(t.Messages, func(m thread.Message) bool {
					return strings.HasSuffix(m.Content+" ", mark(n)+" ") || n == 0
				})
				switch {
				case !asked || t.DraftPending != nil && !strings.Contains(*t.DraftPending+" ", mark(n)+" "):
					d.lost++
					fmt.Printf("words: seed %d: %s is lost: %s\n", seed, mark(n), d.dir)
				case t.DraftPending == nil: // the agent was killed too often; the item says so, and keeps all
					d.failed++
				}
			}
			runs, err := os.ReadDir(d.path("runs"))
			d.runs = len(runs)
			return err
		}
		time.Sleep(time.Duration(d.rng.IntN(12)) * time.Millisecond)
	}
}

func (d *dispatchStory) path(name string) string { return filepath.Join(d.dir, "home", name) }

// say appends the asker's next message to what the dispatcher follows.
func (d *dispatchStory) say(n int, text string) error {
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
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// thread returns the item, nil if there is none yet.
func (d *dispatchStory) thread() (*thread.Thread, error) {
	names, err := filepath.Glob(d.path("open/*.json"))
	if err != nil || len(names) == 0 {
		return nil, err
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		return nil, err
	}
	t := new(thread.Thread)
	return t, json.Unmarshal(text, t)
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
				d.at[point]++
				syscall.Kill(*s.PID, syscall.SIGKILL) // it may have ended
			}
		}
		return nil
	}
	d.killed[0]++
	d.at[point]++
	d.cmd.Process.Kill()
	d.cmd.Wait() // it was killed
	d.cmd = nil
	return nil
}
