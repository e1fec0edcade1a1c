package longrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"time"

	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// attach shows a run's terminal for as long as the run or the viewer lasts. What
// is typed reaches it only with write, where Control-C ends the run. To something
// that is no terminal, and once the run has ended, the transcript is shown. That
// somebody looked at a run under way is kept in attached.ndjson. Where nobody
// watches over the run it is said.
func (c *Counter) attach(ctx context.Context, id string, write bool) error {
	p, err := c.place(id)
	if err != nil {
		return err
	}
	running, err := c.running(id)
	if err != nil {
		return err
	}
	looks := 0
	if running {
		if err := c.looked(id, c.By, write); err != nil {
			return err
		}
		if looks, err = c.tellUnwatched(id, looks); err != nil {
			return err
		}
	}
	switch {
	case !running || !term.Is(c.Out) || !term.Is(c.In):
		err = c.follow(ctx, id, looks)
	case p.Terminal == config.Tmux:
		err = tmuxAttach(ctx, p, write, c.In, c.Out)
	default:
		err = c.ptyAttach(ctx, id, write, c.In, c.Out)
	}
	return errors.Join(err, c.tellGone(id))
}

// alone is how many looks in a row must find a run held by somebody, and no runner:
// who begins a run, or only looks at it, holds it so for a moment.
const alone = 5

// tellUnwatched says, once, that nobody watches over a run that is under way. looks
// is how many looks before this one have found it so; the return is that with this
// one.
func (c *Counter) tellUnwatched(id string, looks int) (int, error) {
	w, err := c.worker(id)
	stopped := supervise.Unwatched(w.Process)
	switch {
	case err != nil || w.PID == 0 || stopped == "" && w.Alive():
		return 0, err
	case stopped != "" && looks == 0:
		c.Say("%s: %s", id, stopped)
	case stopped == "" && looks == alone:
		c.Say("%s: nobody watches over it: its runner, process %d, is gone, and %s", id, w.PID, c.outlived(id))
	}
	return looks + 1, nil
}

// outlived says what still holds a run whose runner is gone.
func (d *Desk) outlived(id string) string {
	state, err := supervise.Load(d.Home.Path(folder(id)))
	if err != nil || !state.Agent.Alive() {
		return "a process of its agent holds its lock"
	}
	return fmt.Sprintf("its agent lives on, process %d; kill %d ends it", state.Agent.PID, state.Agent.PID)
}

// tellGone says of a run that has not ended and that nobody is at any more what
// becomes of it.
func (c *Counter) tellGone(id string) error {
	e, err := c.entry(id)
	switch {
	case err != nil || e.Status != Gone:
	case e.By == dispatcher:
		c.Say("%s: its runner ended without a word; tri-dispatch starts it again, if it runs: tri-health says", id)
	default:
		c.Say("%s: its runner ended without a word; tri-escalate poll %s writes that down, tri-escalate start begins it anew", id, id)
	}
	return err
}

// looked notes who looked at a run.
func (d *Desk) looked(id, by string, write bool) error {
	line, err := json.Marshal(map[string]any{"at": text.Timestamp(d.Now()), "by": by, "write": write})
	if err != nil {
		return fmt.Errorf("note who looks: %w", err)
	}
	log, err := d.Home.OpenLog(folder(id) + "/attached.ndjson")
	if err != nil {
		return err
	}
	_, err = log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil })
	return errors.Join(err, log.Close())
}

func tmuxAttach(ctx context.Context, p place, write bool, in io.Reader, out io.Writer) error {
	args := []string{"-L", p.Server, "attach-session", "-t", "=" + p.Session}
	if !write {
		args = append(args, "-r")
	}
	c := exec.CommandContext(ctx, "tmux", args...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = in, out, out, outside()
	if err := c.Run(); err != nil && ctx.Err() == nil {
		return sysexit.Hint(sysexit.With(sysexit.Unavailable, fmt.Errorf("attach to session %s: %w", p.Session, err)), noTerminal(p.Session))
	}
	return nil
}

// noTerminal is what is left where a run's terminal is not to be had: runs outlive
// theirs.
func noTerminal(id string) string { return "tri-escalate attach " + id + " | cat shows the transcript" }

// ptyAttach joins a terminal of our own. Who may type leaves with Control-].
func (d *Desk) ptyAttach(ctx context.Context, id string, write bool, in io.Reader, out io.Writer) error {
	conn, err := dial(d.Home.Path(folder(id)))
	if err != nil {
		return sysexit.Hint(sysexit.With(sysexit.Unavailable, fmt.Errorf("attach to %s: %w", id, err)), noTerminal(id))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	first := []byte{onlyLook}
	if write {
		first[0] = mayType
	}
	if _, err := conn.Write(first); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("attach to %s: %w", id, err))
	}
	if write {
		done, err := term.Keys(in)
		if err != nil {
			return err
		}
		defer done()
		go func() {
			_ = typed(conn, in) // the connection's end is what counts
			conn.Close()
		}()
	}
	_, err = io.Copy(lines{out}, conn)
	if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return sysexit.With(sysexit.IO, fmt.Errorf("attach to %s: %w", id, err))
	}
	return nil
}

// lines takes out the carriage returns of a terminal, which the viewer's own adds.
type lines struct{ io.Writer }

func (l lines) Write(b []byte) (int, error) {
	_, err := l.Writer.Write(bytes.ReplaceAll(b, []byte("\r"), nil))
	return len(b), err
}

// leave is the key that leaves a terminal without ending anything: Control-].
const leave = 0x1d

// typed passes on what is typed, until the key that leaves.
func typed(to io.Writer, in io.Reader) error {
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		for i, b := range buf[:n] {
			if b == leave {
				_, err := to.Write(buf[:i])
				return err
			}
		}
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return errors.Join(werr, err)
		}
	}
}

// grown copies what a transcript has come to have since the last look. f is nil as
// long as the runner has not begun it.
func (c *Counter) grown(id string, f *os.File, running bool) (*os.File, error) {
	if f == nil {
		var err error
		f, err = os.Open(c.transcriptPath(id))
		if running && errors.Is(err, fs.ErrNotExist) {
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

// follow copies the transcript, for as long as it grows; looks is as tellUnwatched
// has it.
func (c *Counter) follow(ctx context.Context, id string, looks int) error {
	var f *os.File
	defer func() { f.Close() }() // a nil one closes too
	for {
		over, err := run.LoadExit(c.Home, id)
		if err != nil {
			return err
		}
		running := over == nil
		if running {
			if running, err = c.running(id); err != nil {
				return err
			}
		}
		// What was written before the end was seen is copied after it.
		if f, err = c.grown(id, f, running); err != nil {
			return err
		}
		if !running {
			return nil
		}
		if looks, err = c.tellUnwatched(id, looks); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
