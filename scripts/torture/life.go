package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// life is a home on a disk whose power is cut now and then, and the pipeline on it.
type life struct {
	*world
	disk     *image
	images   string // folder of the images
	mnt      string
	stages   []*stage
	approver sync.WaitGroup
	dead     chan struct{}
	power    sync.RWMutex // held for writing while there is none
	held     map[string]bool
	kills    int
}

// start lets the machine boot.
func (l *life) start() error {
	first := l.stages == nil
	l.stages = l.world.stages()
	for _, s := range l.stages {
		s.out = filepath.Join(l.dir, "told", s.name)
		if err := s.start(l.world); err != nil {
			return err
		}
		// The others work in the home, wherever it is, and make none.
		if s.name == "watch" && !soon(func() bool { return exists(l.home) }) {
			return fmt.Errorf("tri-watch makes no home: %s", s.kept.String())
		}
	}
	if first {
		l.dead = make(chan struct{})
		l.approver.Go(l.approve)
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// soon waits for something that will be.
func soon(is func() bool) bool {
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// fell kills a stage and starts it again. What it has written and not synced is
// there until the power goes.
func (l *life) fell(s *stage) error {
	ended := make(chan error)
	go func() { ended <- s.cmd.Wait() }()
	pid := s.cmd.Process.Pid
	for {
		// strace ends as whom it traces, if not as whom it tries its art on first.
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
		for _, child := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
			if pid, err := strconv.Atoi(child); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
				break
			}
		}
		select {
		case <-ended:
			if said := s.kept.String(); s.cmd.ProcessState.Exited() && l.through == nil {
				return fmt.Errorf("tri-%s had ended by itself: %s", s.name, said)
			}
			l.kills++
			return s.start(l.world)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// speak has people talk for a while, and half of the time until one of those who
// tell has told something: what it is about is fresh then.
func (l *life) speak() error {
	tells := []string{"watch", "dispatch", "reply", "approve"}
	tell := filepath.Join(l.dir, "told", tells[l.rng.IntN(len(tells))])
	had := size(tell)
	for range 1 + l.rng.IntN(3) {
		if err := l.talk(); err != nil {
			return err
		}
		time.Sleep(time.Duration(l.rng.IntN(150)) * time.Millisecond)
		if l.rng.IntN(6) == 0 {
			if err := l.fell(l.stages[l.rng.IntN(len(l.stages))]); err != nil {
				return err
			}
		}
	}
	if l.rng.IntN(2) == 0 {
		return nil
	}
	for deadline := time.Now().Add(2 * time.Second); size(tell) == had && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(l.rng.IntN(10)) * time.Millisecond)
	return nil
}

func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// approve says yes to every draft, and remembers what it was told.
func (l *life) approve() {
	for {
		select {
		case <-l.dead:
			return
		case <-time.After(100 * time.Millisecond):
		}
		var list bytes.Buffer
		_ = l.once(&list, "tri-approve", "list", "--config", l.config, "--json") // 1: nothing waits
		for line := range bytes.Lines(list.Bytes()) {
			var a approval
			if json.Unmarshal(line, &a) != nil || a.SHA256 == "" {
				continue
			}
			if err := l.once(nil, "tri-approve", "approve", "--yes", "--config", l.config,
				a.Key); err == nil {
				l.note("approve", line)
			}
		}
	}
}

// note keeps what was told otherwise than by a record on a stage's stdout.
func (l *life) note(stage string, line []byte) {
	l.power.RLock()
	defer l.power.RUnlock()
	f, err := os.OpenFile(filepath.Join(l.dir, "told", stage), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.Write(line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
}

// once runs a program while there is power.
func (l *life) once(out *bytes.Buffer, args ...string) error {
	l.power.RLock()
	cmd := l.command(args...)
	if out != nil {
		cmd.Stdout = out
	}
	err := cmd.Start()
	l.power.RUnlock()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// cut takes the power away, and gives it back. What was told before is what people
// and the chat know.
func (l *life) cut() (*told, error) {
	l.power.Lock()
	defer l.power.Unlock()
	if err := l.freeze(); err != nil {
		return nil, err
	}
	t, err := l.told()
	if err != nil {
		return nil, err
	}
	after, err := l.disk.copyTo(filepath.Join(l.images, fmt.Sprintf("%d.img", time.Now().UnixNano())))
	err = errors.Join(err, l.kill9())
	for _, s := range l.stages {
		if !s.kill() {
			err = errors.Join(err, fmt.Errorf("tri-%s had ended by itself: %s", s.name, s.kept.String()))
		}
	}
	if err = errors.Join(err, l.disk.unmount(), os.Remove(l.disk.file)); err != nil {
		return nil, err
	}
	l.disk = after
	return t, l.disk.mount()
}

// freeze stops everything that runs on the machine.
func (l *life) freeze() error {
	last := -1
	deadline := time.Now().Add(20 * time.Second)
	for ; time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		pids, err := l.processes()
		if err != nil {
			return err
		}
		still := 0
		for _, pid := range pids {
			switch tracing := tracing(pid); {
			case tracing && stopped(pid):
				_ = unix.Kill(pid, unix.SIGCONT)
			case tracing || stopped(pid):
				still++
			default:
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if still == len(pids) && still == last {
			return nil
		}
		last = still
	}
	return errors.New("the pipeline cannot be stopped")
}

// processes are those that have this home in their environment.
func (l *life) processes() (pids []int, err error) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		env, _ := os.ReadFile(name) // it has ended
		if pid, err := strconv.Atoi(strings.Split(name, "/")[2]); err == nil &&
			bytes.Contains(env, []byte("TRI_HOME="+l.home+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// tracing reports whether a process is strace and has somebody to trace, who stops
// by way of it: it must run.
func tracing(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	return string(name) == "strace\n" && len(children) > 0
}

// kill9 ends everything that runs on the machine.
func (l *life) kill9() error {
	for {
		pids, err := l.processes()
		if len(pids) == 0 || err != nil {
			return err
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // gone is as good
		}
		time.Sleep(time.Millisecond)
	}
}

// stopped reports whether no thread of a process runs, or ever will by itself.
func stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range tasks {
		stat, err := os.ReadFile(name)
		if i := bytes.LastIndexByte(stat, ')'); err == nil &&
			(i < 0 || len(stat) < i+3 || !bytes.ContainsRune([]byte("TtZX"), rune(stat[i+2]))) {
			return false
		}
	}
	return true
}

// settled has the pipeline come to rest, and says what is wrong then.
func (l *life) settled() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	l.through = nil
	err := l.start()
	if err == nil {
		err = l.settle(l.stages)
	}
	for _, s := range l.stages {
		if !s.kill() {
			fault("tri-%s had ended by itself: %s", s.name, s.kept.String())
		}
	}
	if err != nil {
		fault("%v", err)
		return faults
	}
	if _, err := l.atEnd(fault); err != nil {
		fault("%v", err)
	}
	return faults
}

// end clears everything away.
func (l *life) end() {
	if l.dead != nil {
		close(l.dead)
	}
	l.power.Lock()
	err := l.kill9()
	l.power.Unlock()
	for _, s := range l.stages {
		s.kill()
	}
	l.approver.Wait()
	if err = errors.Join(err, l.disk.unmount()); l.keep {
		fmt.Println("left behind, to be mounted:", l.disk.file)
	} else {
		err = errors.Join(err, os.RemoveAll(l.images))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	l.close()
}
