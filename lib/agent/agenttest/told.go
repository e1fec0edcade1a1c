package agenttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/agent"
	"tri/lib/base/sysexit"
)

// endsWith fails if the last event has another kind, or is not the only one that ends a run.
func (b *bench) endsWith(kind string) {
	b.Helper()
	ends := 0
	for _, e := range b.seen {
		if e.Kind == agent.Returned || e.Kind == agent.Failed {
			ends++
		}
	}
	if ends != 1 || b.seen[len(b.seen)-1].Kind != kind {
		b.Errorf("events %+v: want one end, %q", b.seen, kind)
	}
}

// kinds returns the kinds of the events, without milestones, which a program may emit at will.
func (b *bench) kinds() string {
	var kinds []string
	for _, e := range b.seen {
		if e.Kind != agent.Milestone && (len(kinds) == 0 || kinds[len(kinds)-1] != e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	return strings.Join(kinds, " ")
}

func (b *bench) find(kind string) (e agent.Event) {
	for _, e = range b.seen {
		if e.Kind == kind {
			return e
		}
	}
	b.Errorf("no %q among the events", kind)
	return agent.Event{}
}

// events tests that events come in order, the first with the process id, the last with the usage.
func events(t *testing.T, s Suite) {
	b := newBench(t, s)
	want := "started result"
	if s.Act != nil {
		b.write("act", s.Act("let me \x1b[31mlook", "Read", "retry.go"))
	} else {
		b.write("act", "")
	}
	res, err := b.run(context.Background(), `echo $$ >$D/pid; cat $D/act $D/good`)
	if err != nil {
		t.Fatal(err)
	}
	b.endsWith(agent.Returned)
	if s.Act != nil {
		want = "started thought tool"
		if e := b.find(agent.Thought); e.Text != "let me \x1b[31mlook" {
			t.Errorf("thought %q", e.Text)
		}
		if e := b.find(agent.Tool); e.Tool != "Read" || !strings.Contains(e.Text, "retry.go") {
			t.Errorf("tool %+v", e)
		}
	}
	if got := b.kinds(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "result") {
		t.Errorf("events %q, want %q and so on", got, want)
	}
	if started := b.find(agent.Started); started.PID <= 0 {
		t.Errorf("started with process %d", started.PID)
	}
	last := b.seen[len(b.seen)-1]
	if last.SessionID != res.SessionID || last.Usage == nil || last.Usage.Turns != res.Usage.Turns {
		t.Errorf("last event %+v of %+v", last, res)
	}
}

// usage tests that usage is known or marked unknown, never 0 for unknown.
func usage(t *testing.T, s Suite) {
	b := newBench(t, s)
	res, err := b.run(context.Background(), `test -e $D/told && cat $D/good || cat $D/bad; touch $D/told`)
	if err != nil {
		t.Fatal(err)
	}
	u := res.Usage
	if known := u.InputTokens > 0 && u.OutputTokens > 0 && !u.TokensUnknown; known != s.Tokens ||
		u.TokensUnknown == s.Tokens {
		t.Errorf("usage %+v, want tokens: %v", u, s.Tokens)
	}
	if (u.CostUSD != nil) != s.Cost {
		t.Errorf("cost %v, want one: %v", u.CostUSD, s.Cost)
	}
	if u.Turns < 2 {
		t.Errorf("%d turns of two", u.Turns)
	}
	b = newBench(t, s)
	res, err = b.run(context.Background(), `exit 3`)
	if err == nil || !res.Usage.TokensUnknown || res.Usage.CostUSD != nil {
		t.Errorf("of a program that said nothing: %+v, %v", res.Usage, err)
	}
	if !s.Tokens {
		return
	}
	b = newBench(t, s)
	res, err = b.run(context.Background(), `cat $D/good; exit 3`)
	if err == nil || res.Usage.TokensUnknown || res.Usage.InputTokens == 0 || res.Value != nil {
		t.Errorf("of a run that failed: %+v, value %q, %v", res.Usage, res.Value, err)
	}
}

// resumes tests that a session is resumed, or refused with ErrNoResume.
func resumes(t *testing.T, s Suite) {
	b := newBench(t, s)
	const script = `printf '%s\n' "$@" >$D/args$(ls $D | grep -c args); cat $D/good`
	can := agent.CapabilitiesOf(s.Make(t, []string{"true"}, s.sandbox)).Resumes
	first, err := b.run(context.Background(), script)
	if err != nil {
		t.Fatal(err)
	}
	if can && !strings.Contains(b.read("args0")+b.read("good")+s.Begin, first.SessionID) {
		t.Errorf("session %q is neither given nor named", first.SessionID)
	}
	b.task.Resume, b.task.SessionID, b.task.Prompt = true, first.SessionID, "and now?"
	second, err := b.run(context.Background(), script)
	if !can {
		if !errors.Is(err, agent.ErrNoResume) {
			t.Errorf("it cannot resume: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if second.SessionID != first.SessionID || s.Begin == "" &&
		!strings.Contains(b.read("args1"), first.SessionID) {
		t.Errorf("session %q goes on as %q, arguments %q", first.SessionID, second.SessionID, b.read("args1"))
	}
	for _, hostile := range []string{"--help", "-x", "../../x", "a b", "", "x\ny"} {
		b.task.SessionID = hostile
		if _, err := b.run(context.Background(), script); err == nil {
			t.Errorf("session %q was taken for one", hostile)
		}
	}
}

// words tests that the text is the result if no value is wanted.
func words(t *testing.T, s Suite) {
	b := newBench(t, s)
	b.task.Schema, b.task.Check = nil, nil
	res, err := b.run(context.Background(), `echo x >>$D/calls; cat $D/words`)
	if err != nil || strings.TrimSpace(res.Text) != "I would rather not." || res.Value != nil ||
		b.read("calls") != "x\n" {
		t.Errorf("text %q, value %q, %v", res.Text, res.Value, err)
	}
}

// writes tests that the program is given write permission, by its arguments or its configuration.
func writes(t *testing.T, s Suite) {
	told := func(write bool) string {
		b := newBench(t, s)
		b.task.Write, b.task.Hidden = write, []string{".agents"}
		_, err := b.run(context.Background(),
			`printf '%s\n' "$@" >$D/args; find "$HOME" -path "$D" -prune -o -type f -exec cat {} + >>$D/args; env | grep -v MARK= >>$D/args; cat $D/good`)
		if err != nil {
			t.Fatal(err)
		}
		// The folders differ between tests.
		return strings.NewReplacer(b.dir, "", b.codebase, "", b.task.Dir, "").Replace(b.read("args"))
	}
	if !agent.CapabilitiesOf(s.Make(t, []string{"true"}, s.sandbox)).Writes {
		b := newBench(t, s)
		b.task.Write = true
		if _, err := b.run(context.Background(), `cat $D/good`); err == nil {
			t.Error("it cannot write and was not refused")
		}
		return
	}
	if s.sandbox == walled {
		mayWrite(t, s)
		return // whatever the program was given
	}
	if read, write := told(false), told(true); (read == write) != s.Open {
		t.Errorf("a run that may write is told %q, one that may not %q", write, read)
	}
}

// mayWrite tests that the sandbox enforces the task's write permission.
func mayWrite(t *testing.T, s Suite) {
	for _, write := range []bool{false, true} {
		b := newBench(t, s)
		secret := filepath.Join(b.codebase, ".agents", "plan.md")
		if err := errors.Join(os.Mkdir(filepath.Dir(secret), 0o700),
			os.WriteFile(secret, []byte("do not read"), 0o600)); err != nil {
			t.Fatal(err)
		}
		b.task.Write, b.task.Hidden = write, []string{".agents"}
		if _, err := b.run(context.Background(),
			`touch made; cat .agents/plan.md >$D/seen; cat $D/good`); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(b.codebase, "made")); (err == nil) != write {
			t.Errorf("may write: %v; after it wrote: %v", write, err)
		}
		if seen := b.read("seen"); seen != "" {
			t.Errorf("it saw what is hidden: %q", seen)
		}
	}
}

// refuses tests that the endpoint's status becomes the right exit status and hint.
func refuses(t *testing.T, s Suite) {
	if s.Refuse == nil {
		t.Skip("the program does not tell")
	}
	for _, tt := range []struct {
		http, status int
		hint         bool
	}{{401, sysexit.Config, true}, {429, sysexit.TempFail, false}, {529, sysexit.TempFail, false},
		{400, sysexit.Unavailable, false}} {
		b := newBench(t, s)
		_, err := b.run(context.Background(), s.Refuse(tt.http))
		if status, _ := sysexit.Of(err); status != tt.status || (len(sysexit.Hints(err)) > 0) != tt.hint ||
			agent.FailureKind(err) != agent.ToolError {
			t.Errorf("HTTP %d: status %d, kind %q, hints %q: %v", tt.http, status, agent.FailureKind(err),
				sysexit.Hints(err), err)
		}
		b.endsWith(agent.Failed)
	}
}

// hostile tests that hostile output around a result does not affect it.
func hostile(t *testing.T, s Suite) {
	if s.Plain {
		t.Skip("no line can be passed over")
	}
	for name, script := range map[string]string{
		"broken lines":    `printf '{"type":\nnot json\n[]\nnull\n0\n""\n{}\n{"type":7}\n{"type":{}}\n\n   \n\xff\xfe{\n'; cat $D/good`,
		"control bytes":   `printf '\033]0;owned\007\033[2J\000\r\n'; cat $D/good`,
		"one long line":   `head -c 10000000 /dev/zero | tr '\0' '{'; echo; cat $D/good`,
		"a long string":   `printf '{"type":"'; head -c 10000000 /dev/zero | tr '\0' x; echo '"}'; cat $D/good`,
		"no last newline": `printf %s "$(cat $D/good)"`,
		"does not end":    `cat $D/good; sleep 900`,
		"closes its ears": `trap '' TERM; cat $D/good; sleep 900 & sleep 900`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, s)
			res, err := b.run(context.Background(), script)
			if err != nil || string(res.Value) != good {
				t.Errorf("value %q, %v", res.Value, err)
			}
			b.endsWith(agent.Returned)
			for _, e := range b.seen {
				if len(e.Text) > 4<<10 || !utf8.ValidString(e.Text) {
					t.Errorf("an event of %d bytes", len(e.Text))
				}
			}
		})
	}
}
