package panel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/secret"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/judge/claims"
	"tri/lib/judge/safety"
	"tri/lib/record/persona"
	"tri/lib/record/run"
)

// Keeper shows and changes the personas of a home.
type Keeper struct {
	Home    *durable.Home
	Config  *config.Config
	Secrets *secret.Store
	In      io.Reader
	Out     io.Writer
	JSON    bool
	Say     func(format string, args ...any)
	Now     func() time.Time
}

// find returns the persona that a word names.
func (k *Keeper) find(word string) (*persona.Persona, error) {
	all, err := persona.All(k.Home)
	if err != nil {
		return nil, err
	}
	return persona.Find(all, word)
}

// List writes all personas, a line each.
func (k *Keeper) List() error {
	all, err := persona.All(k.Home)
	if err != nil {
		return err
	}
	if k.JSON {
		return ndjson.Write(k.Out, all...)
	}
	rows := [][]string{{"NAME", "ROLE", "ACTIVE", "LENSES", "MODEL"}}
	for _, p := range all {
		var lenses []string
		for _, l := range p.Lenses {
			lenses = append(lenses, l.Name)
		}
		model := "the validator's"
		if p.Model != nil {
			model = text.Line(cmp.Or(p.Model.Model, p.Model.Agent, p.Model.API), 40)
		}
		rows = append(rows, []string{p.Name, p.Role, map[bool]string{true: "yes", false: "no"}[p.Active],
			strings.Join(lenses, " "), model})
	}
	return term.Columns(k.Out, rows, term.Width(k.Out))
}

// Show writes a persona or, if effective, which agent and model answer for it, and what says so.
func (k *Keeper) Show(word string, effective bool) error {
	p, err := k.find(word)
	if err != nil {
		return err
	}
	if !effective {
		return k.write(p)
	}
	_, src, _, err := persona.Effective(p, k.Config.Validator, k.Secrets, os.Getenv)
	if err != nil {
		return err
	}
	return ndjson.Write(k.Out, src)
}

func (k *Keeper) write(p *persona.Persona) error {
	b, err := persona.Marshal(p)
	if err == nil {
		_, err = k.Out.Write(b)
	}
	return err
}

// New makes an inactive persona without a soul.
func (k *Keeper) New(name, role string) error {
	p := &persona.Persona{ID: run.UUID(), Name: name, Role: role}
	return k.put(p, "made")
}

func (k *Keeper) put(p *persona.Persona, done string) error {
	if err := persona.Put(k.Home, k.Secrets, p, k.Now()); err != nil {
		return err
	}
	k.Say("%s: %s, personas/%s.json", text.Visible(p.Name), done, p.ID)
	return nil
}

// Edit sets whether a persona is active (yes or no) or, with "", replaces it by the JSON on standard input.
func (k *Keeper) Edit(word, active string) error {
	p, err := k.find(word)
	if err != nil {
		return err
	}
	switch {
	case active == "yes" || active == "no":
		p.Active = active == "yes"
		return k.put(p, map[bool]string{true: "active", false: "inactive"}[p.Active])
	case active != "":
		return sysexit.With(sysexit.Usage, fmt.Errorf("active is %q, want yes or no", text.Line(active, 20)))
	case term.Is(k.In):
		return sysexit.Hint(sysexit.With(sysexit.Usage,
			errors.New("edit reads the persona from standard input, and that is a terminal")),
			fmt.Sprintf("tri-panel show %[1]s >p.json, change it, tri-panel edit %[1]s <p.json", text.Quote(word)))
	}
	b, err := io.ReadAll(io.LimitReader(k.In, persona.MaxFile+1))
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read persona: %w", err))
	}
	next, err := persona.Parse(b)
	if err != nil {
		return err
	}
	if next.ID != p.ID {
		return sysexit.With(sysexit.Data,
			fmt.Errorf("edit %s: the id is %s, and was %s", text.Visible(p.Name), next.ID, p.ID))
	}
	return k.put(next, "written")
}

// Import adds a persona that another program, or export, wrote. It is inactive, and what it has that we have
// not is kept and named.
func (k *Keeper) Import(b []byte) error {
	p, err := persona.Import(b, run.UUID, k.Now())
	if err != nil {
		return err
	}
	unused := slices.Sorted(maps.Keys(p.Unused))
	for _, path := range unused {
		if safety.HoldsKey(p.Unused[path]) {
			return sysexit.With(sysexit.Data, fmt.Errorf("import persona: %s: holds a key", text.Line(path, 200)))
		}
	}
	if err := k.put(p, "imported, inactive"); err != nil || len(unused) == 0 {
		return err
	}
	k.Say("kept in unused, without effect: %s", text.Line(strings.Join(unused, ", "), 300))
	return nil
}

// Remove moves a persona to the archive.
func (k *Keeper) Remove(word string) error {
	p, err := k.find(word)
	if err != nil {
		return err
	}
	if err := persona.Remove(k.Home, p, k.Now()); err != nil {
		return err
	}
	k.Say("%s: moved to %s", text.Visible(p.Name), persona.Archive)
	return nil
}

// Compile writes the prompt of the voice or, if brief, that of a judge.
func (k *Keeper) Compile(word, mode string, brief bool) error {
	p, err := k.find(word)
	if err != nil {
		return err
	}
	out := persona.Brief(p, mode)
	if !brief {
		if out, err = persona.Compile(p, persona.Prompt{Mode: mode, Canned: claims.Canned()}); err != nil {
			return err
		}
	}
	_, err = io.WriteString(k.Out, out)
	return err
}

// Key lists the secrets, or sets or removes that of a name, persona.VARIABLE. The value is read from
// standard input, without echo from a terminal.
func (k *Keeper) Key(do, name string) error {
	if do == "list" {
		names, err := k.Secrets.Names()
		if err == nil && len(names) > 0 {
			_, err = fmt.Fprintln(k.Out, strings.Join(names, "\n"))
		}
		return err
	}
	word, variable, found := strings.Cut(name, ".")
	if !found {
		return sysexit.With(sysexit.Usage,
			fmt.Errorf("key %q: want persona.VARIABLE, as in Maya.ANTHROPIC_API_KEY", text.Line(name, 60)))
	}
	p, err := k.find(word)
	if err != nil {
		return err
	}
	if do == "remove" {
		secret := p.SecretName(variable)
		if p.Model == nil || p.Model.Env[variable] == "" {
			return k.Secrets.Remove(secret)
		}
		delete(p.Model.Env, variable)
		if err := k.Secrets.Remove(secret); err != nil && k.Secrets.Has(secret) {
			return err
		}
		return k.put(p, variable+" removed")
	}
	if do != "set" {
		return sysexit.With(sysexit.Usage, fmt.Errorf("key %q: want set, list or remove", text.Line(do, 20)))
	}
	value, err := term.Hidden(k.In, func() { k.Say("value of %s:", text.Visible(name)) })
	if err != nil {
		return err
	}
	if p.Model == nil {
		p.Model = &persona.Model{}
	}
	if p.Model.Env == nil {
		p.Model.Env = map[string]string{}
	}
	p.Model.Env[variable] = value
	return k.put(p, variable+" set")
}
