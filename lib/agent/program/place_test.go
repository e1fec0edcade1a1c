package program

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
)

// What an agent leaves in its HOME is not followed when the next turn of the same session is
// prepared: no file of the operator's is changed, and no pipe is waited for.
func TestLeftInHome(t *testing.T) {
	operators := t.TempDir()
	victim, login := filepath.Join(operators, "decisions.ndjson"), filepath.Join(operators, "auth.json")
	const settings, loginAt = ".x/data/settings.json", ".x/login/auth.json"
	pipe := func(at string) error { return syscall.Mkfifo(at, 0o600) }
	link := func(to string) func(string) error {
		return func(at string) error { return os.Symlink(to, at) }
	}
	for name, left := range map[string]struct {
		at   string
		make func(at string) error
	}{
		"a link in the file's place":        {settings, link(victim)},
		"a relative link":                   {settings, link("../../../../operators")},
		"a link to nothing yet":             {settings, link(filepath.Join(operators, "new"))},
		"another name of a file":            {settings, func(at string) error { return os.Link(victim, at) }},
		"a pipe":                            {settings, pipe},
		"a folder":                          {settings, func(at string) error { return os.MkdirAll(at+"/x", 0o700) }},
		"a link in a folder's place":        {".x/data", link(operators)},
		"a pipe there":                      {".x/data", pipe},
		"a link in the outermost's place":   {".x", link(operators)},
		"a link in a made folder's place":   {"tmp", link(operators)},
		"a link in the login's place":       {loginAt, link(victim)},
		"a file there":                      {loginAt, func(at string) error { return os.WriteFile(at, nil, 0o600) }},
		"a link in the login's folder's":    {".x/login", link(operators)},
		"a pipe in the place of its folder": {".x/login", pipe},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{victim, login} {
				if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			turns, dir := 0, t.TempDir()
			p := fake(func(s proc.Spec) proc.Exit {
				if turns++; turns > 1 { // as the program reads it
					for file, want := range map[string]string{settings: "ours", loginAt: "kept"} {
						if file == loginAt && turns%2 == 0 { // it is linked once a run
							continue
						}
						text, err := os.ReadFile(filepath.Join(s.Home, file))
						if err != nil || string(text) != want {
							t.Errorf("%s: %q, %v", file, text, err)
						}
					}
				}
				at := filepath.Join(s.Home, left.at)
				if err := errors.Join(os.RemoveAll(at), left.make(at)); err != nil {
					t.Error(err)
				}
				s.Line([]byte(`{"type":"result","subtype":"success","result":"{}"}`))
				return proc.Exit{}
			})
			p.Read, p.LoginAt = []string{login}, loginAt
			task := agent.Task{Dir: dir, SessionID: "s", Schema: json.RawMessage(`{}`),
				Check: func([]byte) error {
					if turns%2 == 1 { // sends the value back
						return errors.New("no")
					}
					return nil
				}}
			for _, task.Resume = range []bool{false, true} {
				done := make(chan error, 1)
				go func() {
					_, err := p.Run(context.Background(), task, func(turn Turn) (Call, error) {
						_, err := turn.Write(settings, []byte("ours"))
						if err = errors.Join(err, turn.Folders("tmp", "tmp/deeper")); err != nil {
							return Call{}, err
						}
						return messages(turn)
					})
					done <- err
				}()
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("it waits")
				}
			}
			if turns != 4 {
				t.Errorf("%d turns", turns)
			}
			for _, file := range []string{victim, login} {
				if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
					t.Errorf("%s: %q, %v", file, text, err)
				}
			}
			if found, err := os.ReadDir(operators); err != nil || len(found) != 2 {
				t.Errorf("the operator's folder has %v, %v", found, err)
			}
		})
	}
}
