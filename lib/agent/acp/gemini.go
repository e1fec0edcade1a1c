package acp

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"syscall"
)

// geminiSession matches the name of a session file of Gemini CLI: the minute in which the session
// began, and the beginning of its id.
var geminiSession = regexp.MustCompile(`^session-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-([0-9a-f]{8}\.jsonl?)$`)

// spareSessions renames the session files of Gemini CLI. Before it (0.61.0) looks up the session
// to load, it creates a new file for it; within the minute in which the session began, that is the
// session's own file, which would then be empty. It finds sessions by the files' content, not by
// name. The agent can write to home, so no link out of it is followed, and no pipe waited for; a
// file that cannot be renamed stays.
func spareSessions(home string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer root.Close()
	found, err := fs.Glob(unblocked{root}, ".gemini/tmp/*/chats/session-*")
	if err != nil {
		return
	}
	for _, name := range found {
		dir, base := path.Split(name)
		if m := geminiSession.FindStringSubmatch(base); m != nil {
			_ = root.Rename(name, dir+"session-2000-01-01T00-00-"+m[1])
		}
	}
}

// unblocked is a folder of which opening a pipe does not block.
type unblocked struct{ root *os.Root }

func (u unblocked) Open(name string) (fs.File, error) {
	return u.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
