package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tri/lib/base/sysexit"
)

// noRoom is how a program says that the disk is full.
const noRoom = "no space left on device"

// page is the step, in bytes, in which room is given.
const page = 4 << 10

// full fills the disk under every program and under the whole pipeline, to the
// page, and has room be made later. Whoever has no room must say so; nothing that
// was told may be lost, nothing be torn or posted twice; and with room everything
// goes on. The codebase and the chat are elsewhere.
func full(o options) error { return mounting("full", o, fillDisk) }

func fillDisk(o options) error {
	var wrong []string
	for name := range strings.SplitSeq(o.mounts, ",") {
		s, err := parseSystem(name)
		if err != nil {
			return err
		}
		faults, err := sweep(o, s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		wrong = append(wrong, faults...)
		for n := 0; n < o.rounds; n++ {
			o.seed++
			said, faults, err := fill(o, s)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", name, o.seed, err)
			}
			fmt.Printf("%s, seed %d: %s\n", name, o.seed, said)
			wrong = append(wrong, faults...)
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n  "))
	}
	return nil
}

// leave puts something on the disk that leaves as much room, in bytes.
func (m *image) leave(room int64) error {
	f, err := os.Create(filepath.Join(m.at, "ballast"))
	if err != nil {
		return err
	}
	defer f.Close()
	for size := int64(0); ; {
		var st unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
			return err
		}
		more := int64(st.Bavail)*st.Bsize - room
		if more < page {
			return nil
		}
		// The blocks that say where the ballast lies take room too.
		more = max(page, more-more/64)
		if err := unix.Fallocate(int(f.Fd()), 0, size, more); errors.Is(err, unix.ENOSPC) {
			return nil // what is free is kept for the file system's own needs
		} else if err != nil {
			return err
		}
		size += more
	}
}

func (m *image) makeRoom() error { return os.Remove(filepath.Join(m.at, "ballast")) }

// sweep runs every program with room for nothing, for a page, for two, until it
// succeeds, each time in a fresh home, and again when there is room.
func sweep(o options, s system) (wrong []string, err error) {
	o.messages, o.chat = 3, "local"
	w, err := newWorld(o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for _, say := range []func() error{w.ask, func() error {
		_, err := w.chat.say("ben", "ok thanks")
		return err
	}, w.ask} {
		if err := say(); err != nil {
			return nil, err
		}
	}
	if err := os.Remove(w.path("events.ndjson")); err != nil {
		return nil, err
	}
	for _, p := range paths() {
		points := 0
		for room, good := int64(0), 0; good < 2; room += page {
			ok, fault, err := w.squeeze(p, s, room)
			if err != nil {
				return wrong, err
			}
			if fault != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s with %d bytes free: %v", s.name, p.name,
					room, fault))
			}
			if good++; !ok {
				good = 0
			}
			if points++; points > 200 {
				return nil, fmt.Errorf("%s needs more than %d bytes\n%s", p.name, room,
					strings.Join(wrong, "\n"))
			}
		}
		fmt.Printf("%s: %-13s %3d amounts of room\n", s.name, p.name, points)
		if out, err := w.command(p.args(w)...).CombinedOutput(); err != nil {
			return wrong, fmt.Errorf("%s undisturbed: %w: %s", p.name, err, out)
		}
	}
	return wrong, nil
}

// squeeze runs a program in a copy of the world whose disk has little room, and
// says whether it had enough.
func (w *world) squeeze(p path, s system, room int64) (ok bool, fault, err error) {
	c, err := w.copy()
	if err != nil {
		return false, nil, err
	}
	defer os.RemoveAll(c.dir)
	mnt := filepath.Join(c.dir, "disk")
	if err := os.Mkdir(mnt, 0o700); err != nil {
		return false, nil, err
	}
	m, err := newImage(s, c.dir, mnt)
	if err == nil {
		err = m.mount()
	}
	if err != nil {
		return false, nil, err
	}
	defer m.unmount()
	if err := errors.Join(run("cp", "-a", c.home, mnt), m.leave(room)); err != nil {
		return false, nil, err
	}
	c.home = filepath.Join(mnt, "home")
	out, ended := c.command(p.args(c)...).CombinedOutput()
	if ended == nil {
		if err := p.done(c); err != nil {
			return true, fmt.Errorf("status 0, and yet: %w", err), nil
		}
	} else if fault := clear(out, ended); fault != nil {
		return false, fault, nil
	}
	if err := m.makeRoom(); err != nil {
		return false, nil, err
	}
	if out, err := c.command(p.args(c)...).CombinedOutput(); err != nil && !over(p, out) {
		return false, fmt.Errorf("with room: %w: %.300s", err, out), nil
	}
	return ended == nil, p.done(c), nil
}

// clear makes sure that a program that had no room has said that.
func clear(out []byte, ended error) error {
	exit := new(exec.ExitError)
	if !errors.As(ended, &exit) || exit.ExitCode() != sysexit.IO || !bytes.Contains(out, []byte(noRoom)) {
		return fmt.Errorf("it had no room, and says: %w: %.300s", ended, out)
	}
	return nil
}

// fill lets a supervised pipeline run until its disk is full, looks at it for a
// while, and makes room.
func fill(o options, s system) (said string, faults []string, err error) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s, seed %d: %s", s.name, o.seed, fmt.Sprintf(format, args...)))
	}
	o.messages = 60
	l, err := lifeOf(o, s)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		l.keep = l.keep || err != nil || len(faults) > 0
		l.end()
	}()
	if err := l.addConfig("pipeline:\n- {name: web, off: true}\n"); err != nil {
		return "", nil, err
	}
	cmd := l.command("tri-supervise", "run", "--config", l.config)
	var heard words
	cmd.Stderr = &heard
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	l.dead = make(chan struct{})
	l.approver.Go(l.approve)
	cpu, err := l.untilFull(cmd.Process.Pid, &heard)
	if err != nil {
		return "", nil, err
	}
	if cpu > 0.5 {
		fault("with a full disk it takes %.2f of a core", cpu)
	}
	told, err := l.told()
	if err != nil {
		return "", nil, err
	}
	for _, f := range append(l.missing(told), l.verify()...) {
		fault("full: %s", f)
	}
	if err := l.disk.makeRoom(); err != nil {
		return "", nil, err
	}
	began := time.Now()
	if err := l.settle(nil); err != nil {
		fault("with room: %v\n%s", err, heard.String())
		return "", faults, nil
	}
	rested := time.Since(began)
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		fault("tri-supervise: %v: %s", err, heard.String())
	}
	if !strings.Contains(heard.String(), noRoom) {
		fault("tri-supervise never says that the disk is full: %s", heard.String())
	}
	counted, err := l.atEnd(fault)
	return fmt.Sprintf("full, it took %.1f%% of a core and ended %d stages; at rest %.1f s after there was room; %s",
		100*cpu, strings.Count(heard.String(), "again in"), rested.Seconds(), counted), faults, err
}

// atEnd looks at a home at which nothing works any more.
func (l *life) atEnd(fault func(string, ...any)) (counted string, err error) {
	counted, err = l.count(fault)
	if out, err := l.command("tri-report", "verify", "--config", l.config).CombinedOutput(); err != nil {
		fault("at rest: %v: %s", err, out)
	}
	return counted, err
}

// look is for how long a pipeline with a full disk is watched.
const look = 4 * time.Second

// untilFull has people talk, takes the room away somewhere in the middle, has them
// go on until the supervisor says so, and returns what the pipeline takes then, in
// cores.
func (l *life) untilFull(supervisor int, said *words) (cores float64, err error) {
	for n := range 12 {
		if n == 4 {
			if err := l.disk.leave(int64(l.rng.IntN(40)) * page); err != nil {
				return 0, err
			}
		}
		if err := l.talk(); err != nil {
			return 0, err
		}
		time.Sleep(time.Duration(l.rng.IntN(200)) * time.Millisecond)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(said.String(), noRoom) &&
		time.Now().Before(deadline); {
		if _, err := l.chat.say("ben", "the build is green again"); err != nil {
			return 0, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	before, err := l.spent(supervisor)
	if err != nil {
		return 0, err
	}
	time.Sleep(look)
	after, err := l.spent(supervisor)
	return (after - before).Seconds() / look.Seconds(), err
}

// spent is the CPU time of a process, of its children, and of those that have
// ended.
func (l *life) spent(supervisor int) (all time.Duration, err error) {
	pids, err := l.processes()
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended meanwhile, and its parent knows
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		times := f[11:13]
		if pid == supervisor {
			times = f[11:15] // those that it has waited for too
		}
		for _, text := range times {
			var ticks int64
			if _, err := fmt.Sscan(text, &ticks); err != nil {
				return 0, err
			}
			all += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return all, err
}
