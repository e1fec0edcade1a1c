// Package box runs agents on a checkout, each with a folder under .agents/: some read
// only, some in a git worktree whose patch a person merges.
//
//	.agents/
//	    .gitignore         "*": nothing here is git's business
//	    INDEX.md           for people, the newest run first
//	    INDEX.jsonl        for programs, appended to at every change of a status
//	    latest             -> runs/<run>, the one that was started last
//	    pointers/last-fail -> ../runs/<run>
//	    runs/<run>/        meta.yaml state.json report.md plan.md changes.patch patches/ raw/ lock
//	    trees/<run>/       the worktree of a run that writes
//
// state.json belongs to the process that holds the run's lock, and to no other.
// A run is ACTIVE as long as somebody holds it; whoever comes along next and finds
// the lock free and the status ACTIVE writes down that it CRASHED (Sweep).
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
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Folder is what the box is called in the checkout.
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

// Box is the box of one checkout. It is safe for use by several processes at once.
type Box struct {
	Checkout string // absolute
	Config   *config.Config
	Prompts  *prompt.Set
	// New makes an agent, when one is needed.
	New func(cfg config.Agent, sandbox string) (agent.Agent, error)
	Now func() time.Time

	// Pays is the home whose budget pays; nil: nobody counts.
	Pays *Payer

	// Of the person who calls.
	In            io.Reader
	Out, Err      io.Writer
	Say           func(format string, args ...any) // a sentence
	JSON, Verbose bool
	// Existing refuses a checkout that no run has been made in.
	Existing bool

	watch func(e agent.Event)
	swept map[string]bool // runs whose end was written down, and said, by us

	home *durable.Home // .agents
	root *os.Root      // the checkout
}

// Open opens the box of the checkout that dir lies in, makes it if it is not there,
// and looks after the runs in it (Sweep).
func Open(ctx context.Context, dir string, b Box) (*Box, error) {
	checkout, err := checkoutOf(dir)
	if err != nil {
		return nil, err
	}
	b.Checkout, b.swept = checkout, map[string]bool{}
	folder := filepath.Join(checkout, Folder)
	// A repository can bring a link of that name, which leads anywhere.
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		return nil, sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("open %q: not a folder", folder)), "see where it leads, and remove it: what runs leave behind is kept there")
	}
	if _, err := os.Lstat(folder); b.Existing && errors.Is(err, os.ErrNotExist) {
		return nil, sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("no run has been made in %s", checkout)), "tri-box scout 'a question' makes one; --dir names another checkout")
	}
	if b.home, err = durable.Open(folder); err != nil {
		return nil, err
	}
	if b.root, err = os.OpenRoot(checkout); err != nil {
		return nil, sysexit.With(sysexit.IO, errors.Join(fmt.Errorf("open checkout: %w", err), b.home.Close()))
	}
	if err = errors.Join(b.ignore(), b.Sweep(ctx)); b.Existing && isFull(err) {
		b.Say("%v", err) // what there is can be shown, and gc makes room
		err = nil
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &b, nil
}

// Close closes the box.
func (b *Box) Close() error { return errors.Join(b.home.Close(), b.root.Close()) }

// ignore has git see nothing of the box, whatever the user's own lists say.
func (b *Box) ignore() error {
	if b.home.Exists(".gitignore") {
		return nil
	}
	return b.home.Replace(".gitignore", []byte("*\n"))
}

// checkoutOf is the folder with .git that dir is or lies in; dir where there is
// none.
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
		err := sysexit.With(sysexit.NoInput, fmt.Errorf("open checkout %q: a bare repository, which has no files", dir))
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

// isBare reports whether a folder is a repository itself, not the checkout of one.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return filepath.Base(dir) != ".git"
}

// isFull reports whether there is no room on the disk.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// isRepo reports whether the checkout is one of git.
func (b *Box) isRepo() bool {
	_, err := b.root.Lstat(".git")
	return err == nil
}

// locked does work while no other process holds the lock of that name. It waits
// for it, but not for ever: what is done under these locks takes milliseconds.
func (b *Box) locked(ctx context.Context, name string, work func() error) error {
	lock, err := run.Lock(ctx, b.home, name, lockPatience)
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Unlock())
}

const lockPatience = 30 * time.Second

// removeAll takes a folder of the box away. One that is not there is no error.
func (b *Box) removeAll(name string) error {
	if err := b.home.Root().RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sysexit.With(sysexit.IO, fmt.Errorf("remove %q: %w", name, err))
	}
	return nil
}
