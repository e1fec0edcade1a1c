// Package proc runs one agent process in a process group, with a minimal environment,
// bounded output and a deadline, and leaves no process behind.
//
// Unless the configuration says `sandbox: off`, walls stand around it (package
// sandbox), and none of it outlives its first process. Without them this package
// supervises programs that mean no harm: one that means to stay can leave its
// group and clear its environment.
package proc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
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

// Limits of what a program may say, in bytes.
const (
	MaxLine       = 4 << 20   // of one line of stdout; a longer one is skipped
	MaxOutput     = 512 << 20 // of stdout; who says more is ended
	MaxTranscript = 64 << 20  // kept of stdout
	MaxStderr     = 1 << 20   // kept of stderr
)

// How long a program is given. Variables of a Spec in tests.
const (
	Linger = 3 * time.Second // to end by itself once its work is done
	Grace  = 5 * time.Second // between SIGTERM and SIGKILL
	drain  = 2 * time.Second // for what is still in its pipes once all are dead
)

// Spec is one program to run.
type Spec struct {
	Argv   []string
	Dir    string   // where it works: the codebase
	Env    []string // KEY=value, all of it
	Prompt string   // its standard input
	// Talk is given the program's standard input in place of Prompt, once it has
	// started, and must not block. A write to it fails when the program is dead;
	// closing it is the end of input. May be nil.
	Talk   func(in io.WriteCloser)
	RunDir string   // keeps prompt.md, transcript.ndjson, stderr.txt; "" keeps nothing
	Hold   *os.File // inherited by every process of the run; may be nil
	// Sandbox is the configuration's word: "off", or anything else for walls around
	// the program, without which it is not started. The fields up to Reach are
	// what the walls let through.
	Sandbox string
	Write   bool                              // it may change what is below Dir
	Hidden  []string                          // names below Dir that it cannot see
	Home    string                            // its HOME: a folder that it may write; "" is none
	Read    []string                          // further files and folders that it may read: where it is installed, its credential
	Reach   []string                          // host:port that it may dial, through our proxy
	Doors   []func(context.Context, net.Conn) // within walls: as sandbox.Spec's
	// Serve lets it have servers of its own on its loopback device.
	Serve bool
	// Memory is in bytes, Processes counts threads; 0 is sandbox's default.
	Memory    int64
	Processes int
	// Disk is what it may write below Home and, where Write is set, Dir, in bytes; 0 is
	// DefaultDisk.
	Disk int64
	// Started is told the program's process id. May be nil.
	Started func(pid int)
	// Line gets each line of stdout, without its newline, valid during the call
	// only. It returns true when the work is done.
	Line func(line []byte) (done bool)
	// MaxStdout ends a program that says more, in bytes; 0 is MaxOutput.
	MaxStdout int64
	// Linger and Grace are as the constants; 0 means those.
	Linger, Grace time.Duration
}

// Exit is how a program ended.
type Exit struct {
	Status  int    // exit status; 128+n when signal n ended it
	Done    bool   // Line said so
	Stopped bool   // by us
	Flooded bool   // it said more than MaxStdout
	Skipped int    // lines over MaxLine
	Filled  bool   // it wrote more than Disk
	OOM     bool   // the kernel ended it, or a process of it, for its memory
	Stderr  string // the last of it, for a message
}

// mark is the variable by which stray processes of a run are found.
const mark = "TRI_RUN_MARK="

// Run runs the program to its end. When ctx ends first, the program is ended and
// ctx's error returned. An error that is not ctx's means that it could not be
// started; how it fared is in Exit.
func Run(ctx context.Context, s Spec) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, err
	}
	r := &running{spec: s, lined: make(chan struct{}), ended: make(chan struct{}), flooded: make(chan struct{})}
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
		s.Talk(r.talk)
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
		return r.exit, sysexit.With(sysexit.IO, fmt.Errorf("keep output of %s: %w", filepath.Base(s.Argv[0]), err))
	}
	return r.exit, nil
}

func startError(argv []string, err error) error {
	if _, known := sysexit.Of(err); known {
		return err
	}
	err = fmt.Errorf("start %q: %w", argv[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return sysexit.Hint(sysexit.With(sysexit.Unavailable, err), "install it, or name it with its path under `command:` in the configuration")
	}
	return sysexit.With(sysexit.Unavailable, err)
}

// running is a program under way.
type running struct {
	spec    Spec
	cmd     *exec.Cmd
	box     *sandbox.Box // nil: no walls
	mark    string
	ended   chan struct{} // closed when the program and its group are dead
	lined   chan struct{} // closed when Line has said done
	flooded chan struct{} // closed when MaxStdout is passed
	filled  atomic.Bool   // Disk is passed

	mu     sync.Mutex
	reaped bool // the group's number may belong to others from here on

	stdin, talk            *os.File // talk is the other end of stdin where the Spec has a Talk
	outR, outW, errR, errW *os.File
	transcript, complaints io.WriteCloser
	readers                sync.WaitGroup
	exit                   Exit
	tail                   []byte
	failedOut, failedErr   error
}

// open makes what the program is connected to.
func (r *running) open() (err error) {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	r.mark = mark + hex.EncodeToString(nonce)
	r.transcript, r.complaints = discard{}, discard{}
	if s := r.spec; s.Talk != nil {
		r.stdin, r.talk, err = os.Pipe()
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

// bare is the program as it is, on this machine as it is.
func (r *running) bare() (*exec.Cmd, error) {
	path, err := exec.LookPath(r.spec.Argv[0])
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: r.spec.Argv, Dir: r.spec.Dir, Env: append(slices.Clone(r.spec.Env), r.mark)}
	if r.spec.Hold != nil {
		cmd.ExtraFiles = []*os.File{r.spec.Hold}
	}
	return cmd, nil
}

// prompt is standard input: a file, so that no program can block by not reading.
// What an agent was told is kept in the run's folder too, where it cannot get at
// it.
func (r *running) prompt() (*os.File, error) {
	in, err := given(r.spec.Prompt)
	if err == nil && r.spec.RunDir != "" {
		err = r.keepPrompt()
	}
	if err != nil {
		if in != nil {
			_ = in.Close() // nobody has read it
		}
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("write prompt: %w", err))
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
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("keep output: %w", err))
	}
	return &capped{f: f, left: most}, nil
}

// live starts the program and waits for it on one thread: the kernel sends the
// death signal when the thread that forked dies, not the process.
func (r *running) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.cmd.Start()
	// The program has its own; while ours are open the pipes have no end.
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
		r.signal(syscall.SIGKILL) // the others of the group, before its number is free
		r.mu.Lock()
		r.reaped = true
		r.mu.Unlock()
	}
	_ = r.cmd.Wait() // how it ended is in ProcessState
	if r.box == nil || !r.box.Await() {
		sweep(r.mark)
	}
	close(r.ended)
}

// signal reaches every process of the group.
func (r *running) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reaped {
		return
	}
	if r.box != nil {
		r.box.Signal(s) // the walls hear nothing of what is not meant for them
		if s != syscall.SIGKILL {
			return
		}
		r.box.Kill()
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, s) // ESRCH: all gone, which is what is wanted
}

// supervise returns when no process of the run is left and its output is read.
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
	// What is left in the pipes; a process that escaped may still hold them.
	soon := time.Now().Add(drain)
	_ = errors.Join(r.outR.SetReadDeadline(soon), r.errR.SetReadDeadline(soon)) // pipes have deadlines
	r.readers.Wait()
	r.exit.Status, r.exit.Filled = status(r.cmd.ProcessState), r.filled.Load()
	r.exit.Stderr = string(bytes.ToValidUTF8(r.tail, []byte("?")))
	if r.box != nil {
		r.exit.OOM = r.box.Close()
	}
}

// stop ends the group: SIGTERM, and SIGKILL for those that do not listen.
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
			_ = f.Close() // nothing was written by us through them
		}
	}
	return errors.Join(err, r.transcript.Close(), r.complaints.Close())
}
