package main

import (
	"syscall"
	"time"
)

const sigterm = syscall.SIGTERM

// procedure is what happens to a log and to its reader. The reader has been
// started; what is left to come out is waited for afterwards.
type procedure struct {
	name string
	run  func(p *process, lines int) error
}

// all runs steps until one fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

var procedures = []procedure{
	{"rename", func(p *process, n int) error { return p.rotating(5, n, p.w.rename) }},
	{"copytruncate", func(p *process, n int) error { return p.rotating(5, n, p.w.copytruncate) }},
	{"restart", func(p *process, n int) error {
		return all(p.writes(n/2), p.settle, p.ends(syscall.SIGTERM), p.writes(n/4), p.start, p.writes(n/4))
	}},
	{"down+rename", func(p *process, n int) error {
		return p.away(n, p.ends(syscall.SIGTERM), p.start, p.w.rename)
	}},
	{"down+truncate", func(p *process, n int) error {
		return p.away(n, p.ends(syscall.SIGTERM), p.start, p.w.copytruncate)
	}},
	{"stop+rename", func(p *process, n int) error {
		return p.away(n, p.signals(syscall.SIGSTOP), p.signals(syscall.SIGCONT), p.w.rename)
	}},
	{"stop+truncate", func(p *process, n int) error {
		return p.away(n, p.signals(syscall.SIGSTOP), p.signals(syscall.SIGCONT), p.w.copytruncate)
	}},
	{"bad line", func(p *process, n int) error {
		return all(p.writes(n/2), p.w.spoil, p.writes(n/4), p.w.spoil, p.writes(n/4))
	}},
	{"kill -9", func(p *process, n int) error {
		for range 10 {
			if err := all(p.writes(n/20), p.lives, p.ends(syscall.SIGKILL), p.writes(n/20),
				p.start); err != nil {
				return err
			}
		}
		return nil
	}},
	{"partial line", partial},
	{"same inode", sameInode},
}

func (p *process) writes(n int) func() error { return func() error { return p.w.write(n) } }

func (p *process) ends(s syscall.Signal) func() error { return func() error { return p.end(s) } }

func (p *process) signals(s syscall.Signal) func() error {
	return func() error { return p.signal(s) }
}

// lives gives the reader time to come up and to read.
func (p *process) lives() error {
	time.Sleep(time.Second)
	return nil
}

// rotating rotates while the reader runs freely, right behind a burst of writes.
func (p *process) rotating(times, lines int, rotate func() error) error {
	for range times {
		if err := all(p.writes(lines/(times+1)), rotate); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
	}
	return p.w.write(lines / (times + 1))
}

// away rotates twice while the reader is away; what stands in the log then is
// longer than all that it has read.
func (p *process) away(n int, leave, back, rotate func() error) error {
	return all(p.writes(n/10), p.settle, leave, p.writes(n/10), rotate, p.writes(n/10), rotate,
		p.writes(n*7/10), back)
}

// partial writes lines in two pieces with time between them, and once the reader
// is started again in that time.
func partial(p *process, n int) error {
	if err := p.w.write(n / 2); err != nil {
		return err
	}
	for i := range 6 {
		line := p.w.record()
		if err := p.w.raw(line[:len(line)/2]); err != nil {
			return err
		}
		time.Sleep(700 * time.Millisecond)
		if i == 3 {
			if err := all(p.ends(syscall.SIGTERM), p.start); err != nil {
				return err
			}
			time.Sleep(700 * time.Millisecond)
		}
		if err := p.w.raw(line[len(line)/2:]); err != nil {
			return err
		}
	}
	return p.w.write(n / 2)
}

// sameInode removes the log while the reader is down and makes another one, which
// the file system gives the same inode; its lines are as long as those before.
func sameInode(p *process, n int) error {
	return all(p.writes(n/4), p.settle, p.ends(syscall.SIGTERM), p.w.recreate, p.writes(n/2), p.start,
		p.writes(n/4))
}
