package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// took is what one run of a program took.
type took struct {
	wall, cpu float64 // seconds
	memory    float64 // the most that it held resident, bytes
}

// process runs a program to its end, what it prints thrown away.
func process(feed io.Reader, argv ...string) (took, error) {
	var said bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = feed, &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return took{}, err
	}
	ended, peak := make(chan struct{}), make(chan float64, 1)
	go watch(cmd.Process.Pid, ended, peak)
	err := cmd.Wait()
	t := took{wall: time.Since(began).Seconds(),
		cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	close(ended)
	t.memory = <-peak
	if err != nil {
		return t, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return t, nil
}

// watch looks at the most memory that a process has had. What the system tells of
// it when it has ended is no use: it counts that of the process before its exec,
// which was ours.
func watch(pid int, ended <-chan struct{}, peak chan<- float64) {
	most := 0.0
	for {
		most = max(most, resident(pid))
		select {
		case <-ended:
			peak <- most
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// resident is the most memory that a process has held until now, in bytes; 0 where
// the system does not tell.
func resident(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, _, _ := bytes.Cut(rest, []byte("kB"))
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(kib)), 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// contender is a program and what is run of it.
type contender struct {
	who  string
	argv []string
}

// there reports whether the program is on this machine; if not, g says so.
func (c contender) there(g *group) bool {
	if _, err := exec.LookPath(c.argv[0]); err != nil {
		g.lacks(c.who, "not on this machine")
		return false
	}
	return true
}

// race runs all in turns, rounds times after one to warm up where there is more
// than one, and adds what each took to the groups.
func race(rounds int, feed func() io.Reader, wall, cpu *group, all ...contender) error {
	first := 0
	if rounds > 1 {
		first = -1
	}
	for round := first; round < rounds; round++ {
		for _, c := range all {
			if !c.there(wall) {
				continue
			}
			var in io.Reader
			if feed != nil {
				in = feed()
			}
			t, err := process(in, c.argv...)
			if err != nil {
				return err
			}
			if round < 0 {
				continue
			}
			wall.add(c.who, t.wall)
			if cpu != nil {
				cpu.add(c.who, t.cpu)
			}
		}
	}
	return nil
}
