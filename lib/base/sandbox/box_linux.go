package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tri/lib/base/sysexit"
)

// Box is the sandbox of one program. Call its methods in this order: Command, Admit, any of
// Signal, Kill, Await; and Close in any case.
type Box struct {
	spec   Spec
	path   string // of the program
	plan   *plan
	bwrap  string
	helper string
	report Report

	channel *net.UnixConn // to the inner end
	ours    []*os.File    // passed to bubblewrap, then closed
	limits  *limits
	proxy   *proxy
	raw     []target // served by the listeners after the proxy's

	closing sync.Once
	oom     bool

	mu          sync.Mutex
	agent, init *process
}

// New checks everything that the sandbox and the program need.
func New(s Spec) (*Box, error) {
	b := &Box{spec: s}
	if err := b.find(); err != nil {
		return nil, err
	}
	reach, err := newAllowList(s.Reach)
	if err != nil {
		return nil, err
	}
	for _, t := range reach.targets {
		if t.loopback() {
			b.raw = append(b.raw, t)
		}
	}
	path, needs, err := program(s.Argv)
	if err != nil {
		return nil, err
	}
	b.path = path
	if b.plan, err = newPlan(s, needs); err != nil {
		return nil, err
	}
	b.proxy = newProxy(reach, s.Log)
	b.proxy.doors = s.Forwards
	b.limits = &limits{kind: NoLimits}
	if !s.Without.Limits {
		b.limits = newLimits(s.memory(), s.processes())
	}
	return b, nil
}

// find looks up the programs that make the sandbox.
func (b *Box) find() (err error) {
	if b.helper, err = FindHelper(); err != nil {
		return missing(err, "install it beside the other programs (make install)")
	}
	if b.spec.Without.Bubblewrap {
		return nil
	}
	if b.bwrap, err = exec.LookPath("bwrap"); err != nil {
		return missing(fmt.Errorf("start a sandbox: %w", err), "install bubblewrap (apt install bubblewrap)")
	}
	b.bwrap, err = filepath.Abs(b.bwrap)
	return err
}

// proxyAt is the address of the proxy on the program's own loopback device.
const proxyAt = "127.0.0.1:3128"

// Command returns the command to start: bubblewrap, which runs tri-sandbox. The caller connects
// the first three descriptors, and may set its attributes. hold, which may be nil, stays open
// until the last process in the sandbox has ended, in a process that none of them can reach.
func (b *Box) Command(hold *os.File) (*exec.Cmd, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to a sandbox: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "inner end")
	b.ours = append(b.ours, theirs)
	outer := os.NewFile(uintptr(pair[0]), "outer end")
	defer outer.Close() // FileConn duplicates it
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return nil, fmt.Errorf("connect to a sandbox: %w", err)
	}
	conn, err := net.FileConn(outer)
	if err != nil {
		return nil, fmt.Errorf("connect to a sandbox: %w", err)
	}
	b.channel = conn.(*net.UnixConn)
	inner := []string{b.helper, InnerArg, "3"}
	if b.spec.Without.Bubblewrap {
		return &exec.Cmd{Path: b.helper, Args: inner, Env: b.environment(), ExtraFiles: b.ours}, nil
	}
	args, err := b.arguments()
	if err != nil {
		return nil, err
	}
	extra := append([]*os.File{}, b.ours...)
	if hold != nil {
		extra = append(extra, hold)
		args = append(args, "--sync-fd", strconv.Itoa(2+len(extra)))
	}
	inner[0] = HelperAt
	args = append(append(args, "--"), inner...)
	return &exec.Cmd{Path: b.bwrap, Args: append([]string{"bwrap"}, args...), Env: b.environment(), Dir: "/",
		ExtraFiles: extra}, nil
}

// Report returns which walls are in force. Call it after Admit.
func (b *Box) Report() Report { return b.report }

// unlimited makes a warning appear once.
var unlimited sync.Once

// Admit tells the inner end of the started command what to run, and returns when it has become the
// program. An error means that the program was not started.
func (b *Box) Admit() error {
	b.release()
	if err := b.channel.SetDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("connect to a sandbox: %w", err)
	}
	hello, err := b.hello()
	if err != nil {
		return err
	}
	order := b.order(hello)
	if err := json.NewEncoder(b.channel).Encode(order); err != nil {
		return fmt.Errorf("send the command to a sandbox: %w", err)
	}
	ready, files, _, err := receive(b.channel)
	if err != nil {
		return startFailed(ready, err)
	}
	if err := b.serve(order.Listen, files); err != nil {
		return err
	}
	if err := json.NewEncoder(b.channel).Encode(leave{}); err != nil {
		return fmt.Errorf("start %q: %w", b.path, err)
	}
	if last, _, _, err := receive(b.channel); !errors.Is(err, io.EOF) {
		return startFailed(last, err)
	}
	if b.limits.kind == Rlimits {
		unlimited.Do(func() {
			slog.Warn("a run's memory and processes are limited one process at a time: no control group can be made here", "root", os.Getuid() == 0)
		})
	}
	b.report = Report{Bubblewrap: !b.spec.Without.Bubblewrap, Landlock: ready.Landlock,
		Syscalls: ready.Syscalls, Limits: b.limits.kind}
	return b.channel.Close()
}

// hello waits for the inner end, records its process and limits it.
func (b *Box) hello() (message, error) {
	hello, _, pid, err := receive(b.channel)
	switch {
	case errors.Is(err, io.EOF):
		return hello, sysexit.Errorf(sysexit.Config, "bubblewrap could not make a sandbox")
	case err != nil:
		return hello, startFailed(hello, err)
	case hello.Protocol != protocol:
		return hello, missing(fmt.Errorf("%s is of another version than this program", b.helper),
			"install all programs together")
	}
	b.remember(pid)
	if b.limits.admit(pid) != nil { // groups can be created here, but not entered
		b.limits.remove()
		b.limits = &limits{kind: Rlimits}
	}
	return hello, nil
}

func (b *Box) order(hello message) order {
	s := b.spec
	read, write := b.plan.paths()
	o := order{
		Path: b.path, Argv: s.Argv, Env: s.Env, Dir: b.plan.dir, Read: read, Write: write,
		Serve:    s.Serve || s.Write,
		Syscalls: !s.Without.Syscalls, Configs: b.plan.configs, Files: b.plan.files, Unix: s.Serve || s.Write,
	}
	if !s.Without.Landlock {
		o.Landlock = hello.Landlock
	}
	if b.limits.kind == Rlimits {
		o.Memory, o.Processes = s.memory(), s.processes()
	}
	o.List = []string{b.plan.dir}
	if !s.Without.Bubblewrap {
		o.List = []string{"/"} // there is nothing to hide from it
		o.Listen = []string{proxyAt}
		for _, t := range b.raw {
			if t.port == 3128 { // taken: the proxy uses any other port
				o.Listen[0] = "127.0.0.1:0"
			}
			host := t.host
			if host == "localhost" || strings.HasSuffix(host, ".localhost") {
				host = "127.0.0.1"
			}
			o.Listen = append(o.Listen, net.JoinHostPort(host, strconv.Itoa(int(t.port))))
		}
		for i := range s.Forwards {
			o.Listen = append(o.Listen, ForwardAt(i))
		}
		if len(s.Forwards) > 0 {
			o.Read = append(o.Read, HelperAt)
		}
	}
	return o
}

// serve serves the sockets that the inner end has opened.
func (b *Box) serve(listen []string, files []*os.File) error {
	defer closeAll(files)
	if len(files) != len(listen) {
		return fmt.Errorf("the sandbox has %d sockets, and %d were asked for", len(files), len(listen))
	}
	for i, f := range files {
		l, err := net.FileListener(f)
		if err != nil {
			return fmt.Errorf("listen in a sandbox: %w", err)
		}
		switch raw := 1 + len(b.raw); {
		case i == 0:
			b.proxy.serveHTTP(l)
		case i < raw:
			b.proxy.serveRaw(l, b.raw[i-1])
		default:
			b.proxy.serveDoor(l, b.spec.Forwards[i-raw])
		}
	}
	return nil
}

// startFailed returns the inner end's error.
func startFailed(m message, err error) error {
	if m.Error == "" {
		return fmt.Errorf("start in a sandbox: %w", err)
	}
	if m.Errno != 0 {
		return fmt.Errorf("%s: %w", m.Error, syscall.Errno(m.Errno))
	}
	return errors.New(m.Error)
}

// release closes the files passed to the started command.
func (b *Box) release() {
	closeAll(b.ours)
	b.ours = nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written through it
	}
}

// Explain adds bubblewrap's output and a hint to an error of Admit.
func (b *Box) Explain(err error, said string) error {
	if said = strings.TrimSpace(said); said == "" {
		return err
	}
	err = fmt.Errorf("%w: %q", err, said)
	if strings.Contains(said, "namespace") || strings.Contains(said, "uid map") ||
		strings.Contains(said, "Operation not permitted") {
		return missing(err, NamespaceHint)
	}
	return err
}

// NamespaceHint is the hint for a kernel that does not permit user namespaces.
const NamespaceHint = "this machine lets no user make namespaces: allow it (sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"

// Close kills what is left in the sandbox, and removes it. oom reports that the kernel killed a
// process in it for its memory use.
func (b *Box) Close() (oom bool) {
	b.closing.Do(b.close)
	return b.oom
}

func (b *Box) close() {
	b.release()
	if b.channel != nil {
		_ = b.channel.Close() // Admit closed it if it came that far
	}
	b.Kill()
	b.Await()
	b.forget()
	b.proxy.Close()
	b.oom = b.limits.killed()
	b.limits.remove()
}
