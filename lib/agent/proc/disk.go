package proc

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultDisk is the default of Spec.Disk, in bytes.
const DefaultDisk = 8 << 30

// diskTick is the interval of the disk checks.
const diskTick = 500 * time.Millisecond

// disk enforces the limit on the folders that the program may write. Linux has no folder quota
// that an unprivileged process can set, so the folders are measured, but only after the free space
// of the disk has shrunk by an eighth of the limit.
type disk struct {
	dirs  []string
	most  int64
	began int64 // size of the folders at the start
	free  int64 // of the disk, when they were last measured
}

func newDisk(s Spec) *disk {
	d := &disk{most: cmp.Or(s.Disk, DefaultDisk)}
	if s.Home != "" {
		d.dirs = append(d.dirs, s.Home)
	}
	if s.Write {
		d.dirs = append(d.dirs, s.Dir)
	}
	if len(d.dirs) > 0 {
		d.began, d.free = d.size(), d.left()
	}
	return d
}

// full reports whether more was written than allowed.
func (d *disk) full() bool {
	if len(d.dirs) == 0 || d.left() > d.free-d.most/8 {
		return false
	}
	d.free = d.left()
	return d.size()-d.began > d.most
}

// left returns the free space of the folders' disks, in bytes.
func (d *disk) left() (n int64) {
	for _, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			n += int64(st.Bfree) * int64(st.Bsize)
		}
	}
	return n
}

// size returns the disk usage of the folders, in bytes.
func (d *disk) size() (n int64) {
	for _, dir := range d.dirs {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // removed meanwhile
			}
			if info, err := e.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					n += st.Blocks * 512
				}
			}
			return nil
		})
	}
	return n
}

// watchDisk kills the program when it has written too much.
func (r *running) watchDisk() {
	d := newDisk(r.spec)
	tick := time.NewTicker(diskTick)
	defer tick.Stop()
	for {
		select {
		case <-r.ended:
			return
		case <-tick.C:
			if d.full() {
				r.filled.Store(true)
				r.signal(syscall.SIGKILL) // SIGTERM would let it keep writing
				return
			}
		}
	}
}
