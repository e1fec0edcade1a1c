package longrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// patience is how long a runner has to take its lock, or a terminal to come up.
const patience = 30 * time.Second

// Size of the terminal.
const (
	columns = "140"
	rows    = "45"
)

// spawn starts the runner in a terminal and waits until it has begun.
func (d *Desk) spawn(id string, p place, last worker) (place, error) {
	argv, err := d.argv("run", id)
	if err != nil {
		return p, err
	}
	_, missing := exec.LookPath("tmux")
	if d.Config.Escalation.Terminal != config.Pty && missing == nil {
		p.Terminal, p.Session, p.Server = config.Tmux, id, d.server()
		if err = d.tmux(p, argv); err == nil {
			return p, d.begun(id, last)
		}
	}
	// Without tmux, or with one that does not work.
	p.Terminal, p.Session, p.Server = config.Pty, "", ""
	argv[1] = hold
	if perr := d.pty(id, p, argv); perr != nil {
		return p, errors.Join(err, perr)
	}
	return p, d.begun(id, last)
}

// hold is the verb of tri-escalate that a terminal of our own is.
const hold = "hold"

// argv is the command line of tri-escalate for a run.
func (d *Desk) argv(verb, id string) ([]string, error) {
	program, err := d.program()
	argv := []string{program, verb, "--home", d.Home.Dir()}
	if d.Config.Path != "" {
		argv = append(argv, "--config", d.Config.Path)
	}
	return append(argv, id), err
}

// tmux starts a session of our own server. The program is given as arguments,
// which tmux executes without a shell; the environment goes by the names of its
// variables, so that no value of one is in an argument.
func (d *Desk) tmux(p place, argv []string) error {
	if err := d.write(folder(p.Session)+"/where.json", p); err != nil {
		return err
	}
	args := []string{"-L", p.Server, "-f", "/dev/null", "start-server", ";",
		"set-option", "-g", "update-environment", strings.Join(variables(), " "), ";",
		"new-session", "-d", "-s", p.Session, "-x", columns, "-y", rows}
	for _, a := range argv {
		args = append(args, literal(a))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "tmux", args...)
	c.Dir, c.Env = d.Home.Dir(), outside()
	out, err := c.CombinedOutput()
	if err != nil && strings.Contains(string(out), "duplicate session") {
		return nil // whoever was starting it was killed behind this step
	}
	if err != nil {
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("start tmux: %w: %s", err, strings.TrimSpace(string(out))))
	}
	return nil
}

// literal keeps tmux from taking the end of an argument for the end of a command.
func literal(arg string) string {
	if rest, ok := strings.CutSuffix(arg, ";"); ok {
		return rest + `\;`
	}
	return arg
}

// outside is our environment without the tmux that we may be in.
func outside() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "TMUX" && name != "TMUX_PANE" {
			env = append(env, v)
		}
	}
	return env
}

// variables are the names of our environment, but for those that a terminal sets.
func variables() []string {
	var names []string
	for _, v := range outside() {
		name, _, _ := strings.Cut(v, "=")
		if name != "TERM" && name != "COLUMNS" && name != "LINES" && isVariable(name) {
			names = append(names, name)
		}
	}
	return names
}

func isVariable(name string) bool {
	for i, c := range name {
		if c != '_' && !('A' <= c && c <= 'Z') && !('a' <= c && c <= 'z') && !(i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return name != ""
}

// pty starts the holder of a terminal of our own, in a session of its own and
// with nothing of ours.
func (d *Desk) pty(id string, p place, argv []string) error {
	if err := d.write(folder(id)+"/where.json", p); err != nil {
		return err
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = d.Home.Dir(), outside()
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("start %s: %w", argv[0], err))
	}
	go c.Wait() // so that no zombie of it stays while we live; nobody asks how it ended
	return nil
}

// begun waits until a runner has come up that is not the last one, even if it has
// died since.
func (d *Desk) begun(id string, last worker) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if over, err := run.LoadExit(d.Home, id); err != nil || over != nil {
			return err
		}
		if now, err := d.worker(id); err != nil || now != last {
			return err
		}
		if time.Now().After(end) {
			err := sysexit.With(sysexit.Unavailable, fmt.Errorf("long run %s: its runner did not come up in %v", id, patience))
			return errors.Join(err, d.giveUp(id, dispatcher)) // one that comes later ends at once
		}
	}
}

// worker is who did, or does, a run; the zero worker before.
func (d *Desk) worker(id string) (w worker, err error) {
	if err = d.read(folder(id)+"/runner.json", &w); errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	return w, err
}
