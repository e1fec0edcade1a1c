package tail

import (
	"io"

	"github.com/fsnotify/fsnotify"
	nx "github.com/nxadm/tail"
)

// follow follows the open file called name from offset on. The caller reads Lines until the channel is
// closed, and calls Stop. A line is delivered when its newline has been written; Offset in its SeekInfo is
// the offset after it. A line is held in memory whole, whatever its length. With poll, or if the kernel
// sends no notifications, the file is checked four times a second.
func follow(name string, offset int64, poll bool) (*nx.Tail, error) {
	return nx.TailFile(name, nx.Config{
		Location: &nx.SeekInfo{Offset: offset, Whence: io.SeekStart}, Follow: true, CompleteLines: true,
		Poll: poll || !notices(name), Logger: nx.DiscardingLogger,
	})
}

// notices reports whether the kernel can notify about changes of a file: the library ends the process when
// there is no inotify instance left. It requests two instances, so that one remains for the library even if
// another program takes one in between.
func notices(name string) bool {
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
