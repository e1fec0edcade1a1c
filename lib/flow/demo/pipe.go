package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// pipe is one pipeline of the real programs, joined by pipes without a shell. The equivalent shell command
// is shown.
type pipe struct {
	steps [][]string // argument vectors
	into  string     // output file of the last program; "": the output is returned
	ok    []int      // exit statuses besides 0 that are not failures

	what string // on a terminal, what the output file is shown to have so many of
	ends string // ends one of them; "": nothing is shown
	most int    // how many there will be at most; 0: unknown
}

// run shows the pipeline's command, runs it, and returns its output.
func (d *demo) run(ctx context.Context, p pipe) ([]byte, error) {
	d.command(d.shown(d.shell(p)))
	return d.quiet(ctx, p)
}

// shown returns a command with the names that its files will have.
func (d *demo) shown(command string) string {
	if d.final == "" {
		return command
	}
	return strings.ReplaceAll(command, d.Dir, d.final)
}

// tool returns a pipeline of one program.
func tool(args ...string) pipe { return pipe{steps: [][]string{args}} }

// tool shows a program's command, runs it, and returns its output.
func (d *demo) tool(ctx context.Context, args ...string) ([]byte, error) {
	return d.run(ctx, tool(args...))
}

// records runs a program and returns the records that it writes.
func records[T any](ctx context.Context, d *demo, args ...string) ([]T, error) {
	out, err := d.tool(ctx, args...)
	if err != nil {
		return nil, err
	}
	return decode[T](args[0], out)
}

// wait waits until something holds, or fails.
func wait(ctx context.Context, what string, holds func() (bool, error)) error {
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return sysexit.With(sysexit.TempFail, fmt.Errorf("%s: %w", what, context.Cause(ctx)))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// quiet runs the pipeline without showing it.
func (d *demo) quiet(ctx context.Context, p pipe) ([]byte, error) {
	var out bytes.Buffer
	programs := make([]*exec.Cmd, len(p.steps))
	said := make([]bytes.Buffer, len(p.steps))
	for i, step := range p.steps {
		programs[i] = d.program(ctx, step)
		programs[i].Stderr = &said[i]
	}
	programs[len(programs)-1].Stdout = &out
	closers, err := connect(programs, p)
	if err == nil {
		err = start(programs)
	}
	for _, c := range closers {
		c.Close() // the programs have their own copies
	}
	defer d.counts(p)()
	for i, c := range programs {
		err = errors.Join(err, ended(c, p.ok, &said[i]))
	}
	return out.Bytes(), err
}

// program returns one step, ready to start, with only this demo's home in its environment.
func (d *demo) program(ctx context.Context, step []string) *exec.Cmd {
	name := step[0]
	if d.Bin != "" {
		name = filepath.Join(d.Bin, name)
	}
	c := exec.CommandContext(ctx, name, step[1:]...)
	c.WaitDelay = time.Second
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TRI_") })
	c.Env = append(c.Env, "TRI_HOME="+d.home, "TRI_USER="+operator)
	return c
}

// connect joins each program's output to the next one's input, and the ends to the files of p. The caller
// closes opened once the programs run.
func connect(programs []*exec.Cmd, p pipe) (opened []io.Closer, err error) {
	if p.into != "" {
		f, err := os.OpenFile(p.into, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return opened, err
		}
		opened = append(opened, f)
		programs[len(programs)-1].Stdout = f
	}
	for i := range len(programs) - 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return opened, err
		}
		opened = append(opened, r, w)
		programs[i].Stdout, programs[i+1].Stdin = w, r
	}
	return opened, nil
}

func start(programs []*exec.Cmd) error {
	for _, c := range programs {
		if err := c.Start(); err != nil {
			return sysexit.Hint(sysexit.With(sysexit.Unavailable,
				fmt.Errorf("start %s: %w", filepath.Base(c.Path), err)),
				"the demo runs the programs beside tri: build them all with make")
		}
	}
	return nil
}

// ended waits for a program, and returns an error with its standard error if it failed.
func ended(c *exec.Cmd, ok []int, said *bytes.Buffer) error {
	if c.Process == nil {
		return nil // never started
	}
	err := c.Wait()
	exit := new(exec.ExitError)
	if err == nil || errors.As(err, &exit) && slices.Contains(ok, exit.ExitCode()) {
		return nil
	}
	err = fmt.Errorf("%s: %w: %s", filepath.Base(c.Path), err,
		text.Visible(strings.TrimSpace(said.String())))
	for _, row := range sysexit.Table {
		if row.Status == exit.ExitCode() {
			return sysexit.With(row.Status, err)
		}
	}
	return err
}

// shell returns the shell command for p.
func (d *demo) shell(p pipe) string {
	var steps []string
	for _, step := range p.steps {
		steps = append(steps, quoted(step))
	}
	line := strings.Join(steps, " | ")
	if p.into != "" {
		line += " >" + text.Quote(p.into)
	}
	return line
}

// quoted returns an argument vector as a shell's words.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = text.Quote(arg)
	}
	return strings.Join(words, " ")
}
