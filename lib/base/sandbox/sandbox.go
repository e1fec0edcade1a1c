// Package sandbox confines a program twice: bubblewrap gives it a minimal file system and no
// network, and Landlock restricts it to the same files and ports from inside. A system call filter
// and limits on memory and processes supplement them.
//
// The program's connections go through our proxy (proxy.go), which enforces an allow-list. The
// sockets on which the program finds the proxy are created inside its network namespace and passed
// out to us, so that nothing but the program runs in there.
//
// How it starts: Command returns bubblewrap's command line, which runs tri-sandbox in its inner
// mode (Inside). That process waits on a socket. Admit tells it what to run and what to allow, and
// puts it under the limits; it then restricts itself and becomes the program. A program that
// cannot be confined is never started.
//
// Landlock alone does not count as a sandbox: it cannot hide a file below a readable folder, nor
// block Unix sockets and UDP.
package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"tri/lib/base/sysexit"
)

// Helper is the program that runs as the inner end, and InnerArg its first argument.
const (
	Helper   = "tri-sandbox"
	InnerArg = ":inside"
)

// Limits if a Spec sets none.
const (
	DefaultMemory    = 4 << 30 // bytes
	DefaultProcesses = 1024    // threads are counted
)

// patience is how long the two ends wait for each other.
const patience = 30 * time.Second

// Spec says what a program may access.
type Spec struct {
	Argv []string // the program and its arguments; Argv[0] is a path, or looked up on PATH
	Env  []string // KEY=value, complete except for the proxy's
	Dir  string   // working directory, shown at its own path
	// Write lets it change what is below Dir, except Git's own files and hidden files.
	Write  bool
	Hidden []string // further names below Dir to be shown empty, besides private files
	// Secret reports whether a text contains a key: settings files below Dir that do are shown
	// empty, unless Write is set. Nil: only names are checked.
	Secret func(text []byte) bool
	Home   string   // a writable folder; "" if none
	Read   []string // further readable files and folders
	Reach  []string // host:port that it may dial
	// Serve lets it open servers on any port of its loopback device, which are unreachable from
	// outside. Without it Landlock restricts TCP to the ports that Reach needs. Write implies it,
	// since tests often open servers.
	Serve bool
	// Forwards are served by us, each connection in its own goroutine, which must return when ctx
	// ends. They are the only services that a program can use. See DoorAt.
	Forwards []func(ctx context.Context, conn net.Conn)
	// Memory is in bytes; Processes counts threads; 0 means the default.
	Memory    int64
	Processes int
	Log       string // file that gets a line for each refused connection; "" if none
	// Without removes walls, for the probes.
	Without Walls
}

// Walls is a set of walls.
type Walls struct{ Bubblewrap, Landlock, Syscalls, Limits bool }

func (s Spec) memory() int64  { return cmp.Or(s.Memory, DefaultMemory) }
func (s Spec) processes() int { return cmp.Or(s.Processes, DefaultProcesses) }

// Report says which walls were in force.
type Report struct {
	Bubblewrap bool
	Landlock   int    // its ABI; 0 if none
	Syscalls   bool   // the system call filter
	Limits     string // CgroupV2, CgroupV1, Rlimits or NoLimits
}

// Mechanisms of limits.
const (
	CgroupV2 = "cgroup v2"
	CgroupV1 = "cgroup v1"
	Rlimits  = "rlimits" // per process, not for all together
	NoLimits = "none"
)

// missing is the error of a machine without a sandbox.
func missing(err error, install string) error {
	return sysexit.Hint(sysexit.With(sysexit.Config, errors.Join(err)),
		install+"; or say `sandbox: off` in the configuration, and the program runs with your rights")
}

// Detect starts a sandbox around a program that does nothing, and reports which walls were in force.
func Detect(ctx context.Context) (r Report, err error) {
	dir, err := os.MkdirTemp("", "tri-look-")
	if err != nil {
		return r, sysexit.With(sysexit.IO, err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	var said bytes.Buffer
	status, r, err := Run(ctx, Spec{Argv: []string{"true"}, Dir: dir}, strings.NewReader(""),
		io.Discard, &said)
	if err == nil && status != 0 {
		err = sysexit.Errorf(sysexit.Unavailable, "try a sandbox: status %d: %q", status, said.String())
	}
	return r, err
}

// String describes a Report.
func (r Report) String() string {
	var walls []string
	if r.Bubblewrap {
		walls = append(walls, "bubblewrap")
	}
	if r.Landlock > 0 {
		walls = append(walls, fmt.Sprintf("Landlock (ABI %d)", r.Landlock))
	}
	if r.Syscalls {
		walls = append(walls, "a filter of system calls")
	}
	if r.Limits != NoLimits {
		walls = append(walls, "limits by "+r.Limits)
	}
	return strings.Join(walls, ", ")
}

// Run runs a command in a sandbox to its end, for interactive inspection, and returns its exit
// status and which walls were in force. The command is killed when ctx ends.
func Run(ctx context.Context, s Spec, in io.Reader, out, errw io.Writer) (status int, r Report, err error) {
	box, err := New(s)
	if err != nil {
		return 0, r, startError(s.Argv, err)
	}
	defer box.Close()
	cmd, err := box.Command(nil)
	if err != nil {
		return 0, r, err
	}
	// Bubblewrap dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, io.MultiWriter(errw, &said)
	if err := cmd.Start(); err != nil {
		return 0, r, fmt.Errorf("start a sandbox: %w", err)
	}
	if err := box.Admit(); err != nil {
		box.Kill()
		_ = cmd.Wait() // said has its output
		return 0, r, startError(s.Argv, box.Explain(err, said.String()))
	}
	defer context.AfterFunc(ctx, box.Kill)()
	err = cmd.Wait()
	exit := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return 0, box.Report(), ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), box.Report(), nil
	}
	return 0, box.Report(), err
}

func startError(argv []string, err error) error {
	if _, known := sysexit.Of(err); known {
		return err
	}
	return sysexit.Errorf(sysexit.Unavailable, "start %q: %w", argv[0], err)
}

// tail keeps the end of a program's output.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > 4<<10 {
		t.Reset()
	}
	return t.Buffer.Write(p)
}
