// Package term detects terminals, reads single keys, and prints ages that fit into a
// column and the progress of long work.
package term

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tri/lib/base/sysexit"
)

// file is an *os.File, or a screen over one.
type file interface{ Fd() uintptr }

// Is reports whether a reader or writer is a terminal.
func Is(end any) bool {
	f, ok := end.(file)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getAttributes)
	return err == nil
}

// Colors reports whether a writer is a terminal whose user wants colours (no-color.org).
func Colors(end any) bool {
	return Is(end) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Keys sets a terminal to deliver each key at once, without echo. Control-C is an ordinary key, so
// that the program always ends through done, which restores the terminal.
func Keys(end any) (done func() error, err error) {
	f, ok := end.(*os.File)
	if !ok {
		return nil, sysexit.Errorf(sysexit.Software, "read keys: not a terminal: %T", end)
	}
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, getAttributes)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "read keys: %w", err)
	}
	now := *was
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setAttributes, &now); err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "read keys: %w", err)
	}
	return func() error {
		if err := unix.IoctlSetTermios(fd, setAttributes, was); err != nil {
			return sysexit.Errorf(sysexit.IO, "give the terminal back: %w", err)
		}
		return nil
	}, nil
}

// Age returns the time since at, short enough for a column: 12s, 5m, 30h, 9d; "?" if at is zero.
func Age(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return "?"
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Width returns the number of columns of a terminal; 80 if it is unknown.
func Width(end any) int {
	if f, ok := end.(file); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return 80
}

// Hidden reads one line, from a terminal without echo; ask is called before it waits for a person.
func Hidden(end any, ask func()) (string, error) {
	f, ok := end.(io.Reader)
	if !ok {
		return "", sysexit.Errorf(sysexit.Software, "read line: %T", end)
	}
	if Is(end) {
		ask()
		fd := int(end.(*os.File).Fd())
		was, err := unix.IoctlGetTermios(fd, getAttributes)
		if err != nil {
			return "", sysexit.Errorf(sysexit.IO, "read line: %w", err)
		}
		now := *was
		now.Lflag &^= unix.ECHO
		if err := unix.IoctlSetTermios(fd, setAttributes, &now); err != nil {
			return "", sysexit.Errorf(sysexit.IO, "read line: %w", err)
		}
		defer func() { _ = unix.IoctlSetTermios(fd, setAttributes, was) }() // nothing more can be done
	}
	const most = 16 << 10
	line, err := bufio.NewReader(io.LimitReader(f, most)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", sysexit.Errorf(sysexit.IO, "read line: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
