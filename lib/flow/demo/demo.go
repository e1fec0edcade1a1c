// Package demo runs the whole pipeline on this machine, with the real programs and no key, model or
// network. Its files are kept for inspection.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/examples"
	"tri/lib/base/sysexit"
	"tri/lib/record/thread"
)

// limit bounds the demo without the person's decision. The demo takes seconds on an idle machine; the
// limit ends one that hangs, not one on a loaded machine.
const limit = 15 * time.Minute

// operator is the name of the person who decides in the demo.
const operator = "operator"

// Options configure a demo.
type Options struct {
	Part     string // "": the whole path of a question; turns, inbox, machines: see those files
	Dir      string // kept afterwards; replaced by the next demo; default "demo"
	Codebase string // the code that the questions are about; default "."
	Yes      bool   // approve without asking
	Terminal bool   // Out is a terminal and a person is at In
	Bin      string // folder of the programs; "": use PATH
	In       io.Reader
	Out, Err io.Writer
}

// demo is one run of the demo.
type demo struct {
	Options
	home string // the demo's own TRI_HOME
	// final is where Dir will be once it is whole; "" if that is where it is.
	final string
	// pick is the thread whose draft is decided on; approved is the decision.
	pick     thread.Thread
	approved bool
}

// Run runs the demo. The program exits with the status of its error.
func Run(ctx context.Context, o Options) error {
	switch o.Part {
	case "":
	case "turns":
		return turns(ctx, o)
	case "inbox":
		return inbox(ctx, o)
	case "machines":
		return machines(ctx, o)
	default:
		return sysexit.With(sysexit.Usage,
			fmt.Errorf("demo: %q is not part; there are: turns, inbox, machines", o.Part))
	}
	if o.Dir == "" {
		o.Dir = "demo"
	}
	if o.Codebase == "" {
		o.Codebase = "."
	}
	d := &demo{Options: o}
	if err := d.prepare(); err != nil {
		return err
	}
	used, err := d.show(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.title("That was all of it, in %.1f s.", used.Seconds())
	d.say("Everything is in %s, in files to look at:", d.Dir)
	for _, f := range left {
		d.say("  %-*s  %s", len(d.path(left[0].name)), d.path(f.name), f.is)
	}
	d.say("Go on there yourself:")
	d.command(d.typed("tri-report", "brief"))
	return nil
}

// show runs the parts, and returns the time used, without the person's.
func (d *demo) show(ctx context.Context) (used time.Duration, err error) {
	for _, part := range []func(context.Context) error{d.week, d.ask, d.lie, d.draft, nil, d.post} {
		if part == nil {
			if err := d.decide(ctx); err != nil { // no limit on the person's time
				return used, err
			}
			continue
		}
		started := time.Now()
		limited, stop := context.WithTimeoutCause(ctx, limit-used,
			fmt.Errorf("the demo took more than %s", limit))
		err := part(limited)
		cause, late := context.Cause(limited), errors.Is(limited.Err(), context.DeadlineExceeded)
		stop()
		if err != nil && late {
			return used, sysexit.With(sysexit.TempFail, errors.Join(cause, err))
		}
		if err != nil {
			return used, errors.Join(cause, err)
		}
		used += time.Since(started)
	}
	return used, nil
}

// left lists the files to look at afterwards.
var left = []struct{ name, is string }{
	{"week.ndjson", "the week, classified"},
	{"chat/dev", "the room: questions, and what was posted"},
	{"home/", "$TRI_HOME: events, threads, decisions"},
	{"lie/", "the draft with a false citation, and its verdict"},
}

// tag marks the folder as made by the demo: a later demo may replace it, and a search of the surrounding
// code skips it (bford.info/cachedir).
const tag = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by tri demo; made anew by the next one.\n"

// prepare creates the folder. It replaces an earlier demo's folder and nothing else.
func (d *demo) prepare() error {
	if err := d.folders("week", "chat", "home", "lie"); err != nil {
		return err
	}
	week, err := fs.Sub(examples.Files, "week")
	if err == nil {
		err = os.CopyFS(d.path("week"), week)
	}
	return sysexit.With(sysexit.IO, errors.Join(err, d.configure()))
}

// folders replaces an earlier demo's folder by one with the given folders in it.
func (d *demo) folders(names ...string) error {
	abs, err := filepath.Abs(d.Dir)
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	d.home = filepath.Join(abs, "home")
	if info, err := os.Stat(d.Codebase); err != nil || !info.IsDir() {
		return sysexit.With(sysexit.NoInput, fmt.Errorf("codebase %q: no such folder", d.Codebase))
	}
	if err := d.clear(); err != nil {
		return err
	}
	for _, dir := range names {
		if err := os.MkdirAll(d.path(dir), 0o700); err != nil {
			return sysexit.With(sysexit.IO, err)
		}
	}
	return sysexit.With(sysexit.IO, errors.Join(d.write("CACHEDIR.TAG", tag), d.write(".gitignore", "*\n")))
}

// clear removes an earlier demo, if there is one.
func (d *demo) clear() error {
	err := d.replaceable()
	if entries, _ := os.ReadDir(d.Dir); err == nil && len(entries) > 0 {
		err = sysexit.With(sysexit.IO, os.RemoveAll(d.Dir))
	}
	return err
}

// replaceable returns an error if there is a folder that is not of an earlier demo.
func (d *demo) replaceable() error {
	entries, err := os.ReadDir(d.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if text, err := os.ReadFile(d.path("CACHEDIR.TAG")); err != nil || string(text) != tag {
		return sysexit.Hint(sysexit.With(sysexit.Usage,
			fmt.Errorf("%q is there and is no earlier demo", d.Dir)), "name another folder with --dir")
	}
	return nil
}

// configure writes the demo's config.yaml, as a team would.
func (d *demo) configure() error {
	code, err := filepath.Abs(d.Codebase)
	if err != nil {
		return err
	}
	return d.write("home/config.yaml", strings.Join([]string{
		"# Written by tri demo. tri init writes one for your team.",
		"chat:",
		"  local:",
		"    dir: ../chat # from the folder of this file",
		"codebases:",
		"  - name: code",
		fmt.Sprintf("    path: %q", code),
		"team:",
		"  approvers: [" + operator + "]",
		"gate: {grace_s: 0} # post at once, without time for second thoughts",
		"investigator:",
		"  agent: search # built in: no model, no key, no network",
		"",
	}, "\n"))
}

// path returns the path of a file in the demo's folder.
func (d *demo) path(name string) string { return filepath.Join(d.Dir, filepath.FromSlash(name)) }

func (d *demo) write(name, text string) error {
	return os.WriteFile(d.path(name), []byte(text), 0o600)
}
