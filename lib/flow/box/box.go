// Package box runs agents on a checkout, each with a folder under .agents/: some read only, some in a git
// worktree whose patch a person merges.
//
//	.agents/
//	    .gitignore         "*": git ignores the whole folder
//	    INDEX.md           for people, newest run first
//	    INDEX.jsonl        for programs: one line appended at every change of status
//	    latest             -> runs/<run>, the run started last
//	    pointers/last-fail -> ../runs/<run>
//	    runs/<run>/        meta.yaml state.json report.md plan.md changes.patch patches/ raw/ lock
//	    trees/<run>/       the worktree of a run that writes
//
// Only the process that holds a run's lock writes its state.json. A run is ACTIVE while its lock is held.
// A later call that finds the lock free and the status ACTIVE records that the run CRASHED (Sweep).
package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/git"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Folder is the name of the box's folder in the checkout.
const Folder = ".agents"

// Types of run.
const (
	Scout     = "scout"
	Plan      = "plan"
	Fix       = "fix"
	Review    = "review"
	Benchmark = "benchmark"
	Ops       = "ops"
)

// Box is the box of one checkout. Several processes may use it at once.
type Box struct {
	Checkout string // absolute
	Config   *config.Config
	Prompts  *prompt.Set
	// New makes an agent, when one is needed.
	New func(cfg config.Agent, sandbox string) (agent.Agent, error)
	Now func() time.Time

	// Told is the folder of a run whose words (words.ndjson) reach the agent; "": the run's own, of which the
	// operator is the writer.
	Told string

	// Pays is the home whose budget pays for runs. If it is nil, cost is not counted.
	Pays *Payer

	// The streams of the caller.
	In            io.Reader
	Out, Err      io.Writer
	Say           func(format string, args ...any) // a sentence
	JSON, Verbose bool
	// Existing makes Open refuse a checkout in which no run has been made.
	Existing bool

	watch func(e agent.Event)
	swept map[string]bool // runs whose end this process recorded and reported

	home *durable.Home // .agents
	root *os.Root      // the checkout
}

// Open opens the box of the checkout that contains dir, creates it if it does not exist, and sweeps its
// runs (Sweep).
func Open(ctx context.Context, dir string, b Box) (*Box, error) {
	checkout, err := checkoutOf(dir)
	if err != nil {
		return nil, err
	}
	b.Checkout, b.swept = checkout, map[string]bool{}
	folder := filepath.Join(checkout, Folder)
	// A repository can contain a link of that name, which may lead anywhere.
	info, err := os.Lstat(folder)
	if err == nil && !info.IsDir() {
		return nil, sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("open %q: not a folder", folder)),
			"see where it leads, and remove it: runs are stored there")
	}
	if err == nil {
		if err := own(ctx, checkout); err != nil {
			return nil, err
		}
	}
	if b.Existing && errors.Is(err, os.ErrNotExist) {
		return nil, sysexit.Hint(sysexit.With(sysexit.NoInput,
			fmt.Errorf("no run has been made in %s", checkout)),
			"tri-box scout 'a question' makes one; --dir names another checkout")
	}
	if b.home, err = durable.Open(folder); err != nil {
		return nil, err
	}
	if b.root, err = os.OpenRoot(checkout); err != nil {
		return nil, sysexit.With(sysexit.IO,
			errors.Join(fmt.Errorf("open checkout: %w", err), b.home.Close()))
	}
	if err = errors.Join(b.ignore(), b.Sweep(ctx)); b.Existing && isFull(err) {
		b.Say("%v", err) // existing runs can still be shown, and gc makes room
		err = nil
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &b, nil
}

// Close closes the box.
func (b *Box) Close() error { return errors.Join(b.home.Close(), b.root.Close()) }

// ignore makes git ignore the box, whatever the user's own ignore lists say.
func (b *Box) ignore() error {
	if b.home.Exists(".gitignore") {
		return nil
	}
	return b.home.Replace(".gitignore", []byte("*\n"))
}

// checkoutOf returns the nearest folder with .git at or above dir, or dir itself if there is none.
func checkoutOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", sysexit.With(sysexit.NoInput, fmt.Errorf("open checkout: %w", err))
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", sysexit.With(sysexit.NoInput, fmt.Errorf("open checkout %q: not a folder", dir))
	}
	if isBare(abs) {
		err := sysexit.With(sysexit.NoInput,
			fmt.Errorf("open checkout %q: a bare repository, which has no files", dir))
		return "", sysexit.Hint(err, "git clone makes a checkout of it")
	}
	for up := abs; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return up, nil
		}
		if up == filepath.Dir(up) {
			return abs, nil
		}
	}
}

// isBare reports whether a folder is a bare repository.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return filepath.Base(dir) != ".git"
}

// own refuses runs that the repository brings: its author could have written any patch and state, and
// merge would apply them as those of a run.
func own(ctx context.Context, checkout string) error {
	if _, err := os.Lstat(filepath.Join(checkout, ".git")); err != nil {
		return nil
	}
	repo, err := git.Open(ctx, checkout, "")
	if err != nil {
		return err
	}
	file, err := repo.Tracked(ctx, Folder)
	if file == "" || err != nil {
		return err
	}
	return sysexit.Hint(sysexit.With(sysexit.NoPerm,
		fmt.Errorf("open %q: the repository contains %q, and runs may not come from a repository",
			filepath.Join(checkout, Folder), file)),
		"git rm -r --cached "+Folder+" if the runs are your own; else delete the folder too")
}

// isFull reports whether err means that the disk or quota is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// isRepo reports whether the checkout is a git checkout.
func (b *Box) isRepo() bool {
	_, err := b.root.Lstat(".git")
	return err == nil
}

// locked runs work while holding the named lock. It waits up to lockPatience: work under these locks takes
// milliseconds.
func (b *Box) locked(ctx context.Context, name string, work func() error) error {
	lock, err := run.Lock(ctx, b.home, name, lockPatience)
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Unlock())
}

const lockPatience = 30 * time.Second

// removeAll removes a folder of the box. A missing folder is not an error.
func (b *Box) removeAll(name string) error {
	if err := durable.RemoveAll(b.home.Root(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sysexit.With(sysexit.IO, fmt.Errorf("remove %q: %w", name, err))
	}
	return nil
}
