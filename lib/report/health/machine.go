package health

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"tri/lib/base/text"

	"golang.org/x/sys/unix"
)

// written is a year before which no correct clock can be.
const written = 2026

func (x *checker) clock() {
	if now := x.Now(); now.Year() < written {
		x.fail("clock", "set it and keep it set (timedatectl set-ntp true)", "the machine says %s",
			now.UTC().Format("2006-01-02 15:04"))
	} else {
		x.ok("clock", "%s UTC", now.UTC().Format("2006-01-02 15:04:05"))
	}
}

// Free space below which a warning is given, in bytes. A full disk stops every stage, but nothing
// is lost.
const (
	little  = 1 << 30
	tooFull = 100 << 20
)

func (x *checker) space() {
	var s unix.Statfs_t
	if err := unix.Statfs(x.Dir, &s); err != nil {
		x.failed("disk", "", fmt.Errorf("look at %q: %w", x.Dir, err))
		return
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	switch {
	case free < tooFull:
		x.fail("disk", "make room", "%s free", size(free))
	case free < little:
		x.warn("disk", "make room", "%s free", size(free))
	default:
		x.ok("disk", "%s free", size(free))
	}
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// version runs a program to get its version; it returns the path if there is none.
func version(ctx context.Context, program, flag string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.WaitDelay = timeout
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s %s: no answer within %v", program, flag, timeout)
	}
	exit := new(exec.ExitError)
	if err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w", program, flag, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out[:min(len(out), 200)])), "\n")
	if first == "" || err != nil {
		return path, nil
	}
	return text.Visible(first), nil
}

// tool reports whether a program is installed.
func (x *checker) tool(ctx context.Context, name, program, flag, why string) {
	v, err := version(ctx, program, flag)
	if err != nil {
		x.fail(name, "install it, or see that it is on PATH", "%s: %v", why, err)
		return
	}
	x.ok(name, "%s", v)
}
