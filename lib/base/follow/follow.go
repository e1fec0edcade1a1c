// Package follow follows a text file that another program appends to, by
// github.com/nxadm/tail, and keeps what that library does on a fault away from the
// process: it ends it where the kernel has no inotify instance left.
package follow

import (
	"io"

	"github.com/fsnotify/fsnotify"
	"github.com/nxadm/tail"
)

// Options say how a file is followed.
type Options struct {
	Offset int64 // of the first line
	ReOpen bool  // follow the name, not the file, as tail -F does
	Poll   bool  // look four times a second; else only where the kernel gives no notice
}

// Open follows the file called name. The caller reads Lines until they are closed,
// and calls Stop. A line comes when its newline is there; Offset in its SeekInfo is
// behind it. A line is held in memory whole, however long it is.
func Open(name string, o Options) (*tail.Tail, error) {
	return tail.TailFile(name, tail.Config{
		Location: &tail.SeekInfo{Offset: o.Offset, Whence: io.SeekStart}, Follow: true, CompleteLines: true,
		ReOpen: o.ReOpen, Poll: o.Poll || !Notices(name), Logger: tail.DiscardingLogger,
	})
}

// Notices reports whether the kernel has what it takes to give notice of a file's
// changes. It asks for two instances, so that the library, which asks after it,
// gets one also where another program takes one in between.
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
