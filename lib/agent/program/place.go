package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/toolserver"
	"tri/lib/base/sysexit"
)

// environment returns the program's variables: the few that every program needs, those named by
// the configuration, the task's, and the call's.
func (r *running) environment(c Call) []string {
	var ours []string
	named := slices.DeleteFunc(slices.Clone(r.program.Env), func(name string) bool {
		return slices.ContainsFunc(r.program.Models, func(m Model) bool {
			return (m.Key == name || m.Base == name) && slices.ContainsFunc(r.doors, func(d *door) bool {
				return d.Base == m.Base
			})
		})
	})
	for _, d := range r.doors {
		ours = append(ours, d.Key+"="+d.word, d.Base+"="+d.at)
	}
	return proc.Env(named, r.home, slices.Concat(ours, c.Set, r.task.Env)...)
}

// Variable returns the value of a variable that the program may see, "" if it may not.
func (p *Program) Variable(name string) string {
	if !slices.Contains(p.Env, name) {
		return ""
	}
	return os.Getenv(name)
}

// Endpoint returns the host:port of the model: of the first variable that is set and visible to
// the program, else of usual.
func (p *Program) Endpoint(usual string, variables ...string) []string {
	for _, name := range variables {
		if at := agent.Endpoint(p.Variable(name)); at != nil {
			return at
		}
	}
	return agent.Endpoint(usual)
}

// MaxCost returns the cost limit of a run in USD: the smaller of the configuration's and the
// task's. 0 means no limit.
func (p *Program) MaxCost(t Turn) float64 {
	if p.Budget > 0 && t.Task.MaxCostUSD > 0 {
		return min(p.Budget, t.Task.MaxCostUSD)
	}
	return max(p.Budget, t.Task.MaxCostUSD)
}

// Write writes a file below the program's HOME and returns its path.
func (t Turn) Write(name string, data []byte) (string, error) {
	at := filepath.Join(t.Home, name)
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = os.WriteFile(at, data, 0o600)
	}
	if err != nil {
		return "", sysexit.With(sysexit.IO, fmt.Errorf("write its configuration: %w", err))
	}
	return at, nil
}

// Folders creates folders below the program's HOME.
func (t Turn) Folders(names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(t.Home, name), 0o700); err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("make its home: %w", err))
		}
	}
	return nil
}

// unsteered refuses a codebase that contains settings which the program would obey, unless a
// sandbox hides them.
func (r *running) unsteered() error {
	if r.program.Walled() {
		return nil
	}
	for _, name := range r.program.Obeys {
		if _, err := os.Lstat(filepath.Join(r.task.Codebase, name)); err == nil {
			return sysexit.Hint(sysexit.With(sysexit.NoPerm,
				fmt.Errorf("the codebase has %q, from which the program takes settings, and there is no sandbox", name)),
				"take `sandbox: off` out of the configuration, or the file out of the codebase")
		}
	}
	return nil
}

// Walled reports whether the program runs in our sandbox.
func (p *Program) Walled() bool { return p.Sandbox != "off" }

// Login returns the program's login file: the file in Read with the base name of LoginAt, "" if
// there is none.
func (p *Program) Login() string {
	for _, file := range p.Read {
		if p.LoginAt != "" && filepath.Base(file) == filepath.Base(p.LoginAt) {
			return file
		}
	}
	return ""
}

// linkLogin puts a symbolic link to the login file where the program expects it. The file itself
// is not copied into the run's folder, and it is read-only in the sandbox.
func (r *running) linkLogin() error {
	login := r.program.Login()
	if login == "" {
		return nil
	}
	at := filepath.Join(r.home, r.program.LoginAt)
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = os.Symlink(login, at)
	}
	if errors.Is(err, os.ErrExist) {
		return nil // left by an earlier turn
	}
	return err
}

// openGate replaces the task's tool servers with our gate. It opens a gate even if there are no
// servers.
func (r *running) openGate(ctx context.Context) (err error) {
	p, t := r.program, &r.task
	if !p.Servers {
		t.Servers = nil
	}
	at := toolserver.Place{Dir: t.Dir, Sandbox: p.Sandbox, Read: p.Read, Hold: t.Hold}
	if r.gate, err = toolserver.Open(ctx, at, t.Servers); err == nil {
		t.Servers = r.gate.Servers
	}
	return err
}
