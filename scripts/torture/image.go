package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// system is a file system and how it is mounted.
type system struct {
	name string // fs[:mount options][;mkfs options]
	fs   string
	make []string // arguments of mkfs
	opts string   // of mount
}

// systems are those that are cut unless -mounts says otherwise. Between them are
// what distributions do, what is kept back the longest and what comes soonest, and
// file systems of another build.
const systems = "ext4,ext4:commit=1:noauto_da_alloc,ext4:data=writeback:commit=1000,ext4:fast_commit,xfs,btrfs"

// sizes in MB, and what keeps the smallest of them small. Their files are sparse.
var mkfs = map[string]struct {
	size int64
	args []string
}{
	"ext4":  {64, []string{"-F", "-b", "4096", "-m", "0", "-J", "size=4", "-E", "nodiscard"}},
	"xfs":   {300, []string{"-f"}},
	"btrfs": {160, []string{"-f", "-m", "single"}},
}

// parseSystem reads FS[:OPTION]…; fast_commit is an option of mkfs.
func parseSystem(text string) (system, error) {
	parts := strings.Split(text, ":")
	s := system{name: text, fs: parts[0], make: mkfs[parts[0]].args, opts: "loop"}
	if mkfs[s.fs].size == 0 {
		return s, fmt.Errorf("file system %q: want ext4, xfs or btrfs", s.fs)
	}
	for _, o := range parts[1:] {
		if o == "fast_commit" {
			s.make = append([]string{"-O", o}, s.make...)
		} else {
			s.opts += "," + o
		}
	}
	return s, nil
}

// errSkip means that this machine has not what a test needs; skipped is the exit
// status that says so.
var errSkip = errors.New("SKIPPED")

const skipped = 69

// image is the disk of a machine: a file that is mounted.
type image struct {
	system
	file string // the image
	at   string // where it is mounted
	is   bool   // mounted
}

// apart names the environment variable that says that we are alone with our
// mounts.
const apart = "TORTURE_APART"

// mounting runs a test where mounts are nobody else's: whoever made a sandbox
// meanwhile would keep a file system mounted that was to be gone. What is left
// mounted goes with the test.
func mounting(name string, o options, test func(options) error) error {
	if err := canMount(); err != nil {
		return err
	}
	if os.Getenv(apart) != "" {
		return test(o)
	}
	runtime.LockOSThread() // it is this thread's death that ends the other
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", name, "-bin", o.bin, "-mounts", o.mounts, "-wait", o.wait.String(),
		fmt.Sprint("-rounds=", o.rounds), fmt.Sprint("-hours=", o.hours), fmt.Sprint("-seed=", o.seed),
		fmt.Sprint("-keep=", o.keep),
		fmt.Sprint("-messages=", o.messages), "-warped", o.warped)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), apart+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%w: no mounts of one's own: %w", errSkip, err)
	}
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == skipped {
		return errSkip // it has said why
	}
	return err
}

// canMount says why no file system can be mounted here.
func canMount() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root can mount", errSkip)
	}
	f, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: no loop devices: %w", errSkip, err)
	}
	defer f.Close()
	if _, err := unix.IoctlRetInt(int(f.Fd()), unix.LOOP_CTL_GET_FREE); err != nil {
		return fmt.Errorf("%w: no loop devices: %w", errSkip, err)
	}
	return nil
}

// missing says why this machine cannot have such a file system.
func (s system) missing() error {
	if _, err := exec.LookPath("mkfs." + s.fs); err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	known := func() bool {
		b, err := os.ReadFile("/proc/filesystems")
		return err == nil && slices.Contains(strings.Fields(string(b)), s.fs)
	}
	if !known() && (run("modprobe", s.fs) != nil || !known()) {
		return fmt.Errorf("%w: this kernel has no %s", errSkip, s.fs)
	}
	return nil
}

// newImage makes an empty file system. Its file is small: what is zero is a hole.
func newImage(s system, dir, at string) (*image, error) {
	if err := s.missing(); err != nil {
		return nil, err
	}
	m := &image{system: s, file: filepath.Join(dir, "empty.img"), at: at}
	f, err := os.Create(m.file)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(mkfs[s.fs].size<<20), f.Close()); err != nil {
		return nil, err
	}
	if out, err := exec.Command("mkfs."+s.fs,
		append([]string{"-q"}, append(s.make, m.file)...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mkfs.%s: %w: %s", s.fs, err, out)
	}
	return m, run("fallocate", "--dig-holes", m.file)
}

func run(args ...string) error {
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func (m *image) mount() error {
	err := run("mount", "-t", m.fs, "-o", m.opts, m.file, m.at)
	m.is = err == nil
	return err
}

// unmount waits for those that were killed to be gone.
func (m *image) unmount() (err error) {
	for range 200 {
		if !m.is {
			return nil
		}
		err = run("umount", m.at)
		if m.is = err != nil; m.is {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return err
}

// sync makes durable what stands there.
func (m *image) sync() error {
	f, err := os.Open(m.at)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// copyTo writes what stands on the disk, and not what the kernel still keeps for
// it, to another file. The kernel may write by itself meanwhile, in a disk's order,
// which a copy has not: it is made again until nothing was written during it.
func (m *image) copyTo(file string) (*image, error) {
	for range 100 {
		if err := copySparse(m.file, file); err != nil {
			return nil, err
		}
		alike, err := sameSparse(m.file, file)
		if err != nil {
			return nil, err
		}
		if alike {
			return &image{system: m.system, file: file, at: m.at}, nil
		}
	}
	return nil, fmt.Errorf("copy %s: it never was at rest", m.file)
}

// pieces calls fn with each piece of a file that is not a hole.
func pieces(f *os.File, fn func(at int64, b []byte) error) error {
	buf := make([]byte, 1<<20)
	for at := int64(0); ; {
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		to := int64(0)
		if err == nil {
			to, err = unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		}
		if err != nil {
			return err
		}
		for at = from; at < to; {
			n, err := f.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			if err != nil && err != io.EOF {
				return err
			}
			if err := fn(at, buf[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
	}
}

func copySparse(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	info, err := in.Stat()
	if err == nil {
		err = out.Truncate(info.Size())
	}
	if err == nil {
		err = pieces(in, func(at int64, b []byte) error {
			_, err := out.WriteAt(b, at)
			return err
		})
	}
	return errors.Join(err, out.Close())
}

// errOther ends a comparison.
var errOther = errors.New("they differ")

// sameSparse reports whether b holds what stands in a. What became a hole in a
// meanwhile was given back by its file system, which looks at it no more.
func sameSparse(a, b string) (bool, error) {
	in, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer in.Close()
	with, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer with.Close()
	buf := make([]byte, 1<<20)
	err = pieces(in, func(at int64, want []byte) error {
		if _, err := with.ReadAt(buf[:len(want)], at); err != nil {
			return err
		}
		if !bytes.Equal(buf[:len(want)], want) {
			return errOther
		}
		return nil
	})
	if errors.Is(err, errOther) {
		return false, nil
	}
	return err == nil, err
}
