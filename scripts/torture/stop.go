package main

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// stop stops the stages of a running pipeline for a while, one or several at once,
// under load, and starts each a second time, beside one that runs or is stopped: the
// second must refuse. Then it counts as kill does.
func stop(o options) error {
	if err := twice(o); err != nil {
		return err
	}
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	stages, err := w.up()
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range stages {
			s.kill()
		}
	}()
	done := make(chan struct{})
	var approver sync.WaitGroup
	for range 2 { // both say yes to everything
		approver.Go(func() { w.approve(done) })
	}
	err = errors.Join(w.ask(), w.settle(stages)) // each has what only one may have
	stops, seconds := 0, 0
	if err == nil {
		stops, seconds, err = w.stopAndGo(stages)
	}
	if err == nil {
		err = w.settle(stages)
	}
	close(done)
	approver.Wait()
	for _, s := range stages {
		if last := s.kept.String(); !s.kill() && err == nil {
			err = fmt.Errorf("%s had ended by itself: %s", s.name, last)
		}
	}
	if err != nil {
		w.keep = true
		return err
	}
	fmt.Printf("stop: %d stages stopped for a while, %d second instances refused\n", stops, seconds)
	return w.judge(map[string]int{})
}

func (w *world) stopAndGo(stages []*stage) (stops, seconds int, err error) {
	for round := range w.rounds {
		still := map[*stage]bool{}
		for range 1 + w.rng.IntN(3) {
			s := stages[w.rng.IntN(len(stages))]
			if err := s.signal(syscall.SIGSTOP); err != nil {
				return stops, seconds, err
			}
			still[s] = true
		}
		stops += len(still)
		for w.said*w.rounds < (round+1)*w.messages {
			if err := w.talk(); err != nil {
				return stops, seconds, err
			}
		}
		if w.rng.IntN(5) == 0 {
			s := stages[w.rng.IntN(len(stages))]
			if err := s.second(w); err != nil {
				return stops, seconds, err
			}
			seconds++
		}
		time.Sleep(time.Duration(w.rng.IntN(150)) * time.Millisecond)
		for s := range still {
			if err := s.signal(syscall.SIGCONT); err != nil {
				return stops, seconds, err
			}
		}
		time.Sleep(time.Duration(w.rng.IntN(30)) * time.Millisecond)
	}
	return stops, seconds, nil
}
