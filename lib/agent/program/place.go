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

// environment is what the program sees: the few variables that all need, those
// that the configuration names, the task's, and the call's own.
func (r *running) environment(c Call) []string {
	var ours []string
	named := slices.DeleteFunc(slices.Clone(r.program.Env), func(name string) bool {
		return slices.ContainsFunc(r.program.Models, func(m Model) bool {
			return (m.Key == name || m.Base == name) && slices.ContainsFunc(r.doors, func(d *door) bool { return d.Base == m.Base })
		})
	})
	for _, d := range r.doors {
		ours = append(ours, d.Key+"="+d.word, d.Base+"="+d.at)
	}
	return proc.Env(named, r.home, slices.Concat(ours, c.Set, r.task.Env)...)
}

// Variable is the value of a variable that the program may see, "" where it may
// not.
func (p *Program) Variable(name string) string {
	if !slices.Contains(p.Env, name) {
		return ""
	}
	return os.Getenv(name)
}

// Endpoint is where the model is: the address in the first of the variables that
// is set and that the program may see, or usual.
func (p *Program) Endpoint(usual string, variables ...string) []string {
	for _, name := range variables {
		if at := agent.Endpoint(p.Variable(name)); at != nil {
			return at
		}
	}
	return agent.Endpoint(usual)
}

// MaxCost is what a run may cost, in USD, 0 where nobody says: the smaller of what
// the configuration and the task allow.
func (p *Program) MaxCost(t Turn) float64 {
	if p.Budget > 0 && t.Task.MaxCostUSD > 0 {
		return min(p.Budget, t.Task.MaxCostUSD)
	}
	return max(p.Budget, t.Task.MaxCostUSD)
}

// Write writes a file that the program reads, below its HOME, and says where it is.
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

// Folders makes folders below the program's HOME.
func (t Turn) Folders(names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(t.Home, name), 0o700); err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("make its home: %w", err))
		}
	}
	return nil
}

// unsteered refuses a codebase whose settings the program would obey, if no walls
// hide them.
func (r *running) unsteered() error {
	if r.program.Walled() {
		return nil
	}
	for _, name := range r.program.Obeys {
		if _, err := os.Lstat(filepath.Join(r.task.Codebase, name)); err == nil {
			return sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("the codebase has %q, from which the program takes settings, and there is no sandbox", name)),
				"take `sandbox: off` out of the configuration, or the file out of the codebase")
		}
	}
	return nil
}

// Walled reports whether the program runs within a sandbox of ours.
func (p *Program) Walled() bool { return p.Sandbox != "off" }

// Login is the file with a login: that of the files that the program may read
// which is called as LoginAt is. "" is none.
func (p *Program) Login() string {
	for _, file := range p.Read {
		if p.LoginAt != "" && filepath.Base(file) == filepath.Base(p.LoginAt) {
			return file
		}
	}
	return ""
}

// linkLogin puts a link to the login where the program looks for one. The file
// itself stays out of the run's folder, and cannot be written within the sandbox.
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
		return nil // of an earlier turn
	}
	return err
}

// openGate puts ours in the place of the task's tool servers. There is a gate in
// any case, if only one that leads nowhere.
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
