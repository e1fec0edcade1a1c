package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/record/run"
)

// MaxTask is the maximum length of a task, in bytes.
const MaxTask = 64 << 10

// Request describes a new run.
type Request struct {
	Type, Task string
	Since      string // review: the commit to compare with; "" is HEAD
	Of         string // review: the run whose patch is reviewed
	For        string // the dispatcher's run that asks for it, "" for none
}

// live is a run supervised by this process.
type live struct {
	*Box
	name  string
	meta  *Meta
	right *right
	env   Envelope
	agent agent.Agent
	lock  *durable.Lock
	said  bool // the agent returned something
}

// Start makes a run and waits for its end. The Run holds the result; the error says why the run did not
// succeed. The Run is nil if none was made.
func (b *Box) Start(ctx context.Context, req Request) (*Run, error) {
	l, diff, err := b.born(ctx, req)
	if err != nil {
		return nil, err
	}
	if l.right.write {
		b.Say("run %s, from commit %.12s: without uncommitted changes", l.name, l.meta.RepoSHAStart)
		b.sayMissing()
	} else {
		b.Say("run %s", l.name)
	}
	err = errors.Join(l.enter(l.name), l.reserve(l.name))
	if err == nil {
		err = l.attempt(ctx, func() error { return l.first(ctx, diff) })
	}
	return l.end(err)
}

// sayMissing reports what the worktree lacks compared with the checkout.
func (b *Box) sayMissing() {
	if _, err := b.root.Lstat(".gitmodules"); err == nil {
		b.Say("submodules are empty there, and changes in one are not in the patch")
	}
	if text, err := durable.ReadFile(b.root, ".gitattributes"); err == nil && bytes.Contains(text, []byte("filter=")) {
		b.Say("files with a filter, such as those of LFS, are there as they are committed")
	}
}

// born creates the run's folder, complete, and holds its lock.
func (b *Box) born(ctx context.Context, req Request) (*live, string, error) {
	r := matrix[req.Type]
	var err error
	if req.Task, err = readTask(req.Task, b.In); err != nil {
		return nil, "", err
	}
	switch {
	case r == nil:
		return nil, "", sysexit.With(sysexit.Usage, fmt.Errorf("no type of run is called %q", req.Type))
	case strings.TrimSpace(req.Task) == "":
		return nil, "", sysexit.With(sysexit.Usage, errors.New("the task is empty"))
	case len(req.Task) > MaxTask:
		return nil, "", sysexit.With(sysexit.Usage,
			fmt.Errorf("the task has more than %d bytes", MaxTask))
	}
	diff, err := b.diffOf(ctx, &req)
	if err != nil {
		return nil, "", err
	}
	l := &live{Box: b, right: r}
	if l.agent, err = b.newAgent(); err != nil {
		return nil, "", err
	}
	if able := agent.CapabilitiesOf(l.agent); r.write && !able.Writes {
		return nil, "", sysexit.Hint(sysexit.With(sysexit.Config,
			fmt.Errorf("agent %q changes no files", agentOf(b.Config).Agent)),
			"name another under `box: agent:`")
	}
	head, err := b.head(ctx, r.write)
	if err != nil {
		return nil, "", err
	}
	l.meta = &Meta{Type: req.Type, Task: strings.ToValidUTF8(req.Task, "\ufffd"), Slug: slug(req.Task),
		RepoSHAStart: head, Since: req.Since, Of: req.Of, For: req.For}
	l.meta.Program, l.meta.Version = proc.Version(agentOf(b.Config).Program())
	return l, diff, b.locked(ctx, "births.lock", l.create)
}

// head returns the checkout's current commit. With needed, a checkout without a commit is an error: a run
// that writes needs one.
func (b *Box) head(ctx context.Context, needed bool) (string, error) {
	repo, err := evidence.OpenRepo(b.Checkout)
	if err != nil {
		return "", err
	}
	id, err := repo.Head(ctx)
	if id == "" && needed {
		return "", sysexit.Hint(sysexit.With(sysexit.NoInput,
			errors.Join(fmt.Errorf("%s: no commit to start from", b.Checkout), err)),
			"it must be a git repository with a commit: a run that changes files works on a copy of it")
	}
	return id, err
}

// create builds the folder under a temporary name and renames it when it is complete: no run ever lacks
// meta.yaml, state.json and a lock. Only one process creates at a time, so other folders with a temporary
// name were left by killed processes.
func (l *live) create() error {
	if err := l.unborn(); err != nil {
		return err
	}
	id := newID()
	for l.begins(id) {
		id = newID()
	}
	now := l.Now()
	l.name = nameOf(now, l.meta.Task, id)
	l.meta.RunName = l.name
	var err error
	if l.env, err = l.envelope(l.meta.Type, l.name, agent.CapabilitiesOf(l.agent)); err != nil {
		return err
	}
	l.meta.Envelope, l.meta.ConfigHash = l.env, l.env.hash(l.meta.Type)
	temp := "runs/.new-" + id
	if l.lock, err = l.home.TryLock(temp + "/lock"); err != nil {
		return err
	}
	s := run.State{Status: run.Active, Owner: run.ProcessOf(os.Getpid()), StartedAt: text.Timestamp(now),
		Starts: 1, ConfigHash: l.meta.ConfigHash}
	err = errors.Join(l.writeMeta(temp, l.meta), s.Save(l.home, temp))
	if err == nil {
		err = l.mark(l.name, running)
	}
	if err == nil {
		err = l.home.Move(temp, "runs/"+l.name)
	}
	if err != nil {
		return errors.Join(err, l.lock.Unlock())
	}
	return nil
}

// unborn removes folders of runs that were never completely created.
func (b *Box) unborn() error {
	entries, err := fs.ReadDir(b.home.Root().FS(), "runs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sysexit.With(sysexit.IO, fmt.Errorf("list runs: %w", err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") {
			if err := b.removeAll("runs/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func treeOf(name string) string { return "trees/" + name }

// folder returns the folder in which the agent works.
func (l *live) folder() string {
	if l.right.write {
		return l.home.Path(treeOf(l.name))
	}
	return l.Checkout
}

// first makes the first attempt at a run.
func (l *live) first(ctx context.Context, diff string) error {
	if l.right.write {
		if err := l.grow(ctx); err != nil {
			return err
		}
	}
	prompt, err := l.prompt(diff)
	if err != nil {
		return err
	}
	return l.work(ctx, agent.Task{Prompt: prompt, SessionID: run.UUID()})
}

// envTest returns the variables of .env.test that the configuration names.
func (l *live) envTest() ([]string, error) {
	if len(l.env.EnvTest) == 0 {
		return nil, nil
	}
	text, err := durable.ReadFile(l.root, ".env.test")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read .env.test: %w", err))
	}
	return parseEnv(string(text), l.env.EnvTest)
}

// prompt returns the agent's first prompt.
func (l *live) prompt(diff string) (string, error) {
	return l.Prompts.Render("box-"+l.meta.Type+".md", l.told(diff))
}

// readTask returns the task, read from standard input if it is "-".
func readTask(task string, in io.Reader) (string, error) {
	if task != "-" {
		return task, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, MaxTask+1))
	if err != nil {
		return "", sysexit.With(sysexit.IO, fmt.Errorf("read task: %w", err))
	}
	return string(text), nil
}
