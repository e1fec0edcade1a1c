package agenttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/steer"
	"tri/lib/base/durable"
	record "tri/lib/record/run"
)

// deaf hides that an agent takes words, so that the wrapper continues in legs.
type deaf struct{ agent.Agent }

func (d deaf) Capabilities() agent.Capabilities {
	can := agent.CapabilitiesOf(d.Agent)
	can.Steers = ""
	return can
}

// steering is a run that receives messages.
type steering struct {
	*bench
	home *durable.Home
	id   string
}

func newSteering(t *testing.T, s Suite) *steering {
	t.Helper()
	b := newBench(t, s)
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	id := record.ID(record.Investigate, "agenttest", 1, 1)
	b.task.Dir = h.Path("runs/" + id)
	old := b.dir
	b.dir = filepath.Join(b.task.Dir, "home", "bench")
	if err := os.MkdirAll(filepath.Dir(b.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, b.dir); err != nil {
		t.Fatal(err)
	}
	return &steering{b, h, id}
}

func (s *steering) say(kind, text string) {
	w := record.Word{ID: record.WordID("agenttest", text, ""), Kind: kind, By: "asker", Text: text}
	if n, err := record.Tell(s.home, s.id, time.Now(), w); n != 1 || err != nil {
		s.Errorf("say %q: %d, %v", text, n, err)
	}
}

// await waits until the program has made a file.
func (s *steering) await(ctx context.Context, name string) {
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Errorf("the program never made %q", name)
}

// steer runs a script as the program of a wrapped agent.
func (s *steering) steer(ctx context.Context, wrap func(agent.Agent) agent.Agent,
	script string) (agent.Result, error) {
	s.Helper()
	s.write("program", "D='"+s.dir+"'\n"+s.suite.Begin+"\n"+script+"\n")
	inner := s.suite.Make(s.T, []string{"bash", filepath.Join(s.dir, "program")}, s.suite.sandbox)
	a, err := steer.Wrap(wrap(inner), steer.Options{Burst: 100 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	res, err := a.Run(ctx, s.task)
	s.noneLeft()
	return res, err
}

// heard returns what became of the words: how and leg of each.
func (s *steering) heard() string {
	s.Helper()
	all, err := record.Hearing(s.task.Dir)
	if err != nil {
		s.Fatal(err)
	}
	var said []string
	for _, h := range all {
		said = append(said, h.How+string(rune('0'+h.Leg)))
	}
	return strings.Join(said, " ")
}

// steered tests that every agent continues with its messages: in a further leg, after the death of
// its program, and after that of its wrapper.
func steered(t *testing.T, s Suite) {
	legs := func(a agent.Agent) agent.Agent { return deaf{a} }
	const first = `test -e $D/first || { touch $D/first; `
	resumes := agent.CapabilitiesOf(s.Make(t, []string{"true"}, s.sandbox)).Resumes
	for _, tt := range []struct{ name, kind, script, heard string }{
		{"a word", record.Append, `sleep 900; }`, "prompt2"},
		{"a correction", record.Redirect, `trap '' TERM; sleep 900; sleep 900; }`, "prompt2"},
		{"the program dies", record.Append, `until test -e $D/said; do sleep 0.01; done; kill -9 $$; }`,
			"prompt2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newSteering(t, s)
			go func() {
				b.await(t.Context(), "first")
				b.say(tt.kind, "only the \x1b[31mauth service")
				b.write("said", "")
			}()
			res, err := b.steer(t.Context(), legs,
				first+tt.script+`; printf '%s\n' "$@" >$D/args; cat >$D/stdin; cat $D/good`)
			if err != nil || string(res.Value) != good {
				t.Fatalf("%q, %v", res.Value, err)
			}
			if in := b.read("stdin"); !strings.Contains(in, "=== begin word") ||
				!strings.Contains(in, "auth service") || strings.Contains(in, "\x1b") {
				t.Errorf("the second leg is told %q", in)
			}
			if name := b.find(agent.Started).SessionID; resumes && name != "" &&
				!strings.Contains(b.read("args"), name) {
				t.Errorf("session %q continues with the arguments %q", name, b.read("args"))
			}
			if got := b.heard(); got != tt.heard && !(s.Far && strings.HasSuffix(got, "prompt3")) {
				t.Errorf("heard %q, want %s", got, tt.heard)
			}
			b.endsWith(agent.Returned)
		})
	}
	t.Run("no longer wanted", func(t *testing.T) {
		b := newSteering(t, s)
		go func() {
			b.await(t.Context(), "first")
			b.say(record.Stop, "")
		}()
		_, err := b.steer(t.Context(), legs, first+`sleep 900; }; cat $D/good`)
		if agent.FailureKind(err) != agent.Killed {
			t.Errorf("%v", err)
		}
		b.endsWith(agent.Failed)
	})
	t.Run("the wrapper was ended", func(t *testing.T) {
		b := newSteering(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			b.await(ctx, "first")
			cancel()
		}()
		if _, err := b.steer(ctx, legs, first+`sleep 900; }`); err == nil {
			t.Fatal("it came back")
		}
		b.say(record.Append, "only the auth service")
		b.seen = nil
		res, err := b.steer(t.Context(), legs, `cat >$D/stdin; cat $D/good`)
		if err != nil || string(res.Value) != good || !strings.Contains(b.read("stdin"), "auth service") ||
			b.heard() != "prompt2" {
			t.Errorf("%q, %q, %v", res.Value, b.heard(), err)
		}
	})
}
