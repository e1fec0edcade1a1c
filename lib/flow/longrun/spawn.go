package longrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// patience is how long to wait for a runner to take its lock, or a terminal to start.
const patience = 30 * time.Second

// Size of the terminal.
const (
	columns = "140"
	rows    = "45"
)

// spawn starts the runner, in a tmux session if possible, and waits until it has begun.
func (m *Manager) spawn(id string, last run.State) error {
	argv, err := m.argv(id)
	if err != nil {
		return err
	}
	if _, missing := exec.LookPath("tmux"); m.Config.Escalation.Terminal == config.Tmux && missing == nil {
		if err = m.tmux(id, argv); err == nil {
			return m.awaitStart(id, last)
		}
	}
	if err := errors.Join(m.detach(argv), err); err != nil { // tmux is missing or failed
		return err
	}
	return m.awaitStart(id, last)
}

// argv returns the command line of the runner.
func (m *Manager) argv(id string) ([]string, error) {
	program, err := m.program()
	argv := []string{program, "runner", "--home", m.Home.Dir()}
	if m.Config.Path != "" {
		argv = append(argv, "--config", m.Config.Path)
	}
	return append(argv, id), err
}

// tmux starts a session on the home's own server. The program is passed as arguments, which tmux executes
// without a shell. The environment is passed by the names of its variables, so that no value is in an
// argument.
func (m *Manager) tmux(id string, argv []string) error {
	args := []string{"-L", m.server(), "-f", "/dev/null", "start-server", ";",
		"set-option", "-g", "update-environment", strings.Join(variables(), " "), ";",
		"new-session", "-d", "-s", id, "-x", columns, "-y", rows}
	for _, a := range argv {
		args = append(args, literal(a))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out []byte
	var err error
	for range 10 {
		c := exec.CommandContext(ctx, "tmux", args...)
		c.Dir, c.Env = m.Home.Dir(), withoutTmux()
		if out, err = c.CombinedOutput(); err == nil || !strings.Contains(string(out), "server exited") {
			break
		}
		time.Sleep(50 * time.Millisecond) // the server is ending with its last session
	}
	if err != nil && strings.Contains(string(out), "duplicate session") {
		return nil // the session was started by a process killed just after this step
	}
	if err != nil {
		return sysexit.With(sysexit.Unavailable,
			fmt.Errorf("start tmux: %w: %s", err, strings.TrimSpace(string(out))))
	}
	return nil
}

// literal escapes a final ";" of an argument, which tmux would take as the end of a command.
func literal(arg string) string {
	if rest, ok := strings.CutSuffix(arg, ";"); ok {
		return rest + `\;`
	}
	return arg
}

// withoutTmux returns the environment without the variables of an enclosing tmux.
func withoutTmux() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "TMUX" && name != "TMUX_PANE" {
			env = append(env, v)
		}
	}
	return env
}

// variables returns the names of the environment's variables, without those that a terminal sets.
func variables() []string {
	var names []string
	for _, v := range withoutTmux() {
		name, _, _ := strings.Cut(v, "=")
		if name != "TERM" && name != "COLUMNS" && name != "LINES" && isVariable(name) {
			names = append(names, name)
		}
	}
	return names
}

func isVariable(name string) bool {
	for i, c := range name {
		if c != '_' && !('A' <= c && c <= 'Z') && !('a' <= c && c <= 'z') &&
			!(i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return name != ""
}

// detach starts the runner in the background, in its own session and with no inherited files.
func (m *Manager) detach(argv []string) error {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = m.Home.Dir(), withoutTmux()
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("start %s: %w", argv[0], err))
	}
	go c.Wait() // reaps it; its result says how it ended
	return nil
}

// awaitStart waits until a runner has started after last was read, even if it has died since.
func (m *Manager) awaitStart(id string, last run.State) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if over, err := run.Load(m.Home, id); err != nil || over != nil {
			return err
		}
		if now, err := m.state(id); err != nil || now.Starts != last.Starts {
			return err
		}
		if time.Now().After(end) {
			err := sysexit.With(sysexit.Unavailable,
				fmt.Errorf("long run %s: its runner did not come up in %v", id, patience))
			return errors.Join(err, run.Cancel(m.Home, id, run.Dispatcher, m.Now())) // ends a late runner
		}
	}
}
