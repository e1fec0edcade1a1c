//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// inode is the number of a file: one that was put in the place of another has its own.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
