package longrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"

	"tri/lib/base/sysexit"
)

// What a terminal of our own keeps for those who look into it later, in bytes, and
// how long it waits for one who does not read.
const (
	maxScreen = 64 << 10
	slow      = 2 * time.Second
)

// Hold is a terminal of our own: it has the runner in a pseudo-terminal, and shows
// that to everybody who asks at the socket of the run's folder. It ends when the
// runner does.
func (d *Desk) Hold(ctx context.Context, id string) error {
	if !isID.MatchString(id) {
		return fmt.Errorf("%q is no run id", id)
	}
	argv, err := d.argv("run", id)
	if err != nil {
		return err
	}
	lock, err := d.Home.TryLock(folder(id) + "/holder")
	if err != nil {
		return err
	}
	defer lock.Unlock()
	listener, err := listen(d.Home.Path(folder(id)))
	if err != nil {
		return err
	}
	defer listener.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = d.Home.Dir(), append(outside(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 45, Cols: 140})
	if err != nil {
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("start %s: %w", argv[0], err))
	}
	s := &screen{tty: tty, viewers: map[net.Conn]bool{}}
	defer context.AfterFunc(ctx, func() { _ = c.Process.Signal(os.Interrupt) })()
	go s.accept(listener)
	s.show()
	return errors.Join(c.Wait(), tty.Close())
}

// screen is what a terminal shows, and to whom.
type screen struct {
	tty *os.File

	mu      sync.Mutex
	shown   []byte // the last of it
	viewers map[net.Conn]bool
	ended   bool
}

// show copies the terminal to its viewers until the program ends, which reads as
// an error here.
func (s *screen) show() {
	buf := make([]byte, 4096)
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		s.shown = append(s.shown, buf[:n]...)
		s.shown = s.shown[max(0, len(s.shown)-maxScreen):]
		for v := range s.viewers {
			s.send(v, buf[:n])
		}
		if err != nil {
			s.ended = true
			for v := range s.viewers {
				v.Close()
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

func (s *screen) send(v net.Conn, b []byte) {
	if err := v.SetWriteDeadline(time.Now().Add(slow)); err == nil {
		if _, err = v.Write(b); err == nil {
			return
		}
	}
	delete(s.viewers, v) // gone, or not reading
	v.Close()
}

func (s *screen) accept(l net.Listener) {
	for {
		v, err := l.Accept()
		if err != nil {
			return // closed: the program has ended
		}
		go s.view(v)
	}
}

// view serves one viewer, who says first whether it will only look.
func (s *screen) view(v net.Conn) {
	first := make([]byte, 1)
	if _, err := v.Read(first); err != nil {
		v.Close()
		return
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		v.Close()
		return
	}
	s.viewers[v] = true
	s.send(v, s.shown)
	s.mu.Unlock()
	buf := make([]byte, 256)
	for {
		n, err := v.Read(buf)
		if n > 0 && first[0] == mayType {
			_, err = s.tty.Write(buf[:n])
		}
		if err != nil {
			s.mu.Lock()
			delete(s.viewers, v)
			s.mu.Unlock()
			v.Close()
			return
		}
	}
}

// What a viewer says first.
const (
	onlyLook = 'r'
	mayType  = 'w'
)

// socketName is the socket's name in a run's folder.
const socketName = "terminal"

// listen makes the socket. The name of one may have 107 bytes only, and a home may
// lie deep: then it is reached through the open folder.
func listen(dir string) (net.Listener, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	if err := root.Remove(socketName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("make terminal: %w", err))
	}
	var l *net.UnixListener
	err = short(dir, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("make terminal: %w", err))
	}
	l.SetUnlinkOnClose(false) // the name may not be reached by then; the next holder removes it
	return l, nil
}

func dial(dir string) (net.Conn, error) {
	var conn net.Conn
	err := short(dir, func(path string) (err error) {
		conn, err = net.Dial("unix", path)
		return err
	})
	return conn, err
}

// short calls fn with a path of the socket that is short enough.
func short(dir string, fn func(path string) error) error {
	path := dir + "/" + socketName
	if len(path) <= 100 {
		return fn(path)
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return fn(strings.Join([]string{"/proc/self/fd", fmt.Sprint(f.Fd()), socketName}, "/"))
}
