package program

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
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

// Endpoint returns the host:port of the model: of the variable base if it is set and visible to the
// program, else of usual.
func (p *Program) Endpoint(usual, base string) []string {
	if at := agent.Endpoint(p.Variable(base)); at != nil {
		return at
	}
	return agent.Endpoint(usual)
}

// MaxCost returns the cost limit of a run in USD: the smaller of the configuration's and the
// task's. 0 means no limit.
func (t Turn) MaxCost() float64 {
	if t.Budget > 0 && t.Task.MaxCostUSD > 0 {
		return min(t.Budget, t.Task.MaxCostUSD)
	}
	return max(t.Budget, t.Task.MaxCostUSD)
}

// Write writes a file below the program's HOME and returns its path. As with Folders, a link, pipe
// or other file that the agent may have left in the way is removed, and nothing is written through
// it.
func (t Turn) Write(name string, data []byte) (string, error) {
	if err := place(t.Home, name, func(home *os.Root) error {
		f, err := home.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}); err != nil {
		return "", sysexit.Errorf(sysexit.IO, "write its configuration: %w", err)
	}
	return filepath.Join(t.Home, name), nil
}

// WriteJSON writes v as JSON, as Write.
func (t Turn) WriteJSON(name string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", sysexit.With(sysexit.Software, err)
	}
	return t.Write(name, text)
}

// Folders creates folders below the program's HOME. Existing ones keep their content.
func (t Turn) Folders(names ...string) error {
	for _, name := range names {
		if err := place(t.Home, filepath.Join(name, "-"), nil); err != nil {
			return sysexit.Errorf(sysexit.IO, "make its home: %w", err)
		}
	}
	return nil
}

// place removes what is at a path below dir, which the agent could write to, creates the folders
// above it in place of anything else that has their names, and then calls create, if not nil.
func place(dir, name string, create func(home *os.Root) error) error {
	home, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer home.Close()
	for i, c := range name {
		if c != filepath.Separator {
			continue
		}
		info, err := home.Lstat(name[:i])
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = home.Remove(name[:i])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := home.Mkdir(name[:i], 0o700); err != nil {
			return err
		}
	}
	if create == nil {
		return nil
	}
	if err := home.RemoveAll(name); err != nil {
		return err
	}
	return create(home)
}

// unsteered refuses a codebase that contains settings which the program would obey, unless a
// sandbox hides them.
func (r *running) unsteered() error {
	if r.program.Walled() {
		return nil
	}
	for _, name := range r.program.Settings {
		if _, err := os.Lstat(filepath.Join(r.task.Codebase, name)); err == nil {
			return sysexit.Hint(sysexit.Errorf(sysexit.NoPerm,
				"the codebase has %q, from which the program takes settings, and there is no sandbox", name),
				"remove `sandbox: off` from the configuration, or the file from the codebase")
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
	return place(r.home, r.program.LoginAt, func(home *os.Root) error {
		return home.Symlink(login, r.program.LoginAt)
	})
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
