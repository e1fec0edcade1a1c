package proc

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultDisk is what a program may write in all, in bytes, where its Spec says
// nothing.
const DefaultDisk = 8 << 30

// diskTick is how often it is looked at how full the disk is.
const diskTick = 500 * time.Millisecond

// disk holds a program to what it may write below the folders that it may write.
// The kernel has no quota of a folder that everybody can set, so they are measured,
// but only after the disk has become fuller by an eighth of what is allowed.
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

// full reports whether more was written than is allowed.
func (d *disk) full() bool {
	if len(d.dirs) == 0 || d.left() > d.free-d.most/8 {
		return false
	}
	d.free = d.left()
	return d.size()-d.began > d.most
}

// left is what is free on the disks of the folders.
func (d *disk) left() (n int64) {
	for _, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			n += int64(st.Bfree) * int64(st.Bsize)
		}
	}
	return n
}

// size is what the folders take on the disk.
func (d *disk) size() (n int64) {
	for _, dir := range d.dirs {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // gone meanwhile
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

// watchDisk ends the program when it has written too much.
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
				r.signal(syscall.SIGKILL) // it would write on
				return
			}
		}
	}
}
