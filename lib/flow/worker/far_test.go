package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/remote"
	"tri/lib/base/broker"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// listener is an agent that waits for a word and returns it, with what it found in the codebase.
type listener struct{}

func (listener) Capabilities() agent.Capabilities { return agent.Capabilities{Steers: agent.Next} }

func (listener) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	t.See(agent.Event{Kind: agent.Started, SessionID: t.SessionID, PID: os.Getpid()})
	select {
	case <-ctx.Done():
		return agent.Result{}, ctx.Err()
	case w := <-t.Words:
		t.Hear(w.ID, "now")
		code, err := os.ReadFile(filepath.Join(t.Codebase, "a.txt"))
		value, _ := json.Marshal(map[string]string{"word": w.Text, "code": string(code)})
		if fault := t.Check(value); fault != nil {
			value = []byte(`"` + t.Repair(fault) + `"`)
		}
		t.See(agent.Event{Kind: agent.Returned})
		return agent.Result{Value: value}, err
	}
}

// repository is a git repository with one commit.
func repository(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// hub returns an agent that runs on the hosts, each a worker with the codebase in a folder; "" for one
// that has none.
func hub(t *testing.T, here string, hosts map[string]string) (agent.Agent, agent.Task) {
	t.Helper()
	script, on := "#!/bin/sh\nfor last; do host=$prev prev=$last; done\ncase $host in\n", "ssh"
	for _, host := range []string{"one", "two"} {
		dir, ok := hosts[host]
		if !ok {
			continue
		}
		f := far{Agent: "listener", Home: t.TempDir()}
		if dir != "" {
			f.Codebases = []config.Codebase{{Name: "api", Path: dir}}
		}
		script += host + ") exec env " + f.start(t) + ";;\n"
		on += " " + host
	}
	fakeSSH(t, script+"esac\necho no route to $host >&2; exit 255\n")
	a := remote.New(config.Agent{Agent: "listener", On: on,
		Codebases: []config.Codebase{{Name: "api", Path: here}}}, "off", agent.CapabilitiesOf(listener{}))
	return a, agent.Task{
		Prompt: "what?", Codebase: here, Dir: t.TempDir(), SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10",
		Schema: []byte(`{}`), Check: func([]byte) error { return nil },
	}
}

// TestWord: a word reaches the program on the second host within a second, since the first lacks the
// commit; the code is that of the commit, not that of the folder.
func TestWord(t *testing.T) {
	here := repository(t, "committed")
	there := t.TempDir()
	gitIn(t, there, "clone", "-q", here, "api")
	if err := os.WriteFile(filepath.Join(there, "api", "a.txt"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, task := hub(t, here, map[string]string{"one": repository(t, "other"),
		"two": filepath.Join(there, "api")})
	words := make(chan agent.Word, 1)
	var said time.Time
	var heard, refused string
	task.Words = words
	task.Watch = func(e agent.Event) {
		switch e.Kind {
		case agent.Started:
			said = time.Now()
			words <- agent.Word{ID: "w1", Kind: "append", Text: "only \x1b[31mauth"}
		case agent.Milestone:
			refused += e.Text
		}
	}
	task.Heard = func(id, how string) { heard += id + how }
	res, err := a.Run(t.Context(), task)
	if err != nil || string(res.Value) != `{"code":"committed","word":"only \u001b[31mauth"}` ||
		heard != "w1now" {
		t.Errorf("%s, heard %q, %v", res.Value, heard, err)
	}
	if took := time.Since(said); took > time.Second {
		t.Errorf("a word took %v", took)
	}
	if !strings.Contains(refused, "lacks commit") {
		t.Errorf("the first host refused: %q", refused)
	}
	left, err := filepath.Glob(filepath.Join(there, "api", ".git", "worktrees", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("worktrees left: %q, %v", left, err)
	}
}

// newWorker returns a worker with one codebase, and what makes an order for it.
func newWorker(t *testing.T) (*Worker, func(id string) *remote.Order) {
	t.Helper()
	here := repository(t, "x")
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	commit, err := exec.Command("git", "-C", here, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &Worker{Home: h, Config: &config.Config{Codebases: []config.Codebase{{Name: "api", Path: here}}}},
		func(id string) *remote.Order {
			return &remote.Order{ID: id, Codebase: "api", Commit: strings.TrimSpace(string(commit))}
		}
}

// TestSweep: a job removes what a killed worker left, and nothing of a job that another worker runs.
func TestSweep(t *testing.T) {
	w, order := newWorker(t)
	if _, err := w.prepare(t.Context(), order("running")); err != nil {
		t.Fatal(err)
	}
	here := w.Config.Codebases[0].Path
	gitIn(t, here, "worktree", "add", "-q", w.Home.Path("work/killed/code"))
	at, err := w.prepare(t.Context(), order("next"))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.remove(); err != nil {
		t.Error(err)
	}
	names, err := w.Home.List(folder)
	if err != nil || !slices.Equal(names, []string{"running"}) {
		t.Errorf("left: %q, %v", names, err)
	}
	trees, err := filepath.Glob(filepath.Join(here, ".git", "worktrees", "*"))
	if err != nil || len(trees) != 1 {
		t.Errorf("worktrees left: %q, %v", trees, err)
	}
}

// TestReadOnly: folders that a job's program made read-only, as Go makes its module cache, are removed.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may remove what is in them")
	}
	w, order := newWorker(t)
	cache := func(dir string) {
		t.Helper()
		dir = filepath.Join(dir, "home", "go", "pkg", "mod", "m@v1")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o400),
			os.Chmod(dir, 0o500)); err != nil {
			t.Fatal(err)
		}
	}
	cache(w.Home.Path("work/killed/run"))
	at, err := w.prepare(t.Context(), order("next"))
	if err != nil {
		t.Fatal(err)
	}
	cache(at.dir)
	if err := at.remove(); err != nil {
		t.Error(err)
	}
	if names, err := w.Home.List(folder); err != nil || len(names) > 0 {
		t.Errorf("left: %q, %v", names, err)
	}
}

// TestSlots: jobs that begin at once in the slots of one worker each keep their folder.
func TestSlots(t *testing.T) {
	w, order := newWorker(t)
	var wg sync.WaitGroup
	for slot := range 3 {
		wg.Go(func() {
			for n := range 15 {
				at, err := w.prepare(t.Context(), order(fmt.Sprintf("%d-%d", slot, n)))
				if err != nil {
					t.Errorf("slot %d, job %d: %v", slot, n, err)
					continue
				}
				for _, dir := range []string{at.dir, at.codebase} {
					if _, err := os.Stat(dir); err != nil {
						t.Error(err)
					}
				}
				if err := at.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// talker returns more than the queue takes.
type talker struct{}

func (talker) Run(context.Context, agent.Task) (agent.Result, error) {
	return agent.Result{Text: strings.Repeat("\x01", 1<<20), Usage: draft.Usage{Turns: 7}}, nil
}

// kept is a link that keeps the result.
type kept struct{ result *remote.Result }

func (k *kept) Send(m remote.Message) error {
	if m.Result != nil {
		k.result = m.Result
	}
	return nil
}

func (k *kept) Next() (remote.Message, error) { return remote.Message{}, io.EOF }

// TestLongResult: a result that no message of the queue holds is a failure with its usage, and not a run that
// is tried, and paid, once more.
func TestLongResult(t *testing.T) {
	w, order := newWorker(t)
	w.Config.Investigator.Agent = "talker"
	w.New = func(config.Agent, string) (agent.Agent, error) { return talker{}, nil }
	o, link := order(strings.Repeat("0a", 16)), new(kept)
	o.V, o.Agent, o.Run = remote.Version, "talker", "r"
	if err := w.Do(t.Context(), o, link); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(link.result)
	if fault := link.result.Error.Err(); err != nil || len(b) > broker.MaxMessage || fault == nil ||
		!strings.Contains(fault.Error(), "more than") || link.result.Usage.Turns != 7 {
		t.Errorf("%d bytes, %v, %+v", len(b), fault, link.result.Usage)
	}
}

// TestCancel: an end is there within a second, and the worker leaves nothing.
func TestCancel(t *testing.T) {
	here := repository(t, "x")
	a, task := hub(t, here, map[string]string{"one": here})
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	words := make(chan agent.Word)
	task.Words = words
	task.Watch = func(e agent.Event) {
		if e.Kind == agent.Started {
			at = time.Now()
			cancel()
		}
	}
	_, err := a.Run(ctx, task)
	if !errors.Is(err, context.Canceled) || at.IsZero() || time.Since(at) > time.Second {
		t.Errorf("after %v: %v", time.Since(at), err)
	}
}

// TestWaits: the time that a job waits for a worker is not part of the run's limit.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	fakeSSH(t, `#!/bin/bash
id=$(head -1 | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
read < '`+gate+`'
echo '{"taken":{"worker":"late"}}'
echo '{"result":{"id":"'$id'","value":"Mg==","usage":{},"sha256":"`+sumOf("2")+`"}}'
`)
	const limit = time.Second
	over := time.AfterFunc(2*limit, func() { _ = os.WriteFile(gate, []byte("\n"), 0o600) })
	defer over.Stop()
	ctx, stop := agent.WithLimit(t.Context(), limit)
	defer stop()
	a := remote.New(config.Agent{Agent: "exec", On: "ssh one"}, "off", agent.Capabilities{})
	res, err := a.Run(ctx, agent.Task{Prompt: "?", Codebase: dir, Dir: t.TempDir(), Schema: []byte(`{}`)})
	if err = errors.Join(err, ctx.Err()); err != nil || string(res.Value) != "2" {
		t.Errorf("%s, %v", res.Value, err)
	}
}

// TestNoWorker: a job that no worker begins in time is withdrawn, and its run fails with what to do.
func TestNoWorker(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	fakeSSH(t, "#!/bin/bash\nread order; read word; echo \"$word\" >'"+told+"'\n")
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	a := remote.New(config.Agent{Agent: "exec", On: "ssh one", WaitMin: 0.3 / 60}, "off", agent.Capabilities{})
	_, err := a.Run(ctx, agent.Task{Prompt: "?", Codebase: dir, Dir: t.TempDir(), Schema: []byte(`{}`)})
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable || ctx.Err() != nil ||
		!strings.Contains(err.Error(), "no worker began the run within 300ms") || len(sysexit.Hints(err)) == 0 {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if word, _ := os.ReadFile(told); string(word) != `{"cancel":true}`+"\n" {
		t.Errorf("the queue is told %q", word)
	}
}

// TestLeft: a run whose hub ends and will ask again is left to its worker; one that is no longer wanted, or
// whose worker ends with its connection, is cancelled.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	script := "#!/bin/bash\nread order; echo '{\"taken\":{\"worker\":\"w\"}}'\n" +
		"echo '{\"event\":{\"kind\":\"started\"}}'; read word; echo \"$word\" >'" + told + "'\n"
	fake(t, "tri-nats", script)
	fakeSSH(t, script)
	for _, tt := range []struct {
		on    string
		cause error
		want  string
	}{
		{config.Queue, agent.ErrLater, ""},
		{config.Queue, errors.New("no longer wanted"), `{"cancel":true}`},
		{"ssh one", agent.ErrLater, `{"cancel":true}`},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		a := remote.New(config.Agent{Agent: "exec", On: tt.on}, "off", agent.Capabilities{})
		_, err := a.Run(ctx, agent.Task{Prompt: "?", Codebase: dir, Dir: t.TempDir(), Schema: []byte(`{}`),
			Watch: func(e agent.Event) { cancel(tt.cause) }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s, %v: %v", tt.on, tt.cause, err)
		}
		if word, err := os.ReadFile(told); string(word) != tt.want+"\n" {
			t.Errorf("%s, %v: the worker is told %q, %v", tt.on, tt.cause, word, err)
		}
		_ = os.Remove(told)
	}
}

// TestNobody: where no host can, the error says why each refused, or what ssh said.
func TestNobody(t *testing.T) {
	here := repository(t, "x")
	a, task := hub(t, here, map[string]string{"one": ""})
	_, err := a.Run(t.Context(), task)
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable ||
		!strings.Contains(err.Error(), `no codebase "api"`) {
		t.Errorf("%v", err)
	}
	fakeSSH(t, "#!/bin/sh\necho no route >&2; exit 255\n")
	_, err = a.Run(t.Context(), task)
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable ||
		!strings.Contains(err.Error(), "no route") {
		t.Errorf("%v", err)
	}
}

// TestChanged: a result or a transcript that is not what was sent, and a value that the hub's check
// refuses, are errors.
func TestChanged(t *testing.T) {
	here := repository(t, "x")
	for name, tt := range map[string]struct{ change, want string }{
		"nothing":    {"", ""},
		"value":      {`| sed -u 's/"value":"Mg=="/"value":"Mw=="/'`, "sha256"},
		"transcript": {`| sed -u 's/"data":"aGkK"/"data":"aG8K"/'`, "sha256"},
		"other job":  {`| sed -u 's/"result":{"id":"./"result":{"id":"x/'`, "another job"},
		"no line":    {`| tr -d '\n'`, "without a result"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeSSH(t, `#!/bin/bash
id=$(head -1 | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
{ echo '{"file":{"name":"transcript.ndjson","data":"aGkK"}}'
echo '{"result":{"id":"'$id'","value":"Mg==","usage":{},"sha256":"`+sumOf("2")+
				`","files":[{"name":"transcript.ndjson","bytes":3,"sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}]}}'
} `+tt.change+"\n")
			a := remote.New(config.Agent{Agent: "exec", On: "ssh one"}, "off", agent.Capabilities{})
			task := agent.Task{Prompt: "?", Codebase: here, Dir: t.TempDir(), Schema: []byte(`{}`),
				Check: func([]byte) error { return nil }}
			res, err := a.Run(t.Context(), task)
			if tt.want == "" {
				if err != nil || string(res.Value) != "2" {
					t.Fatalf("%s, %v", res.Value, err)
				}
				task.Check = func([]byte) error { return errors.New("not so") }
				if res, err = a.Run(t.Context(), task); err == nil || res.Value != nil ||
					agent.FailureKind(err) != agent.Abort {
					t.Errorf("a value that does not pass: %s, %v", res.Value, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %v", res.Value, err)
			}
			if left, err := os.ReadDir(task.Dir); err != nil || len(left) > 0 {
				t.Errorf("left in the run's folder: %v, %v", left, err)
			}
		})
	}
}

func sumOf(value string) string { return (&remote.Result{Value: []byte(value)}).Sum() }
