package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tri/lib/base/sysexit"
)

// protocol is the version of the messages between the two ends.
const protocol = 3

// message is a message of the inner end: first that it has started, then, with its sockets, that
// it is ready. After that it sends one only if the program could not be started.
type message struct {
	Protocol int
	Landlock int  // the kernel's ABI; when ready, the ABI in force
	Syscalls bool // the filter is in force
	Error    string
	Errno    int
}

// order tells the inner end what to run.
type order struct {
	Path, Dir   string
	Argv, Env   []string
	Read, Write []string
	Files       []string // readable paths that are not folders
	Configs     []string // Git's configurations, covered by plain copies
	Listen      []string
	Landlock    int
	Syscalls    bool
	Serve       bool
	Unix        bool     // it may create sockets with a path
	List        []string // folders whose content may be listed
	Memory      int64    // limits of each process; 0 means none
	Processes   int
}

// leave is the last message to the inner end: become the program. It uses the same channel as the
// order, whose reader may have read beyond its end.
type leave struct{}

// devices are the devices in /dev that a program may write to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
	"/dev/pts", "/dev/ptmx"}

// Init is the inner end. It runs within bubblewrap, reads its order from descriptor fd, puts up
// the second wall, and becomes the program. It returns only on failure.
func Init(fd string) error {
	n, err := strconv.Atoi(fd)
	if err != nil || n < 3 {
		return sysexit.Errorf(sysexit.Usage, "this is an internal command of the sandbox")
	}
	// Landlock and the filter apply to the thread, and are inherited by the program.
	runtime.LockOSThread()
	if err := unix.CloseRange(3, 1<<31, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	channel := os.NewFile(uintptr(n), "outer end")
	if err := send(n, message{Protocol: protocol, Landlock: landlockABI()}); err != nil {
		return sysexit.Errorf(sysexit.Usage, "this is an internal command of the sandbox: %w", err)
	}
	err = become(channel, n)
	m := message{Error: err.Error()}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		m.Error, m.Errno = strings.TrimSuffix(m.Error, ": "+errno.Error()), int(errno)
	}
	if told := send(n, m); told != nil {
		return errors.Join(err, told)
	}
	return err
}

func become(channel io.Reader, fd int) error {
	var o order
	in := json.NewDecoder(channel)
	if err := in.Decode(&o); err != nil {
		return fmt.Errorf("read the sandbox's request: %w", err)
	}
	sockets, ports, err := listen(o.Listen)
	if err != nil {
		return err
	}
	if err := send(fd, message{Landlock: o.Landlock, Syscalls: o.Syscalls && filtered()},
		sockets...); err != nil {
		return err
	}
	if err := in.Decode(new(leave)); err != nil {
		return fmt.Errorf("read the sandbox's request: %w", err)
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	// A process group of its own, which a session's first process has anyway.
	if err := unix.Setpgid(0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("make a process group: %w", err)
	}
	if err := confine(o, ports); err != nil {
		return err
	}
	err = syscall.Exec(o.Path, o.Argv, environment(o.Env, ports))
	return fmt.Errorf("start %q: %w", o.Path, err)
}

// listen opens the sockets that the outer end serves.
func listen(addresses []string) (sockets []int, ports []int, err error) {
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, nil, fmt.Errorf("listen in a sandbox: %w", err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return nil, nil, fmt.Errorf("listen in a sandbox: %w", err)
		}
		sockets, ports = append(sockets, int(f.Fd())), append(ports, l.Addr().(*net.TCPAddr).Port)
		opened = append(opened, f)
	}
	return sockets, ports, nil
}

// opened keeps sockets from being garbage-collected, and so closed, before they are sent.
var opened []*os.File

// confine applies the restrictions of the inner end.
func confine(o order, ports []int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := setRlimits(o.Memory, o.Processes); err != nil {
		return err
	}
	if o.Landlock > 0 {
		if err := enterLandlock(o, ports); err != nil {
			return err
		}
	}
	if o.Syscalls && filtered() {
		return filterSyscalls(o.Unix)
	}
	return nil
}

// environment returns the program's variables and the proxy's address, in both cases: programs
// differ in which they read.
func environment(env []string, ports []int) []string {
	set := map[string]string{"TMPDIR": "/tmp", "GIT_OPTIONAL_LOCKS": "0"}
	if len(ports) > 0 {
		proxy := "http://127.0.0.1:" + strconv.Itoa(ports[0])
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			set[name], set[strings.ToLower(name)] = proxy, proxy
		}
		set["NO_PROXY"], set["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
		set["NODE_USE_ENV_PROXY"] = "1"
	}
	var out []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if _, ours := set[name]; !ours {
			out = append(out, e)
		}
	}
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}

// send writes one message with descriptors.
func send(fd int, m message, files ...int) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	if err := unix.Sendmsg(fd, text, rights, nil, 0); err != nil {
		return fmt.Errorf("report to the outer process: %w", err)
	}
	return nil
}

// receive reads one message, with its descriptors and its sender's process id.
func receive(c *net.UnixConn) (m message, files []*os.File, pid int, err error) {
	text, rights := make([]byte, 64<<10), make([]byte, 4<<10)
	n, rn, _, _, err := c.ReadMsgUnix(text, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return m, nil, 0, err
	}
	parts, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return m, nil, 0, err
	}
	for _, part := range parts {
		if cred, err := unix.ParseUnixCredentials(&part); err == nil {
			pid = int(cred.Pid)
		}
		if fds, err := unix.ParseUnixRights(&part); err == nil {
			for _, fd := range fds {
				files = append(files, os.NewFile(uintptr(fd), "socket"))
			}
		}
	}
	if err := json.Unmarshal(text[:n], &m); err != nil {
		closeAll(files)
		return m, nil, 0, err
	}
	if m.Error != "" {
		closeAll(files)
		return m, nil, pid, errors.New(m.Error)
	}
	return m, files, pid, nil
}
