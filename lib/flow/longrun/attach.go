package longrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// attach shows a run's terminal until the run or the viewer ends. Input reaches it only with write, and
// then Control-C ends the run. The transcript is shown instead if the run has no terminal or has ended, or
// the caller has no terminal. Each look at a running run is recorded in attached.ndjson. If the run is not
// supervised, attach says so.
func (c *Commands) attach(ctx context.Context, id string, write bool) error {
	running, err := run.Held(c.Home, id)
	if err != nil {
		return err
	}
	looks := 0
	if running {
		if err := c.logAccess(id, c.By, write); err != nil {
			return err
		}
		if looks, err = c.reportUnsupervised(id, looks); err != nil {
			return err
		}
	}
	switch {
	case !running || !term.Is(c.Out) || !term.Is(c.In) || !c.inTmux(id):
		err = c.follow(ctx, id, looks)
	default:
		err = c.tmuxAttach(ctx, id, write)
	}
	return errors.Join(err, c.reportGone(id))
}

// alone is how many consecutive looks must find a run's lock held without a runner: starting a run, or
// looking at it, also holds the lock for a moment.
const alone = 5

// reportUnsupervised says, once, that a running run is not supervised. looks is the number of consecutive
// earlier looks that found it so; the return value includes this one.
func (c *Commands) reportUnsupervised(id string, looks int) (int, error) {
	s, err := c.state(id)
	stopped := run.Unwatched(s.Owner)
	switch {
	case err != nil || s.Owner.PID == 0 || stopped == "" && s.Owner.Alive():
		return 0, err
	case stopped != "" && looks == 0:
		c.Say("%s: %s", id, stopped)
	case stopped == "" && looks == alone:
		c.Say("%s: not supervised: its runner, process %d, is gone, and %s", id, s.Owner.PID, c.survivor(id))
	}
	return looks + 1, nil
}

// survivor says which process still holds a run whose runner is gone.
func (m *Manager) survivor(id string) string {
	state, err := m.state(id)
	if err != nil || !state.Agent.Alive() {
		return "a process of its agent holds its lock"
	}
	return fmt.Sprintf("its agent lives on, process %d; kill %d ends it", state.Agent.PID, state.Agent.PID)
}

// reportGone says what happens to a run that has neither a result nor an owner.
func (c *Commands) reportGone(id string) error {
	e, err := c.entry(id)
	switch {
	case err != nil || e.Status != Gone:
	case e.By == run.Dispatcher:
		c.Say("%s: its runner ended unexpectedly; "+
			"tri-dispatch starts it again, if it runs: tri-health says", id)
	default:
		c.Say("%s: its runner ended unexpectedly; "+
			"tri-escalate poll %s records that, tri-escalate start starts it again", id, id)
	}
	return err
}

// logAccess records who looked at a run.
func (m *Manager) logAccess(id, by string, write bool) error {
	return durable.Append(m.Home, m.folder(id)+"/attached.ndjson",
		map[string]any{"at": text.Timestamp(m.Now()), "by": by, "write": write})
}

func (c *Commands) tmuxAttach(ctx context.Context, id string, write bool) error {
	args := []string{"-L", c.server(), "attach-session", "-t", "=" + id}
	if !write {
		args = append(args, "-r")
	}
	cmd := exec.CommandContext(ctx, "tmux", args...)
	out := term.File(c.Out)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = c.In, out, out, withoutTmux()
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		err = sysexit.With(sysexit.Unavailable, fmt.Errorf("attach to session %s: %w", id, err))
		return sysexit.Hint(err, "tri-escalate attach "+id+" | cat shows the transcript")
	}
	return nil
}

// grown copies the text appended to a transcript since the last look. f is nil until the runner has
// created the file, which it may never do.
func (c *Commands) grown(id string, f *os.File) (*os.File, error) {
	if f == nil {
		var err error
		f, err = os.Open(c.transcriptPath(id))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("read transcript: %w", err))
		}
	}
	if _, err := io.Copy(c.Out, f); err != nil {
		return f, sysexit.With(sysexit.IO, fmt.Errorf("show transcript: %w", err))
	}
	return f, nil
}

// follow copies the transcript as it grows. looks is as in tellUnwatched.
func (c *Commands) follow(ctx context.Context, id string, looks int) error {
	var f *os.File
	defer func() { f.Close() }() // closing a nil file is harmless
	for {
		over, err := run.Load(c.Home, id)
		if err != nil {
			return err
		}
		running := over == nil
		if running {
			if running, err = run.Held(c.Home, id); err != nil {
				return err
			}
		}
		// Text written before the end was seen is copied too.
		if f, err = c.grown(id, f); err != nil {
			return err
		}
		if !running {
			return nil
		}
		if looks, err = c.reportUnsupervised(id, looks); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
