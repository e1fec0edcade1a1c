package acp

import (
	"io/fs"
	"os"
	"path"
	"regexp"
)

// geminiSession is the name of a file with a session of Gemini CLI: the minute in
// which it began, and the beginning of its own name.
var geminiSession = regexp.MustCompile(`^session-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-([0-9a-f]{8}\.jsonl?)$`)

// spareSessions gives sessions of Gemini CLI another name. Before it (0.61.0) looks
// for the session that it is to load, it begins a file for it, which in the minute
// in which that session began is the session's own: it would be empty. It goes by
// what stands in a file, not by its name. The home is the program's to write, so no
// link out of it is followed; what cannot be renamed stays.
func spareSessions(home string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer root.Close()
	found, err := fs.Glob(root.FS(), ".gemini/tmp/*/chats/session-*")
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
