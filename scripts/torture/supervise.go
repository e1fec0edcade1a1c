package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pipeline is what tri-supervise says of its stages.
type pipeline struct {
	PID    int `json:"pid"`
	Stages []struct {
		Name  string `json:"name"`
		State string `json:"state"`
		PID   int    `json:"pid"`
	} `json:"stages"`
}

// supervise kills the stages of a supervised pipeline under load, then counts as
// kill does, and says how long each took to be back and what the pipeline takes
// at rest.
func supervise(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	err = w.addConfig(fmt.Sprintf("pipeline:\n- {name: web, off: %v}\n", !o.faces))
	if err != nil {
		return err
	}
	cmd := w.command("tri-supervise", "run")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(stop) })
	away, err := w.rageSupervised()
	if err == nil {
		err = w.settle(nil)
	}
	close(stop)
	approver.Wait()
	if err == nil {
		err = w.atRest()
	}
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	if err != nil {
		w.keep = true
		return fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	deaths, all := map[string]int{}, []time.Duration{}
	for _, name := range slices.Sorted(maps.Keys(away)) {
		took := away[name]
		slices.Sort(took)
		deaths[name], all = len(took), append(all, took...)
		fmt.Printf("kill -9: %-10s %4d times, back in %v at the median, %v at most\n", name, len(took),
			took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	err = w.judge(deaths)
	return errors.Join(err, tooLong(all))
}

// tooLong judges how long stages were away. A single one may be kept waiting by what
// else the machine does; most may not.
func tooLong(away []time.Duration) error {
	const most, longest = 2 * time.Second, 30 * time.Second
	if len(away) == 0 {
		return errors.New("no stage was killed")
	}
	slices.Sort(away)
	if median, slowest := away[len(away)/2], away[len(away)-1]; median > most || slowest > longest {
		return fmt.Errorf("a stage was away for %v at the median, %v at most", median, slowest)
	}
	return nil
}

func (w *world) addConfig(text string) error {
	f, err := os.OpenFile(w.configFile(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (w *world) pipeline() (p pipeline, err error) {
	text, err := os.ReadFile(w.path("supervise.json"))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// rageSupervised talks and kills until both are done. It returns how long each
// stage was away, each time.
func (w *world) rageSupervised() (away map[string][]time.Duration, err error) {
	away = map[string][]time.Duration{}
	stages := 5
	if w.faces {
		stages = 7
	}
	for round := range w.rounds {
		for w.said*w.rounds < (round+1)*w.messages {
			if err := w.talk(); err != nil {
				return away, err
			}
		}
		name, took, err := w.killStage(round % stages)
		if err != nil {
			return away, err
		}
		away[name] = append(away[name], took)
	}
	return away, nil
}

// killStage ends a stage and waits until it is back.
func (w *world) killStage(i int) (name string, took time.Duration, err error) {
	was := 0
	var began time.Time
	for deadline := time.Now().Add(w.wait); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		p, err := w.pipeline()
		if err != nil || len(p.Stages) <= i || p.Stages[i].State != "up" || p.Stages[i].PID == was {
			continue // it is being started
		}
		s := p.Stages[i]
		if was != 0 {
			return s.Name, time.Since(began), nil
		}
		time.Sleep(time.Duration(w.rng.IntN(40)) * time.Millisecond)
		was, began = s.PID, time.Now()
		if err := syscall.Kill(was, syscall.SIGKILL); err != nil {
			return s.Name, 0, fmt.Errorf("%s had ended by itself: %w", s.Name, err)
		}
	}
	return "", 0, fmt.Errorf("stage %d is not back", i)
}

// atRest prints what each process of the pipeline takes when nobody talks, and what
// all of them do.
func (w *world) atRest() error {
	p, err := w.pipeline()
	if err != nil {
		return err
	}
	names, pids := []string{"supervise"}, []int{p.PID}
	for _, s := range p.Stages {
		names, pids = append(names, s.Name), append(pids, s.PID)
	}
	before := make([]use, len(pids))
	for i, pid := range pids {
		if before[i], err = taken(pid); err != nil {
			return err
		}
	}
	time.Sleep(w.rest)
	var all use
	for i, pid := range pids {
		u, err := taken(pid)
		if err != nil {
			return err
		}
		u.cpu -= before[i].cpu
		fmt.Printf("at rest: %-10s %6.1f MB, %6.3f%% of a core\n", names[i], u.pss/1e3,
			100*u.cpu/w.rest.Seconds())
		all.cpu, all.pss = all.cpu+u.cpu, all.pss+u.pss
	}
	fmt.Printf("at rest: %d processes, %.0f MB resident (PSS), %.2f%% of a core over %v\n", len(pids),
		all.pss/1e3, 100*all.cpu/w.rest.Seconds(), w.rest)
	return nil
}

// use is what a process took: seconds of CPU, and KB of memory of which it has
// what it shares with others in parts.
type use struct{ cpu, pss float64 }

func taken(pid int) (u use, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	var user, system float64
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if _, err := fmt.Sscan(f[11]+" "+f[12], &user, &system); err != nil {
		return u, err
	}
	u.cpu = (user + system) / 100 // ticks of 10 ms, as everywhere on Linux
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return u, err
	}
	_, after, _ := strings.Cut(string(text), "\nPss:")
	var kb float64
	_, err = fmt.Sscan(after, &kb)
	u.pss = kb * 1.024
	return u, err
}
