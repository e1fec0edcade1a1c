//go:build peers

package discord

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	fake "tri/lib/chat/discord/discordtest"
)

// library is a process of scripts/peers/discord.js.
type library struct {
	t     *testing.T
	in    io.Writer
	lines chan told
}

// told is one line of its output.
type told struct {
	Kind   string   `json:"kind"`
	ID     string   `json:"id"`
	IDs    []string `json:"ids"`
	Text   string   `json:"text"`
	Place  string   `json:"place"`
	Parent string   `json:"parent"`
	Who    string   `json:"who"`
	Reply  string   `json:"reply"`
	Thread bool     `json:"thread"`
	Bot    bool     `json:"bot"`
	Called bool     `json:"called"`
	Edited bool     `json:"edited"`
	Files  []string `json:"files"`
	N      int      `json:"n"`
}

func startLibrary(t *testing.T, s *fake.Server) *library {
	t.Helper()
	script := os.Getenv("TRI_PEER_DISCORD")
	if script == "" {
		t.Fatal("TRI_PEER_DISCORD is not set: run scripts/peers/discord")
	}
	cmd := exec.CommandContext(t.Context(), "node", script, s.HTTP(), fake.Token)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := &library{t: t, in: in, lines: make(chan told, 999)}
	go func() {
		defer close(l.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var x told
			if json.Unmarshal(lines.Bytes(), &x) == nil {
				l.lines <- x
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return l
}

// hears waits for a line of a kind; others are dropped.
func (l *library) hears(kind string) told {
	l.t.Helper()
	for {
		select {
		case x, ok := <-l.lines:
			switch {
			case !ok:
				l.t.Fatalf("%s: the library has ended", kind)
			case x.Kind == kind:
				return x
			case x.Kind == "failed" || x.Kind == "error":
				l.t.Fatalf("waiting for %s: %+v", kind, x)
			}
		case <-time.After(patience):
			l.t.Fatalf("%s never came", kind)
		}
	}
}

// does sends a request and returns the result.
func (l *library) does(ask fake.M) told {
	l.t.Helper()
	b, err := json.Marshal(ask)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.in.Write(append(b, '\n')); err != nil {
		l.t.Fatal(err)
	}
	return l.hears("did")
}

// TestOfficialLibrary: discord.js, an independent client, works with the fake.
func TestOfficialLibrary(t *testing.T) {
	w := newWorld(t)
	s := w.server
	l := startLibrary(t, s)
	if x := l.hears("ready"); x.ID != fake.Bot {
		t.Fatalf("ready as %+v", x)
	}
	root := s.Say(fake.Dev, "ana", "<@"+fake.Bot+"> where?", nil)
	if x := l.hears("message"); x.ID != root || !x.Called || x.Who != "ana" || x.Bot || x.Place != fake.Dev {
		t.Errorf("a mention came as %+v", x)
	}
	file := w.File(fake.Dev, "ana", "log.txt")
	if x := l.hears("message"); x.ID != file || !slices.Equal(x.Files, []string{"log.txt"}) {
		t.Errorf("a file came as %+v", x)
	}
	s.Edit(file, "see this")
	if x := l.hears("edit"); x.ID != file || x.Text != "see this" || !x.Edited {
		t.Errorf("an edit came as %+v", x)
	}

	if x := l.does(fake.M{"do": "thread", "place": fake.Dev, "id": root, "text": "where"}); x.ID != root {
		t.Errorf("a thread was begun as %+v", x)
	}
	first := l.does(fake.M{"do": "post", "place": root, "text": "there", "nonce": "n1"})
	again := l.does(fake.M{"do": "post", "place": root, "text": "there", "nonce": "n1"})
	if first.ID == "" || first.ID != again.ID {
		t.Errorf("one nonce, posted as %s and %s", first.ID, again.ID)
	}
	reply := s.Say(root, "ben", "thanks", nil)
	for {
		if x := l.hears("message"); x.ID == reply {
			if !x.Thread || x.Parent != fake.Dev {
				t.Errorf("a message in a thread came as %+v", x)
			}
			break
		}
	}
	quoted := l.does(fake.M{"do": "post", "place": fake.Dev, "text": "as a reply", "reply": root})
	if x := l.hears("message"); x.ID != quoted.ID || x.Reply != root || !x.Bot {
		t.Errorf("a reply came as %+v", x)
	}
	if x := l.does(fake.M{"do": "edit", "place": fake.Dev, "id": quoted.ID,
		"text": "better"}); x.Text != "better" {
		t.Errorf("edited to %+v", x)
	}
	l.does(fake.M{"do": "react", "place": fake.Dev, "id": root, "text": "👀"})
	if r := s.Reacted(); !slices.Contains(r, "+👀 "+root) {
		t.Errorf("reactions %q", r)
	}
	l.does(fake.M{"do": "typing", "place": root})
	if x := l.does(fake.M{"do": "history", "place": fake.Dev, "after": "1"}); !slices.Equal(x.IDs,
		[]string{root, file, quoted.ID}) {
		t.Errorf("history %q", x.IDs)
	}
	if x := l.does(fake.M{"do": "active", "place": fake.Dev}); !slices.Equal(x.IDs, []string{root}) {
		t.Errorf("active threads %q", x.IDs)
	}
	s.Archive(root)
	if x := l.does(fake.M{"do": "archived", "place": fake.Dev}); !slices.Equal(x.IDs, []string{root}) {
		t.Errorf("archived threads %q", x.IDs)
	}

	card := l.does(fake.M{"do": "card", "place": fake.Dev, "text": "approve?"})
	click := s.Click("ana", card.ID, "approve:1")
	if x := l.hears("click"); x.ID != click || x.Text != "approve:1" || x.Who != "ana" ||
		s.Answered(click) != answerSeen {
		t.Errorf("a click came as %+v, answered with %d", x, s.Answered(click))
	}
	s.Delete(file)
	if x := l.hears("deleted"); x.ID != file {
		t.Errorf("a deletion came as %+v", x)
	}

	// After a cut the library resumes and receives the messages of the meantime.
	s.Cut(false)
	missed := s.Say(fake.Dev, "ana", "missed", nil)
	if x := l.hears("message"); x.ID != missed {
		t.Errorf("after the cut came %+v", x)
	}
	l.hears("resumed")
	if s.Requests("identify") != 1 || s.Requests("resume") < 1 {
		t.Errorf("%d sessions, %d resumed", s.Requests("identify"), s.Requests("resume"))
	}
	s.Cut(true)
	for s.Requests("identify") < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	after := s.Say(fake.Dev, "ana", "a new session", nil)
	if x := l.hears("message"); x.ID != after {
		t.Errorf("in the new session came %+v", x)
	}
}
