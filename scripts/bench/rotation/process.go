package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// process is a follower at work in a world.
type process struct {
	*follower
	w     *world
	cmd   *exec.Cmd
	ended chan struct{}
	stops []string // the times that it ended by itself, and how
	hand  bool     // its log had to be put in order by hand
}

// start begins it, in a process group of its own, which dies with us.
func (p *process) start() error {
	args := p.args(p.follower, p.w)
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir = p.w.dir
	p.cmd.Env = append(os.Environ(), "TRI_HOME="+p.w.state())
	p.cmd.Env = append(p.cmd.Env, p.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	says, err := os.OpenFile(filepath.Join(p.w.dir, "says"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer says.Close()
	p.cmd.Stderr, p.cmd.Stdout = says, says
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ended, cmd := make(chan struct{}), p.cmd
	p.ended = ended
	go func() {
		_ = cmd.Wait() // its state tells
		close(ended)
	}()
	return nil
}

// alive is false once it has ended.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// signal sends to the whole group.
func (p *process) signal(s syscall.Signal) error {
	err := syscall.Kill(-p.cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// end stops it with s and waits until it is gone.
func (p *process) end(s syscall.Signal) error {
	if !p.alive() {
		p.note()
		return nil
	}
	if err := p.signal(s); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
	}
	err := p.signal(syscall.SIGKILL)
	<-p.ended
	return err
}

// note remembers that it ended by itself.
func (p *process) note() {
	p.stops = append(p.stops, fmt.Sprint(p.cmd.ProcessState.ExitCode()))
}

// quiet is how long nothing more has to come out.
var quiet = 10 * time.Second

// settle waits until all that was written has come out, or nothing has for a
// while. One that has ended is started again, as a supervisor would; after that,
// by hand as its manual says.
func (p *process) settle() error {
	last, since := -1, time.Now()
	for {
		if !p.alive() {
			p.note()
			if err := p.again(); err != nil {
				return err
			}
			last, since = -1, time.Now()
		}
		texts := p.texts()
		if len(texts) != last {
			last, since = len(texts), time.Now()
		}
		if p.w.judge(texts).clean() && time.Since(since) > quiet/5 || time.Since(since) > quiet {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// again starts one that has ended by itself.
func (p *process) again() error {
	if len(p.stops) > 20 {
		return fmt.Errorf("%s: ends again and again: %v", p.name, p.stops)
	}
	if p.mend != nil && len(p.stops) > 1 {
		p.hand = true
		if err := p.mend(p); err != nil {
			return err
		}
	}
	return p.start()
}

// texts are those of all records that came out.
func (p *process) texts() (texts []string) {
	names, _ := filepath.Glob(p.outs(p.w)) // the pattern is ours
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue // just renamed
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			for _, record := range p.records(lines.Text()) {
				texts = append(texts, content(record))
			}
		}
		f.Close()
	}
	return texts
}

// content is the text of a record, the whole line when it is none.
func content(record string) string {
	record = strings.TrimSpace(record)
	if !gjson.Valid(record) {
		return record
	}
	return gjson.Get(record, "content").Str
}
