package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/rpc"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// leg is one try of a task on one machine.
type leg struct {
	client *Client
	task   agent.Task
	order  *Order
	on     string

	pid   int
	out   *rpc.Lines
	files map[string]*arriving
	taken func() // a worker has begun

	mu    sync.Mutex // of see
	ended bool       // an event has ended the run
}

// waits is how often a run that no worker has begun says so.
const waits = 10 * time.Second

// errNoWorker is the end of a run that no worker has begun in time.
var errNoWorker = errors.New("no worker began the run")

// arriving is a file that comes back.
type arriving struct {
	f   *os.File
	sum hash.Hash
	n   int64
}

// run starts the command and speaks with it until it has ended.
func (l *leg) run(ctx context.Context, command []string) (agent.Result, error) {
	res := agent.Result{SessionID: l.task.SessionID}
	res.Usage.TokensUnknown = true
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.taken = l.wait(ctx, cancel)
	defer l.taken()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for us
	if l.task.Hold != nil {
		cmd.ExtraFiles = []*os.File{l.task.Hold}
	}
	said := &tail{}
	cmd.Stderr = said
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return res, sysexit.Errorf(sysexit.IO, "start %s: %w", command[0], err)
	}
	if err := cmd.Start(); err != nil {
		return res, l.failed(startError(command, err))
	}
	l.pid, l.out, l.files = cmd.Process.Pid, rpc.NewLines(in), map[string]*arriving{}
	defer l.drop()
	if err := l.out.Write(Message{Order: l.order}); err != nil {
		return res, l.failed(err)
	}
	answer, err := l.listen(ctx, NewReader(out), cmd.Process)
	l.out.Close()
	end := time.AfterFunc(l.client.grace, func() { _ = syscall.Kill(-l.pid, syscall.SIGKILL) })
	_, _ = io.Copy(io.Discard, out)
	exit := cmd.Wait()
	end.Stop()
	switch {
	case errors.As(err, new(*Refused)):
		return res, err
	case errors.Is(context.Cause(ctx), errNoWorker) && outer.Err() == nil &&
		(answer == nil || answer.Error != nil):
		return res, l.failed(sysexit.Hint(agent.Failf(agent.Timeout, "%w within %v", errNoWorker, l.client.wait),
			"tri-nats status shows the workers; nats.wait_min is how long a run waits for one"))
	case ctx.Err() != nil && (answer == nil || answer.Error != nil):
		if answer != nil {
			res.Usage = answer.Usage
		}
		return res, l.failed(fmt.Errorf("%s: %w", l.on, ctx.Err()))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return res, l.failed(deadLink(l.on, exit, said.String()))
	case err != nil:
		return res, l.failed(agent.Failf(agent.ToolError, "%q: %w", l.on, err))
	}
	return l.result(answer)
}

// wait holds the run's time limit, and says from time to time that the run waits, until a worker begins. It
// ends the run if none begins in time.
func (l *leg) wait(ctx context.Context, end context.CancelCauseFunc) (taken func()) {
	release, begun := agent.Hold(ctx), make(chan struct{})
	bound := time.AfterFunc(l.client.wait, func() { end(errNoWorker) })
	go func() {
		tick := time.NewTicker(waits)
		defer tick.Stop()
		for {
			select {
			case <-begun:
				return
			case <-tick.C:
				l.see(agent.Event{Kind: agent.Milestone, Text: "waits for a worker: " + l.on})
			}
		}
	}()
	return sync.OnceFunc(func() { bound.Stop(); close(begun); release() })
}

// listen handles messages until the result. When ctx ends it cancels, and after a grace kills the command.
func (l *leg) listen(ctx context.Context, in *Reader, p *os.Process) (*Result, error) {
	done := make(chan struct{})
	defer close(done)
	go l.speak(ctx, done)
	for {
		m, err := in.Next()
		if err != nil {
			return nil, err
		}
		switch {
		case m.Result != nil:
			if m.Result.ID != l.order.ID {
				return nil, fmt.Errorf("the result of another job: %q", m.Result.ID)
			}
			return m.Result, nil
		case m.Refused != nil:
			return nil, m.Refused
		case m.Taken != nil:
			l.taken()
		case m.Event != nil:
			l.see(*m.Event)
		case m.Heard != nil:
			l.task.Hear(m.Heard.ID, m.Heard.How)
		case m.Check != nil:
			if err := l.out.Write(Message{Checked: l.check(m.Check)}); err != nil {
				return nil, err
			}
		case m.File != nil:
			if err := l.take(m.File); err != nil {
				return nil, err
			}
		}
	}
}

// speak passes on words and the end of ctx.
func (l *leg) speak(ctx context.Context, done <-chan struct{}) {
	words := l.task.Words
	for {
		select {
		case <-done:
			return
		case w, more := <-words:
			if !more {
				words = nil
				continue
			}
			if l.out.Write(Message{Word: &Word{ID: w.ID, Kind: w.Kind, Text: w.Text}}) != nil {
				_ = syscall.Kill(-l.pid, syscall.SIGKILL)
			}
		case <-ctx.Done():
			if l.client.can.Rejoins && errors.Is(context.Cause(ctx), agent.ErrLater) {
				l.out.Close() // the command ends, the job does not
			} else {
				_ = l.out.Write(Message{Cancel: true})
			}
			select {
			case <-done:
			case <-time.After(l.client.grace):
				_ = syscall.Kill(-l.pid, syscall.SIGKILL)
			}
			return
		}
	}
}

func (l *leg) check(c *Check) *Checked {
	said := &Checked{N: c.N}
	if l.task.Check == nil {
		return said
	}
	if fault := l.task.Check(c.Value); fault != nil {
		said.Fault, said.Repair = text.CutBytes(fault.Error(), maxText), fault.Error()
		if l.task.Repair != nil {
			said.Repair = l.task.Repair(fault)
		}
	}
	return said
}

// see passes on an event. Its process id is that of the command here, which lives as long.
func (l *leg) see(e agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := []string{agent.Started, agent.Thought, agent.Tool, agent.Milestone, agent.Returned, agent.Failed}
	if l.ended || !slices.Contains(kinds, e.Kind) {
		return
	}
	if e.PID = 0; e.Kind == agent.Started {
		e.PID = l.pid
	}
	l.ended = e.Kind == agent.Returned || e.Kind == agent.Failed
	e.Text, e.Tool = strings.ToValidUTF8(text.CutBytes(e.Text, maxText), "?"), text.Line(e.Tool, 100)
	e.Lines, e.SessionID = text.Line(e.Lines, 100), text.Line(e.SessionID, 100)
	l.task.See(e)
}

// failed reports err as the end of the run, unless the worker has.
func (l *leg) failed(err error) error {
	l.see(agent.Event{Kind: agent.Failed, Text: err.Error()})
	return err
}

// take appends a part of a file.
func (l *leg) take(p *Part) error {
	if l.task.Dir == "" || !slices.Contains(Files, p.Name) {
		return nil
	}
	a := l.files[p.Name]
	if a == nil {
		f, err := os.CreateTemp(l.task.Dir, "."+p.Name+".*")
		if err != nil {
			return sysexit.Errorf(sysexit.IO, "keep %s: %w", p.Name, err)
		}
		a = &arriving{f: f, sum: sha256.New()}
		l.files[p.Name] = a
	}
	if a.n += int64(len(p.Data)); a.n > MaxFile {
		return fmt.Errorf("%s has more than %d bytes", p.Name, MaxFile)
	}
	a.sum.Write(p.Data)
	if _, err := a.f.Write(p.Data); err != nil {
		return sysexit.Errorf(sysexit.IO, "keep %s: %w", p.Name, err)
	}
	return nil
}

// drop removes what has come of files that are not kept.
func (l *leg) drop() {
	for _, a := range l.files {
		_ = a.f.Close()
		_ = os.Remove(a.f.Name())
	}
}

// result returns what came back, if it is what was sent.
func (l *leg) result(r *Result) (agent.Result, error) {
	res := agent.Result{Value: r.Value, Text: r.Text, Model: text.Line(r.Model, 100),
		SessionID: text.Line(r.SessionID, 100), Usage: r.Usage}
	if r.SHA256 != r.Sum() {
		return res, l.failed(changed("its result"))
	}
	for _, sum := range r.Files {
		a := l.files[sum.Name]
		if a == nil && l.task.Dir == "" || !slices.Contains(Files, sum.Name) {
			continue
		}
		if a == nil || a.n != sum.Bytes || hex.EncodeToString(a.sum.Sum(nil)) != sum.SHA256 {
			return res, l.failed(changed(sum.Name))
		}
		if err := os.Rename(a.f.Name(), l.task.Dir+"/"+sum.Name); err != nil {
			return res, l.failed(sysexit.Errorf(sysexit.IO, "keep %s: %w", sum.Name, err))
		}
	}
	if err := r.Error.Err(); err != nil {
		res.Value = nil
		return res, l.failed(err)
	}
	if l.task.Schema == nil {
		res.Value = nil
	} else if l.task.Check != nil {
		if err := l.task.Check(res.Value); err != nil {
			res.Value = nil
			return res, l.failed(agent.Failf(agent.Abort, "what %q gave back: %w", l.on, err))
		}
	}
	l.see(agent.Event{Kind: agent.Returned, SessionID: res.SessionID, Usage: &res.Usage})
	return res, nil
}

func changed(what string) error {
	return agent.Failf(agent.ToolError, "%s is not what was sent: its sha256 differs", what)
}

// Sum returns the SHA-256 of the value and the text.
func (r *Result) Sum() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(r.Value))
	h.Write(r.Value)
	io.WriteString(h, r.Text) //nolint:errcheck // a hash does not fail
	return hex.EncodeToString(h.Sum(nil))
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 2<<10; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.ToValidUTF8(t.b, []byte("?"))) }
