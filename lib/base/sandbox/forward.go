package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"tri/lib/base/sysexit"
)

// ForwardArg is the first argument of tri-sandbox as the inner end of a forward.
const ForwardArg = ":door"

// HelperAt is the path of the inner end in the program's file system.
const HelperAt = "/run/" + Helper

// ForwardAt returns the address of Spec.Forwards[i]: on the program's own loopback
// device, below the ports that the kernel assigns. The program passes through it by the command
// HelperAt DoorArg DoorAt(i), whose standard input and output are the connection.
func ForwardAt(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(27401+i)) }

// Pass connects in and out to a forward: an address of the loopback device or, for a program without
// a sandbox, the path of a socket. It returns when the other side is done.
func Pass(ctx context.Context, at string, in io.Reader, out io.Writer) error {
	network := "tcp"
	if strings.HasPrefix(at, "/") {
		network = "unix"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, at)
	if err != nil {
		return sysexit.Errorf(sysexit.Usage, "this is an internal command of the sandbox: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() { // it may wait for its input for ever
		_, _ = io.Copy(conn, in) // the other side sees the end of input
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err = io.Copy(out, conn)
	return err
}

// FindHelper returns the path of tri-sandbox, beside the running program or on PATH.
func FindHelper() (string, error) {
	if self, err := os.Executable(); err == nil {
		if filepath.Base(self) == Helper {
			return self, nil
		}
		if beside := filepath.Join(filepath.Dir(self), Helper); isFile(beside) {
			return beside, nil
		}
	}
	path, err := exec.LookPath(Helper)
	if err != nil {
		return "", fmt.Errorf("find the inner end of the sandbox: %w", err)
	}
	return filepath.Abs(path)
}
