package continuedev

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
)

var newClient = agenttest.Maker(New, func(c *program.Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:  agenttest.As(newClient),
		Plain: true,
		Begin: `mkdir -p "$HOME/.continue/sessions"; echo '{"sessionId":"79ad2959-6c7f-4472-a818-97a9346f6965","usage":{}}' >"$HOME/.continue/sessions/79ad2959-6c7f-4472-a818-97a9346f6965.json"`,
		Say: func(text string) string {
			if json.Valid([]byte(text)) {
				return text + "\n"
			}
			return `{"response":` + agenttest.Quote(text) +
				`,"status":"success","note":"Response was not valid JSON, so it was wrapped in a JSON object"}` + "\n"
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"status":"error","message":"%d no"}' >&2; exit 1`, status)
		},
	})
}

const kept = `{"sessionId":"79ad2959","usage":{"promptTokens":1000,"completionTokens":50,"totalCost":0.1}}`

// home makes a home with files of sessions.
func home(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, sessions), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, sessions, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The session's name and tokens are in its file; the price there is an estimate.
func TestKept(t *testing.T) {
	s := new(program.Seen)
	dir := home(t, map[string]string{"79ad2959.json": kept, "sessions.json": "[]", "notes.txt": "x"})
	end(program.Turn{Home: dir}, proc.Exit{}, s)
	if u := s.Usage; !s.Told || u.InputTokens != 1000 || u.OutputTokens != 50 || u.CostUSD != nil {
		t.Errorf("%+v", u)
	}
	if err := newest(dir, "79ad2959"); err != nil {
		t.Error(err)
	}
	if err := newest(dir, "other"); !errors.Is(err, agent.ErrNoResume) {
		t.Errorf("a session that is not the newest: %v", err)
	}
}

// The home is the agent's to write: nothing out of it is read, nothing waited for.
func TestHostileHome(t *testing.T) {
	out := filepath.Join(t.TempDir(), "79ad2959.json")
	if err := os.WriteFile(out, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := home(t, nil)
	if err := os.Symlink(out, filepath.Join(linked, sessions, "79ad2959.json")); err != nil {
		t.Fatal(err)
	}
	piped := home(t, nil)
	if err := syscall.Mkfifo(filepath.Join(piped, sessions, "79ad2959.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	moved, closed := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(moved, ".continue"), 0o700),
		os.Mkdir(filepath.Join(closed, ".continue"), 0o700),
		syscall.Mkfifo(filepath.Join(closed, sessions), 0o600),
		os.Symlink(filepath.Dir(out), filepath.Join(moved, sessions))); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"a link": linked, "a pipe": piped, "a folder that is elsewhere": moved,
		"a pipe for a folder": closed,
		"another name":        home(t, map[string]string{"x.json": kept}),
		"no JSON":             home(t, map[string]string{"79ad2959.json": "{"}),
	} {
		s := new(program.Seen)
		end(program.Turn{Home: dir}, proc.Exit{}, s)
		if s.Told {
			t.Errorf("%s was read: %+v", name, s.Usage)
		}
	}
}

func FuzzEnd(f *testing.F) {
	f.Add(`{"response":"x","note":"y"}`, "", kept)
	f.Add(`{"answer":1}`, `{"status":"error","message":"401 no"}`, "{}")
	f.Fuzz(func(t *testing.T, out, stderr, file string) {
		s := new(program.Seen)
		s.Say(out)
		end(program.Turn{Home: home(t, map[string]string{"79ad2959.json": file})},
			proc.Exit{Stderr: stderr}, s)
	})
}
