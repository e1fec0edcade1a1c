// Package sandbox confines a program twice: bubblewrap gives it a minimal file system
// and no network, and Landlock restricts it to the same files and ports from inside. A
// filter of system calls and limits on memory and processes stand beside them.
//
// What the program may dial goes through a proxy of ours (proxy.go) that holds an
// allow-list. The sockets on which the program finds that proxy are made inside
// its network namespace and handed out to us, so that nothing runs in there but
// the program.
//
// How it starts: Command gives bubblewrap's command line, at whose end stands
// tri-sandbox in its inner mode (Inside). That process waits on a socket; Admit
// tells it what to run and what to allow, puts it under the limits, and lets it
// go; it walls itself in and becomes the program. A program that could not be
// walled in is never started.
//
// Landlock alone counts as no sandbox: it cannot hide a file below a folder that
// may be read, nor close Unix sockets and UDP.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"tri/lib/base/sysexit"
)

// Helper is the program of ours that is the inner end, and its first argument
// there.
const (
	Helper   = "tri-sandbox"
	InnerArg = ":inside"
)

// Limits where a Spec names none.
const (
	DefaultMemory    = 4 << 30 // bytes
	DefaultProcesses = 1024    // threads count
)

// patience is how long the two ends wait for each other.
const patience = 30 * time.Second

// Spec is what a program may have.
type Spec struct {
	Argv []string // the program and its arguments; Argv[0] is a path, or found on PATH
	Env  []string // KEY=value, all of it but for the proxy's
	Dir  string   // where it works, shown at its own path
	// Write lets it change what is below Dir, but for Git's own files and what is
	// hidden.
	Write  bool
	Hidden []string // further names below Dir that it finds empty, beside what is private
	// Secret reports whether a text holds a key: settings below Dir that do are found
	// empty, unless Write is set. Nil: only names are looked at.
	Secret func(text []byte) bool
	Home   string   // a folder that it may write; "" is none
	Read   []string // further files and folders
	Reach  []string // host:port that it may dial
	// Serve lets it have servers of its own on the loopback device, on any port.
	// Nobody outside can reach them. Without it Landlock holds TCP to the ports
	// that Reach needs; Write implies it, since tests like to serve.
	Serve bool
	// Doors are answered by us, each connection in a goroutine of its own, which
	// must return when ctx ends: it is all that a program may ask of us. See DoorAt.
	Doors []func(ctx context.Context, conn net.Conn)
	// Memory is in bytes, Processes counts threads; 0 is the default.
	Memory    int64
	Processes int
	Log       string // file that gets a line for each dial refused; "" is none
	// Without takes walls away, for the probes.
	Without Walls
}

// Walls is a set of walls.
type Walls struct{ Bubblewrap, Landlock, Syscalls, Limits bool }

func (s Spec) memory() int64  { return cmp.Or(s.Memory, DefaultMemory) }
func (s Spec) processes() int { return cmp.Or(s.Processes, DefaultProcesses) }

// Report says which walls stood.
type Report struct {
	Bubblewrap bool
	Landlock   int    // its ABI; 0 is none
	Syscalls   bool   // the filter of system calls
	Limits     string // CgroupV2, CgroupV1, Rlimits or NoLimits
}

// Mechanisms of limits.
const (
	CgroupV2 = "cgroup v2"
	CgroupV1 = "cgroup v1"
	Rlimits  = "rlimits" // of each process, not of all together
	NoLimits = "none"
)

// missing is the error of a machine that has no sandbox.
func missing(err error, install string) error {
	return sysexit.Hint(sysexit.With(sysexit.Config, errors.Join(err)),
		install+"; or say `sandbox: off` in the configuration, and the program runs with your rights")
}
