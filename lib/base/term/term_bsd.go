//go:build darwin || freebsd || netbsd || openbsd

package term

import "golang.org/x/sys/unix"

const (
	getAttributes = unix.TIOCGETA
	setAttributes = unix.TIOCSETA
)
