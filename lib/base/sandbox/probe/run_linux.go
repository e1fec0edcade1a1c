package probe

import (
	"bufio"
	"bytes"
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
	"time"

	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
)

// all returns every probe.
func all() []Probe {
	return slices.Concat(unseen(), memories(), writes(), system(), network(), others(), rights(),
		kernel(), bounds())
}

// walls are the walls removed, by column; in the last, all.
var walls = []sandbox.Walls{{}, {Landlock: true, Syscalls: true}, {Bubblewrap: true}, {}}

// Run tries every probe in every column. program, which is tri-sandbox, makes the attempts. An
// error means that the probes could not be run.
func Run(ctx context.Context, program string) (Outcome, error) {
	all := all()
	rows := make([]Row, len(all))
	for i, p := range all {
		rows[i] = Row{Name: p.Name, Anybody: p.Anybody}
	}
	o := Outcome{Rows: rows}
	for column := range columns {
		t := &trial{ctx: ctx, program: program, bare: column == len(columns)-1, without: walls[column],
			said: map[string]result{}}
		if err := t.run(all); err != nil {
			return o, fmt.Errorf("probe %s: %w", columns[column], err)
		}
		if column == 0 {
			o.Limits = t.limits
		}
		for i, p := range all {
			r, tried := t.said[p.Name]
			if !tried {
				o.Skipped++
			}
			rows[i].Through, rows[i].Said = append(rows[i].Through, r.Through), append(rows[i].Said, r.Said)
		}
	}
	return o, nil
}

// result is the report of one probe.
type result struct {
	Name    string
	Through bool
	Said    string
}

// trial is all probes against one set of walls.
type trial struct {
	ctx     context.Context
	program string
	bare    bool
	without sandbox.Walls
	stage   *Stage
	said    map[string]result
	limits  string
}

func (t *trial) run(all []Probe) error {
	root, err := os.MkdirTemp(base(), "tri-probe-")
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if t.stage, err = newStage(root); err != nil {
		return sysexit.Errorf(sysexit.IO, "lay out what to probe: %w", err)
	}
	defer t.stage.Close()
	var reading, writing []string
	for _, p := range all {
		switch {
		case p.Alone:
		case p.Write:
			writing = append(writing, p.Name)
		default:
			reading = append(reading, p.Name)
		}
	}
	if err := errors.Join(t.box(false, reading), t.box(true, writing)); err != nil {
		return err
	}
	for _, p := range all {
		if p.Alone {
			if err := t.box(false, []string{p.Name}); err != nil {
				return err
			}
		}
		r, tried := t.said[p.Name]
		if tried && r.Through && p.seen != nil && !p.seen(t.stage) {
			r.Through, r.Said = false, "nothing of it is to be seen"
			t.said[p.Name] = r
		}
	}
	return nil
}

// base returns the folder for the stage. It is not /tmp, since Landlock lets a program use its
// /tmp, and only bubblewrap gives it one of its own.
func base() string {
	if f, err := os.CreateTemp("/var/tmp", "tri-probe-"); err == nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name())) // it was empty
		return "/var/tmp"
	}
	return os.TempDir()
}

// box tries some probes in one sandbox. A single one is the sandbox's program itself, and reports
// by its exit status.
func (t *trial) box(write bool, names []string) error {
	env, err := t.stage.variable()
	if err != nil {
		return err
	}
	prompt := filepath.Join(t.stage.Root, "prompt")
	if err := os.WriteFile(prompt, nil, 0o600); err != nil {
		return err
	}
	in, err := os.Open(prompt)
	if err != nil {
		return err
	}
	defer in.Close()
	var out, said bytes.Buffer
	spec := sandbox.Spec{
		Argv: append([]string{t.program, Arg}, names...), Dir: t.stage.Repo, Write: write,
		Hidden: []string{".agents"}, Home: t.stage.Home,
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.stage.Home, env},
		Reach:  []string{"allowed.example:443"},
		Memory: t.stage.Memory, Processes: t.stage.Forks, Without: t.without,
	}
	var status int
	if t.bare {
		status, err = runBare(t.ctx, spec, in, &out, &said)
	} else {
		var report sandbox.Report
		status, report, err = sandbox.Run(t.ctx, spec, in, &out, &said)
		t.limits = report.Limits
	}
	if err != nil {
		return err
	}
	if len(names) == 1 {
		t.said[names[0]] = result{names[0], status == 0, strings.TrimSpace(out.String())}
		return nil
	}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			t.said[r.Name] = r
		}
	}
	if status != 0 {
		return fmt.Errorf("the program that tries ended with status %d: %q", status, said.String())
	}
	return nil
}

func runBare(ctx context.Context, s sandbox.Spec, in io.Reader, out, errw io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, in, out, errw
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Try is the program that tries: it runs a single probe itself, several each in a process of its
// own, and prints a line for each.
func Try(ctx context.Context, names []string, out io.Writer) error {
	s, err := readStage()
	if err != nil {
		return sysexit.With(sysexit.Usage, err)
	}
	all := all()
	if len(names) == 1 {
		i := slices.IndexFunc(all, func(p Probe) bool { return p.Name == names[0] })
		if i < 0 {
			return sysexit.Errorf(sysexit.Usage, "no probe is called %q", names[0])
		}
		if err := all[i].try(s); err != nil {
			_, told := fmt.Fprintln(out, err)
			return errors.Join(sysexit.Errorf(sysexit.No, ""), told)
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for _, name := range names {
		if err := lines.Encode(tryOne(ctx, self, name)); err != nil {
			return err
		}
	}
	return nil
}

func tryOne(ctx context.Context, self, name string) result {
	ctx, cancel := context.WithTimeout(ctx, 3*patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, Arg, name)
	cmd.Stdin = os.Stdin
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	return result{name, err == nil, strings.TrimSpace(string(said))}
}
