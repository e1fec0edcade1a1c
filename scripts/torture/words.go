package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tri/lib/agent"
	agents "tri/lib/agent/all"
	"tri/lib/agent/steer"
	limits "tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	record "tri/lib/record/run"
)

// saidToRuns tells runs things while who tells, who supervises and the agent are killed at random
// instants, and counts the words that a result says it answers and does not, and those that no
// result answers. Two agents: one that takes words as they come, and forgets those of its last call
// when it is killed, as real programs do; and one that takes none. As a control a wrapper without
// words.ndjson, which trusts what the program acknowledged, has to lose some.
func saidToRuns(o options) error {
	kept, err := tellAll(o, false)
	if err != nil {
		return err
	}
	control := o
	control.rounds = max(40, o.rounds/4)
	without, err := tellAll(control, true)
	if err != nil {
		return err
	}
	count(counts{messages: kept.words, lost: kept.lost})
	fmt.Printf("words: %d stories, %d words, %d runs, killed: %d tellers, %d wrappers, %d agents: %d lost\n",
		o.rounds, kept.words, kept.runs, kept.killed[0], kept.killed[1], kept.killed[2], kept.lost)
	fmt.Printf("words: without the log, %d stories, %d words: %d lost\n", control.rounds, without.words,
		without.lost)
	real, err := saidToDispatcher(o)
	if err != nil {
		return err
	}
	count(counts{messages: real.words, lost: real.lost})
	real.print(o.rounds)
	switch {
	case kept.lost+real.lost > 0:
		return fmt.Errorf("%d of %d words were lost", kept.lost+real.lost, kept.words+real.words)
	case without.lost == 0:
		return errors.New("the control lost nothing: the kills do not reach what they are for")
	}
	return nil
}

// wordTally is what stories counted.
type wordTally struct {
	words, runs, lost int
	killed            [3]int // tellers, wrappers, agents
}

func tellAll(o options, control bool) (sum wordTally, err error) {
	var mu sync.Mutex
	var errs []error
	var hands sync.WaitGroup
	next := make(chan int)
	for range 6 {
		hands.Go(func() {
			for i := range next {
				t, err := tellOnce(o, o.seed+uint64(i), control)
				mu.Lock()
				sum.words, sum.runs, sum.lost = sum.words+t.words, sum.runs+t.runs, sum.lost+t.lost
				for k := range t.killed {
					sum.killed[k] += t.killed[k]
				}
				if err != nil {
					errs = append(errs, fmt.Errorf("seed %d: %w", o.seed+uint64(i), err))
				}
				mu.Unlock()
			}
		})
	}
	for i := range o.rounds {
		next <- i
	}
	close(next)
	hands.Wait()
	return sum, errors.Join(errs...)
}

// telling is one story.
type telling struct {
	wordTally
	rng     *rand.Rand
	home    *durable.Home
	agent   string // native or legs
	control bool
	kills   int // that are left
	pending []string
}

func tellOnce(o options, seed uint64, control bool) (wordTally, error) {
	dir, err := os.MkdirTemp("", "torture-words")
	if err != nil {
		return wordTally{}, err
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	t := &telling{rng: rand.New(rand.NewPCG(seed, 7)), agent: []string{"native", "legs"}[seed%2],
		control: control, kills: 6}
	if control {
		t.agent = "native"
	}
	if t.home, err = durable.Open(dir); err != nil {
		return t.wordTally, err
	}
	defer t.home.Close()
	if err := t.home.MkdirAll("code"); err != nil {
		return t.wordTally, err
	}
	all := []string{}
	for n := range 1 + t.rng.IntN(5) {
		all = append(all, fmt.Sprintf("WORD-%d-%d", seed, n))
	}
	t.words = len(all)
	left := all
	for cycle := 1; len(left) > 0 || len(t.pending) > 0; cycle++ {
		if cycle > 20 {
			return t.wordTally, fmt.Errorf("%d words are answered by nobody after 20 runs", len(t.pending))
		}
		if left, err = t.cycle(cycle, left); err != nil {
			return t.wordTally, err
		}
	}
	return t.wordTally, nil
}

// cycle is one run: its prompt has the words that wait, and others are said to it.
func (t *telling) cycle(cycle int, left []string) ([]string, error) {
	id := record.ID(record.Investigate, "words", cycle, 1)
	asked := t.pending
	t.pending = nil
	t.runs++
	if err := t.home.Replace("prompt", []byte("go on: "+strings.Join(asked, " "))); err != nil {
		return left, err
	}
	end := time.Now().Add(time.Minute)
	var wrapper *exec.Cmd
	for {
		if res, err := record.Load(t.home, id); err != nil {
			return left, err
		} else if res != nil {
			if wrapper != nil {
				_ = wrapper.Wait() // its status does not matter: the result is there
			}
			return left, t.check(id, res, asked)
		}
		if time.Now().After(end) {
			return left, errors.New("no result after a minute")
		}
		if wrapper == nil || gone(wrapper) {
			if wrapper != nil {
				_ = wrapper.Wait() // it was killed, or its agent died too often
			}
			wrapper = t.command("wrapper", id, t.agent, strconv.FormatBool(t.control))
			if err := wrapper.Start(); err != nil {
				return left, err
			}
		}
		switch n := t.rng.IntN(8); {
		case n < 3 && len(left) > 0:
			t.pending = append(t.pending, left[0])
			left = left[1:]
		case n == 3 && t.kills > 0 && cycle < 8:
			t.kills--
			t.kill(id, wrapper)
		}
		if err := t.tell(id); err != nil {
			return left, err
		}
		time.Sleep(time.Duration(t.rng.IntN(12)) * time.Millisecond)
	}
}

// command starts a part of the story as a process of its own.
func (t *telling) command(part string, args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", append([]string{"words-part", part, t.home.Dir()}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// gone reports whether a process has ended, without waiting for it.
func gone(c *exec.Cmd) bool { return !record.ProcessOf(c.Process.Pid).Alive() }

// tell writes the words that the run's log does not have, as the dispatcher does after a restart.
func (t *telling) tell(id string) error {
	for {
		told, err := record.Words(t.home.Path("runs/" + id))
		if err != nil {
			return err
		}
		var missing []string
		for _, w := range t.pending {
			if !slices.ContainsFunc(told, func(o record.Word) bool { return o.Text == w }) {
				missing = append(missing, w)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		c := t.command("teller", append([]string{id}, missing...)...)
		if err := c.Start(); err != nil {
			return err
		}
		if t.kills > 0 && t.rng.IntN(4) == 0 {
			t.kills--
			t.killed[0]++
			time.Sleep(time.Duration(t.rng.IntN(20)) * time.Millisecond)
			_ = c.Process.Kill() // it may have ended
		}
		_ = c.Wait() // whether it wrote is in the log
	}
}

// kill kills the wrapper, or the agent that it supervises, at once or when a file of the run changes.
func (t *telling) kill(id string, wrapper *exec.Cmd) {
	dir := t.home.Path("runs/" + id)
	if name := []string{"", "words.ndjson", "heard.ndjson", "checkpoint.json",
		"raw/stream.jsonl"}[t.rng.IntN(5)]; name != "" {
		was, _ := os.Stat(filepath.Join(dir, name)) // not there yet
		end := time.Now().Add(50 * time.Millisecond)
		for ; time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
			now, err := os.Stat(filepath.Join(dir, name))
			if err == nil && (was == nil || now.Size() != was.Size() || now.ModTime() != was.ModTime()) {
				break
			}
		}
	}
	if !t.control && t.rng.IntN(2) == 0 {
		t.killed[1]++
		_ = wrapper.Process.Kill() // it may have ended
		return
	}
	s, err := record.LoadState(dir)
	if err == nil && s.PID != nil && s.Agent.Alive() {
		t.killed[2]++
		_ = syscall.Kill(*s.PID, syscall.SIGKILL) // it may have ended
	}
}

// check compares a result with what it says that it answers. Words that it does not answer wait.
func (t *telling) check(id string, res *record.Result, asked []string) error {
	var value struct{ Seen []string }
	if err := json.Unmarshal(res.Value, &value); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	told, err := record.Words(t.home.Path("runs/" + id))
	if err != nil {
		return err
	}
	answered := slices.Clone(asked)
	for _, w := range told {
		if slices.Contains(res.Heard, w.ID) {
			answered = append(answered, w.Text)
		}
	}
	for _, w := range answered {
		if !slices.Contains(value.Seen, w) {
			t.lost++
		}
	}
	t.pending = slices.DeleteFunc(t.pending, func(w string) bool { return slices.Contains(answered, w) })
	return nil
}

// wordsPart is a process of a story.
func wordsPart(args []string) error {
	switch part, home := args[0], args[1]; part {
	case "agent":
		return wordsAgent(home)
	case "claim":
		return claim(home, args[2])
	case "teller":
		h, err := durable.Open(home)
		if err != nil {
			return err
		}
		var words []record.Word
		for _, w := range args[3:] {
			words = append(words, record.Word{ID: record.WordID("words", w, ""),
				Kind: []string{record.Append, record.Redirect}[len(w)%2], By: "asker", Text: w})
		}
		_, err = record.Tell(h, args[2], time.Now(), words...)
		return errors.Join(err, h.Close())
	default:
		return wordsWrapper(home, args[2], args[3], args[4] == "true")
	}
}

// wordsWrapper does the run and publishes its result.
func wordsWrapper(dir, id, kind string, control bool) error {
	h, err := durable.Open(dir)
	if err != nil {
		return err
	}
	own, err := record.Begin(h, id)
	for end := time.Now().Add(10 * time.Second); errors.Is(err, durable.ErrLocked) &&
		time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond) // the agent of a wrapper that was killed holds it
		own, err = record.Begin(h, id)
	}
	if err != nil {
		return err
	}
	if res, err := record.Load(h, id); err != nil || res != nil {
		return err
	}
	prompt, err := h.ReadFile("prompt")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name := map[string]string{"native": "claude", "legs": "exec"}[kind]
	a, err := agents.New(config.Agent{Agent: name, Command: []string{self, "words-part", "agent", kind}},
		"off")
	if err != nil {
		return err
	}
	task := agent.Task{Prompt: string(prompt), Codebase: h.Path("code"), Dir: own.Dir(),
		SessionID: own.SessionID, Hold: own.LockFile()}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if control {
		a, err = trusting(ctx, a, &task)
	} else {
		a, err = steer.Wrap(a, steer.Options{Burst: 10 * time.Millisecond})
	}
	if err != nil {
		return err
	}
	res, err := limits.Wrap(a, limits.Options{}).Run(ctx, task)
	if err != nil {
		return err
	}
	value, err := json.Marshal(map[string][]string{"seen": strings.Fields(res.Text)})
	if err != nil {
		return err
	}
	return own.Publish(record.Result{RunID: id, Kind: record.Investigate, Status: record.Done, Value: value})
}

// trusting is the control: words that came before it are not said again, the session is resumed, and
// what the program acknowledged counts as heard.
func trusting(ctx context.Context, a agent.Agent, t *agent.Task) (agent.Agent, error) {
	before, err := record.Words(t.Dir)
	if err != nil {
		return nil, err
	}
	s, err := record.LoadState(t.Dir)
	if err == nil && s.SessionID != nil && exists(filepath.Join(t.Dir, "home", "session-"+*s.SessionID)) {
		t.Resume, t.SessionID, t.Prompt = true, *s.SessionID, t.Prompt+" go on"
	}
	log, err := record.OpenHeard(t.Dir)
	if err != nil {
		return nil, err
	}
	words := make(chan agent.Word)
	t.Words = words
	t.Heard = func(id, how string) {
		// a control
		_ = log.Note(record.Heard{ID: id, At: time.Now().UTC().Format(time.RFC3339), How: how, Leg: 1})
	}
	go func() {
		// it ends with the process
		_ = record.FollowWords(ctx, t.Dir, len(before), func(w record.Word) error {
			words <- agent.Word{ID: w.ID, Kind: w.Kind, Text: w.Text}
			return nil
		})
	}()
	return a, nil
}
