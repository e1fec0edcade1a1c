package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Go asks the kernel for the time by itself, without the C library and without a
// system call, so nothing from outside can tell a program another time. What can is
// the standard library that it is built with: buildWarped builds the real programs, of
// the very sources, with a package time whose two clocks are read through a page
// that the torture writes, and a package os that shows files' times through it. So
// the wall clock can jump, and both clocks and all timers can run faster.
//
// What stays true time: deadlines of sockets and pipes, time.Sleep (naps of
// milliseconds, here), and whatever other programs do.

//go:embed warp/time.txt
var warpTime []byte

// warpEdits are what changes in files of the standard library: what stands there,
// and what is put in its place.
var warpEdits = map[string][][2]string{
	"time/time.go": {
		{"sec, nsec, mono := runtimeNow()", "sec, nsec, mono := warpNow()"},
		{"runtimeNano()-startNano", "warpMono(runtimeNano())-startNano"},
		{"startNano int64 = runtimeNano()", "startNano int64 = warpMono(runtimeNano())"},
	},
	"time/sleep.go":    {{"runtimeNano() + int64(d)", "runtimeNano() + int64(warpWait(d))"}},
	"time/tick.go":     {{"when(d), int64(d)", "when(d), int64(warpWait(d))"}},
	"os/stat_linux.go": {{"time.Unix(fs.sys.Mtim.Unix())", "time.Warped(fs.sys.Mtim.Unix())"}},
}

var warpedPrograms = []string{"watch", "thread", "turn", "classify", "dispatch", "reply", "approve",
	"health", "report"}

// withWarped makes o's programs those with another clock, for the time of a call:
// those in o.warped, built there where they are not, or else in a folder that goes
// again.
func withWarped(o options, fn func(options) error) (err error) {
	o.bin = o.warped
	if o.bin == "" {
		if o.bin, err = os.MkdirTemp("", "torture-warp"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.bin)) }()
	}
	if !exists(filepath.Join(o.bin, "tri-watch")) {
		if err := buildWarped(o.bin); err != nil {
			return err
		}
	}
	return fn(o)
}

// buildWarped builds the programs into a folder.
func buildWarped(bin string) error {
	dir, err := os.MkdirTemp("", "torture-overlay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := warpOverlay(dir)
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs,nethttpomithttp2",
		"-overlay", overlay, "-o", bin + "/"}
	for _, name := range warpedPrograms {
		args = append(args, "./cmd/tri-"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build with another clock: %w: %s", err, out)
	}
	return nil
}

func warpOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		at := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		replace[filepath.Join(src, name)] = at
		return os.WriteFile(at, text, 0o644)
	}
	err = put("time/warp.go", warpTime)
	for name, edits := range warpEdits {
		b, e := os.ReadFile(filepath.Join(src, name))
		text := string(b)
		for _, edit := range edits {
			if !strings.Contains(text, edit[0]) {
				e = errors.Join(e,
					fmt.Errorf("%s of this Go has no %q: look how it reads the clock, and mend warp.go",
						name, edit[0]))
			}
			text = strings.ReplaceAll(text, edit[0], edit[1])
		}
		err = errors.Join(err, e, put(name, []byte(text)))
	}
	list, e := json.Marshal(map[string]any{"Replace": replace})
	file := filepath.Join(dir, "overlay.json")
	return file, errors.Join(err, e, os.WriteFile(file, list, 0o644))
}

// clock is the time that programs see which have it in their environment.
type clock struct {
	file string
	page *warpPage
	mem  []byte
}

type warpPage struct {
	turns int64
	at    [1600]warpTurn
}

type warpTurn struct{ wall, mono, toWall, toMono, rate int64 }

// newClock shows start now, and goes rate times as fast as the machine's.
func newClock(dir string, start time.Time, rate int64) (*clock, error) {
	c := &clock{file: filepath.Join(dir, "clock")}
	f, err := os.Create(c.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(1 << 16); err != nil {
		return nil, err
	}
	if c.mem, err = syscall.Mmap(int(f.Fd()), 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED); err != nil {
		return nil, err
	}
	c.page = (*warpPage)(unsafe.Pointer(&c.mem[0]))
	wall, mono := clocks()
	c.turn(warpTurn{wall, mono, start.UnixNano(), mono, rate})
	return c, nil
}

func (c *clock) close() error { return syscall.Munmap(c.mem) }

func (c *clock) turn(t warpTurn) {
	if int(c.page.turns) == len(c.page.at) {
		panic("the clock was set too often")
	}
	c.page.at[c.page.turns] = t
	c.page.turns++ // a program that looks meanwhile sees the old turn
}

// jump sets the wall clock, as somebody with the right to does: waits go on.
func (c *clock) jump(d time.Duration) {
	wall, mono := clocks()
	t := c.page.at[c.page.turns-1]
	c.turn(warpTurn{wall, mono, t.toWall + (wall-t.wall)*t.rate + int64(d),
		t.toMono + (mono-t.mono)*t.rate, t.rate})
}

// now is what the clock shows.
func (c *clock) now() time.Time {
	wall, _ := clocks()
	t := c.page.at[c.page.turns-1]
	return time.Unix(0, t.toWall+(wall-t.wall)*t.rate)
}

// clocks are the machine's, in nanoseconds: of the wall, and since it was started.
func clocks() (wall, mono int64) {
	var ts syscall.Timespec
	const monotonic = 1
	if _, _, no := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)),
		0); no != 0 {
		panic(no)
	}
	return time.Now().UnixNano(), ts.Nano()
}
