//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// inode returns the inode number of a file, which a replacement does not share.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
