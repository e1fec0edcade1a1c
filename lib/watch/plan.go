package watch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tri/lib/config"
	"tri/lib/sysexit"
)

// Flags are those of the command line that go with some sources only.
type Flags struct {
	Log, NoLog, After, Once, Text, Rejects bool
}

// Plan is what a command line asks for.
type Plan struct {
	Source string   // local, mattermost, export, stdin, file
	Arg    string   // the folder of local, "" for the configuration's; the path of export
	Files  []string // of file
	Log    bool     // keep events in the home
}

// Read makes a plan of the arguments, or says what is wrong with them.
func Read(args []string, f Flags) (Plan, error) {
	if len(args) == 0 {
		return Plan{}, sysexit.Hint(usage("which source? local, mattermost, export, stdin or a file"), "tri-watch -h has an example of each")
	}
	p := Plan{Source: args[0]}
	least, most := 0, 0
	switch args[0] {
	case "local":
		most = 1
	case "export":
		least, most = 1, 1
	case "mattermost", "stdin":
	default:
		p.Source, p.Files = "file", args
		if f.Text {
			return p, usage("--text reads stdin, not files: tri-watch stdin --text <file")
		}
	}
	if rest := args[1:]; p.Source != "file" {
		if len(rest) < least || len(rest) > most {
			return p, usage("%s takes %s", p.Source, map[int]string{0: "no argument", 1: "one argument"}[most])
		}
		if len(rest) > 0 {
			p.Arg = rest[0]
		}
	}
	live := p.Source == "local" || p.Source == "mattermost"
	p.Log = (live || f.Log) && !f.NoLog
	return p, p.check(f)
}

func (p *Plan) check(f Flags) error {
	records := p.Source == "stdin" || p.Source == "file"
	switch {
	case f.Log && f.NoLog:
		return usage("--no-log keeps no log: --log or --home goes not with it")
	case f.After && !p.Log:
		return usage("--after needs a log: what is only printed has no place to go on from")
	case f.Once && p.Source != "local":
		return usage("--once is for local; %s ends by itself or never", p.Source)
	case f.Text && p.Source != "stdin":
		return usage("--text is for stdin")
	case f.Rejects && (!records || f.Text):
		return usage("--rejects is for records of stdin and files")
	}
	return nil
}

func usage(format string, args ...any) error {
	return sysexit.With(sysexit.Usage, fmt.Errorf(format, args...))
}

// Config reads the configuration named path, or that of the home.
func Config(home, path string) (*config.Config, error) {
	if path == "" && home != "" {
		own := filepath.Join(home, "config.yaml")
		if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
			path = own
		} else {
			return config.Default(), nil
		}
	}
	return config.Load(path)
}

// Chats are the ids of a platform's watched chats; none means all.
func Chats(c *config.Config, platform string) []string {
	var ids []string
	for _, chat := range c.WatchedChats {
		if chat.Platform == platform {
			ids = append(ids, chat.ChatID)
		}
	}
	return ids
}

// Terminal is errs where a person waits at it for something that is not shown
// there, else nil.
func Terminal(errs, out io.Writer) io.Writer {
	if isTerminal(errs) && !isTerminal(out) {
		return errs
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
