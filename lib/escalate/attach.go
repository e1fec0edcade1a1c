package escalate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"tri/lib/config"
	"tri/lib/run"
	"tri/lib/sysexit"
	"tri/lib/term"
)

// Attach shows a run's terminal for as long as the run or the viewer lasts. What
// is typed reaches it only with write, where Control-C ends the run. To something
// that is no terminal, and once the run has ended, the transcript is shown. That
// somebody looked at a run under way is kept in attached.ndjson.
func (d *Desk) Attach(ctx context.Context, id, by string, write bool, in io.Reader, out io.Writer) error {
	p, err := d.place(id)
	if err != nil {
		return err
	}
	running, err := d.running(id)
	if err != nil {
		return err
	}
	if running {
		if err := d.looked(id, by, write); err != nil {
			return err
		}
	}
	switch {
	case !running || !term.Is(out) || !term.Is(in):
		return d.follow(ctx, id, out)
	case p.Terminal == config.Tmux:
		return tmuxAttach(ctx, p, write, in, out)
	}
	return d.ptyAttach(ctx, id, write, in, out)
}

// looked notes who looked at a run.
func (d *Desk) looked(id, by string, write bool) error {
	line, err := json.Marshal(map[string]any{"at": stamp(d.Now()), "by": by, "write": write})
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
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("attach to session %s: %w", p.Session, err))
	}
	return nil
}

// ptyAttach joins a terminal of our own. Who may type leaves with Control-].
func (d *Desk) ptyAttach(ctx context.Context, id string, write bool, in io.Reader, out io.Writer) error {
	conn, err := dial(d.Home.Path(folder(id)))
	if err != nil {
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("attach to %s: %w", id, err))
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

// follow copies the transcript, for as long as it grows.
func (d *Desk) follow(ctx context.Context, id string, out io.Writer) error {
	f, err := os.Open(d.transcriptPath(id))
	if err != nil {
		return sysexit.With(sysexit.NoInput, fmt.Errorf("read transcript: %w", err))
	}
	defer f.Close()
	for {
		over, err := run.LoadExit(d.Home, id)
		if err != nil {
			return err
		}
		running := over == nil
		if running {
			if running, err = d.running(id); err != nil {
				return err
			}
		}
		// What was written before the end was seen is copied after it.
		if _, err := io.Copy(out, f); err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("show transcript: %w", err))
		}
		if !running {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
