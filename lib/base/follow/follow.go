// Package follow follows a text file that another program appends to, with github.com/nxadm/tail.
// It prevents that library from ending the process when the kernel has no inotify instance left.
package follow

import (
	"io"

	"github.com/fsnotify/fsnotify"
	"github.com/nxadm/tail"
)

// Options configure how a file is followed.
type Options struct {
	Offset int64 // of the first line
	ReOpen bool  // follow the name, not the file, as tail -F does
	Poll   bool  // check four times a second; false: only if the kernel sends no notifications
}

// Open follows the file called name. The caller reads Lines until the channel is closed, and calls
// Stop. A line is delivered when its newline has been written; Offset in its SeekInfo is the
// offset after it. A line is held in memory whole, whatever its length.
func Open(name string, o Options) (*tail.Tail, error) {
	return tail.TailFile(name, tail.Config{
		Location: &tail.SeekInfo{Offset: o.Offset, Whence: io.SeekStart}, Follow: true, CompleteLines: true,
		ReOpen: o.ReOpen, Poll: o.Poll || !Notices(name), Logger: tail.DiscardingLogger,
	})
}

// Notices reports whether the kernel can notify about changes of a file. It requests two
// instances, so that one remains for the library even if another program takes one in between.
func Notices(name string) bool {
	for range 2 {
		w, err := fsnotify.NewWatcher()
		if err != nil {
			return false
		}
		defer w.Close()
		if err := w.Add(name); err != nil {
			return false
		}
	}
	return true
}
