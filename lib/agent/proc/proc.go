// Package proc runs one agent process in a process group, with a minimal environment, bounded
// output and a deadline, and leaves no process behind.
//
// Unless the configuration says `sandbox: off`, the program runs in a sandbox (package sandbox),
// and none of its processes outlives the first. Without a sandbox this package supervises only
// cooperative programs: a hostile one can leave its group and clear its environment.
package proc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
)

// Limits on a program's output, in bytes.
const (
	MaxLine       = 4 << 20   // of one line of stdout; a longer one is skipped
	MaxOutput     = 512 << 20 // of stdout; a program that writes more is stopped
	MaxTranscript = 64 << 20  // kept of stdout
	MaxStderr     = 1 << 20   // kept of stderr
)

// Time limits. A Spec can shorten Linger and Grace in tests.
const (
	Linger = 3 * time.Second // to exit by itself once its work is done
	Grace  = 5 * time.Second // between SIGTERM and SIGKILL
	drain  = 2 * time.Second // to read the pipes once all processes are dead
)

// Spec describes one program to run.
type Spec struct {
	Argv   []string
	Dir    string   // working directory: the codebase
	Env    []string // KEY=value, complete
	Prompt string   // its standard input
	// Talk drives the program's standard input in place of Prompt. It is called once the program
	// has started and must not block. A write to in fails once the program is dead; closing it
	// ends the input. May be nil.
	Talk   func(in io.WriteCloser)
	RunDir string   // keeps prompt.md, transcript.ndjson, stderr.txt; "" keeps nothing
	Hold   *os.File // inherited by every process of the run; may be nil
	// Sandbox is the configuration's setting: "off", or anything else for a sandbox around the
	// program, without which it is not started. The fields up to Reach say what the sandbox lets
	// through.
	Sandbox  string
	Write    bool                              // it may change what is below Dir
	Hidden   []string                          // names below Dir that it cannot see
	Home     string                            // its HOME: a writable folder; "" if none
	Read     []string                          // further readable paths: its installation, its credential
	Reach    []string                          // host:port that it may dial, through our proxy
	Forwards []func(context.Context, net.Conn) // in the sandbox: as in sandbox.Spec
	// Serve lets it open servers of its own on the sandbox's loopback device.
	Serve bool
	// Memory is in bytes; Processes counts threads; 0 means the sandbox's default.
	Memory    int64
	Processes int
	// Disk limits what it may write below Home and, if Write is set, Dir, in bytes; 0 means
	// DefaultDisk.
	Disk int64
	// Started receives the program's process id. May be nil.
	Started func(pid int)
	// Line receives each line of stdout without its newline; line is valid only during the call.
	// It returns true when the work is done.
	Line func(line []byte) (done bool)
	// MaxStdout is the size of stdout, in bytes, above which the program is stopped; 0 means
	// MaxOutput.
	MaxStdout int64
	// Linger and Grace replace the constants; 0 means the constant.
	Linger, Grace time.Duration
}

// Exit describes how a program ended.
type Exit struct {
	Status  int    // exit status; 128+n when signal n ended it
	Done    bool   // Line returned true
	Stopped bool   // by us
	Flooded bool   // it wrote more than MaxStdout
	Skipped int    // lines over MaxLine
	Filled  bool   // it wrote more than Disk
	OOM     bool   // the kernel killed it, or one of its processes, for its memory use
	Stderr  string // the end of stderr, for a message
	Limits  string // how memory and processes were limited, as in sandbox.Report; "" without a sandbox
}

// mark is the variable that identifies stray processes of a run.
const mark = "TRI_RUN_MARK="

// Run runs the program to its end. If ctx ends first, Run stops the program and returns ctx's
// error. Any other error means that the program could not be started. Its exit is described by
// Exit.
func Run(ctx context.Context, s Spec) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, err
	}
	r := &running{spec: s, lined: make(chan struct{}), ended: make(chan struct{}),
		flooded: make(chan struct{})}
	if err := r.open(); err != nil {
		return Exit{}, errors.Join(err, r.close())
	}
	started := make(chan error, 1)
	go r.live(started)
	if err := <-started; err != nil {
		return Exit{}, errors.Join(startError(s.Argv, err), r.close())
	}
	if s.Started != nil {
		s.Started(r.pid())
	}
	if s.Talk != nil {
		s.Talk(&spoken{r.talk, r.said})
	}
	go r.watchDisk()
	r.readers.Add(2)
	go r.stdout()
	go r.stderr()
	r.supervise(ctx)
	err := r.close()
	if ctx.Err() != nil && !r.exit.Done {
		return r.exit, fmt.Errorf("%s: %w", filepath.Base(s.Argv[0]), ctx.Err())
	}
	if err != nil {
		return r.exit, sysexit.Errorf(sysexit.IO, "keep output of %s: %w", filepath.Base(s.Argv[0]), err)
	}
	return r.exit, nil
}

func startError(argv []string, err error) error {
	if _, known := sysexit.Of(err); known {
		return err
	}
	err = fmt.Errorf("start %q: %w", argv[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) ||
		errors.Is(err, os.ErrPermission) {
		return sysexit.Hint(sysexit.With(sysexit.Unavailable, err),
			"install it, or name it with its path under `command:` in the configuration")
	}
	return sysexit.With(sysexit.Unavailable, err)
}

// running is a program in progress.
type running struct {
	spec    Spec
	cmd     *exec.Cmd
	box     *sandbox.Box // nil: no sandbox
	mark    string
	ended   chan struct{} // closed when the program and its group are dead
	lined   chan struct{} // closed when Line has said done
	flooded chan struct{} // closed when MaxStdout is passed
	filled  atomic.Bool   // Disk was exceeded

	mu     sync.Mutex
	reaped bool // from here on the group's number may belong to other processes

	stdin, talk            *os.File       // talk is the other end of stdin where the Spec has a Talk
	said                   io.WriteCloser // what Talk wrote; nil without one
	outR, outW, errR, errW *os.File
	transcript, complaints io.WriteCloser
	readers                sync.WaitGroup
	exit                   Exit
	tail                   []byte
	failedOut, failedErr   error
}

// open creates the program's pipes and files.
func (r *running) open() (err error) {
	r.mark = mark + rand.Text()
	r.transcript, r.complaints = discard{}, discard{}
	if s := r.spec; s.Talk != nil {
		r.stdin, r.talk, err = os.Pipe()
		if r.said = io.WriteCloser(discard{}); err == nil && s.RunDir != "" {
			r.said, err = r.keep("input.ndjson", MaxTranscript)
		}
	} else {
		r.stdin, err = r.prompt()
	}
	if err != nil {
		return err
	}
	if r.outR, r.outW, err = os.Pipe(); err != nil {
		return err
	}
	if r.errR, r.errW, err = os.Pipe(); err != nil {
		return err
	}
	if r.spec.RunDir != "" {
		if r.transcript, err = r.keep("transcript.ndjson", MaxTranscript); err != nil {
			return err
		}
		if r.complaints, err = r.keep("stderr.txt", MaxStderr); err != nil {
			return err
		}
	}
	if r.spec.Sandbox == "off" {
		r.cmd, err = r.bare()
	} else {
		r.cmd, err = r.walled()
	}
	if err != nil {
		return startError(r.spec.Argv, err)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr, r.cmd.SysProcAttr = r.stdin, r.outW, r.errW, attributes()
	return nil
}

// bare returns the command without a sandbox.
func (r *running) bare() (*exec.Cmd, error) {
	path, err := exec.LookPath(r.spec.Argv[0])
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: r.spec.Argv, Dir: r.spec.Dir,
		Env: append(slices.Clone(r.spec.Env), r.mark)}
	if r.spec.Hold != nil {
		cmd.ExtraFiles = []*os.File{r.spec.Hold}
	}
	return cmd, nil
}

// prompt returns standard input as a file, so that a program that does not read it cannot block
// us. The prompt is also kept in the run's folder, where the agent cannot change it.
func (r *running) prompt() (*os.File, error) {
	in, err := given(r.spec.Prompt)
	if err == nil && r.spec.RunDir != "" {
		err = r.keepPrompt()
	}
	if err != nil {
		if in != nil {
			_ = in.Close() // not used
		}
		return nil, sysexit.Errorf(sysexit.IO, "write prompt: %w", err)
	}
	return in, nil
}

func (r *running) keepPrompt() error {
	f, err := os.CreateTemp(r.spec.RunDir, "prompt-*.md")
	if err != nil {
		return err
	}
	_, err = f.WriteString(r.spec.Prompt)
	return errors.Join(err, f.Close())
}

func (r *running) keep(name string, most int64) (io.WriteCloser, error) {
	f, err := os.OpenFile(filepath.Join(r.spec.RunDir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "keep output: %w", err)
	}
	return &capped{f: f, left: most}, nil
}

// live starts the program and waits for it on one thread: the kernel sends the parent-death signal
// when the thread that forked dies, not when the process does.
func (r *running) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.cmd.Start()
	// The program has its own copies. The pipes have no end while ours are open.
	err = errors.Join(err, r.outW.Close(), r.errW.Close(), r.stdin.Close())
	r.outW, r.errW, r.stdin = nil, nil, nil
	if err == nil && r.box != nil {
		err = r.admit()
	}
	started <- err
	if err != nil {
		return
	}
	if awaitDeath(r.cmd.Process.Pid) {
		r.signal(syscall.SIGKILL) // the rest of the group, before its number is free
		r.mu.Lock()
		r.reaped = true
		r.mu.Unlock()
	}
	_ = r.cmd.Wait() // the exit status is in ProcessState
	if r.box == nil || !r.box.Await() {
		sweep(r.mark)
	}
	close(r.ended)
}

// signal sends s to every process of the group.
func (r *running) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reaped {
		return
	}
	if r.box != nil {
		r.box.Signal(s) // a signal to the group does not reach the processes in the sandbox
		if s != syscall.SIGKILL {
			return
		}
		r.box.Kill()
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, s) // ESRCH: all have ended, as wanted
}

// supervise returns when no process of the run is left and its output has been read.
func (r *running) supervise(ctx context.Context) {
	linger, grace := cmp.Or(r.spec.Linger, Linger), cmp.Or(r.spec.Grace, Grace)
	select {
	case <-r.ended:
	case <-ctx.Done():
		r.stop(grace)
	case <-r.flooded:
		r.stop(grace)
	case <-r.lined:
		select {
		case <-r.ended:
		case <-ctx.Done():
			r.stop(grace)
		case <-time.After(linger):
			r.stop(grace)
		}
	}
	// Read what is left in the pipes; a process that escaped may still hold them open.
	soon := time.Now().Add(drain)
	_ = errors.Join(r.outR.SetReadDeadline(soon), r.errR.SetReadDeadline(soon)) // pipes have deadlines
	r.readers.Wait()
	r.exit.Status, r.exit.Filled = status(r.cmd.ProcessState), r.filled.Load()
	r.exit.Stderr = string(bytes.ToValidUTF8(r.tail, []byte("?")))
	if r.box != nil {
		r.exit.Limits = r.box.Report().Limits
		r.exit.OOM = r.box.Close()
	}
}

// stop ends the group: SIGTERM, then SIGKILL after grace.
func (r *running) stop(grace time.Duration) {
	r.exit.Stopped = true
	r.signal(syscall.SIGTERM)
	select {
	case <-r.ended:
	case <-time.After(grace):
		r.signal(syscall.SIGKILL)
		<-r.ended
	}
}

func status(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}

func (r *running) close() error {
	err := errors.Join(r.failedOut, r.failedErr)
	if r.box != nil {
		r.box.Close()
	}
	for _, f := range []*os.File{r.stdin, r.talk, r.outR, r.outW, r.errR, r.errW} {
		if f != nil {
			_ = f.Close() // we wrote nothing through them
		}
	}
	if r.said != nil {
		err = errors.Join(err, r.said.Close())
	}
	return errors.Join(err, r.transcript.Close(), r.complaints.Close())
}
