package git

import (
	"fmt"
	"strings"

	"tri/lib/base/sysexit"
)

// Patch is a parsed and checked patch.
type Patch struct {
	Changes []Change  `json:"changes"`
	Refused []Finding `json:"refused"` // why it is not applied; a file may have several
	Notes   []Finding `json:"notes"`   // what a person should check first
	bytes   []byte
}

// Rules are permissions beyond the safe defaults.
type Rules struct {
	Exec bool // files may become executable (+x)
}

// Check parses a patch and reports, file by file, what it does and what is refused. An error means
// that the patch is not in the format of git diff --binary.
func Check(patch []byte, allow Rules) (*Patch, error) {
	if len(patch) > MaxPatch {
		return nil, sysexit.Errorf(sysexit.Data, "patch: %d bytes, over %d", len(patch), MaxPatch)
	}
	changes, err := parse(patch)
	if err != nil {
		return nil, err
	}
	p := &Patch{Changes: changes, bytes: patch}
	touched, folded := map[string]bool{}, map[string]string{}
	for _, c := range changes {
		p.path(c)
		p.modes(c, allow)
		for _, name := range c.names() {
			if touched[name] {
				p.refuse(name, "occurs in the patch twice")
			}
			touched[name] = true
		}
		if other, ok := folded[plainPath(c.Path)]; ok && other != c.Path && c.Kind != Deleted {
			p.note(c.Path, "differs from "+other+" only in ways that some file systems ignore")
		}
		folded[plainPath(c.Path)] = c.Path
	}
	return p, nil
}

// Err returns nil if nothing was refused.
func (p *Patch) Err() error {
	if len(p.Refused) == 0 {
		return nil
	}
	err := fmt.Errorf("patch refused: %q: %s", p.Refused[0].Path, p.Refused[0].Reason)
	if n := len(p.Refused) - 1; n > 0 {
		err = fmt.Errorf("%w, and %d more", err, n)
	}
	return sysexit.With(sysexit.NoPerm, err)
}

// Stat returns how many lines the patch adds and removes.
func (p *Patch) Stat() (added, removed int) {
	for _, c := range p.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	return added, removed
}

func (p *Patch) refuse(path, reason string) { p.Refused = append(p.Refused, Finding{path, reason}) }
func (p *Patch) note(path, reason string)   { p.Notes = append(p.Notes, Finding{path, reason}) }

// names returns the files that a change writes or removes.
func (c Change) names() []string {
	if c.Kind == Renamed {
		return []string{c.From, c.Path}
	}
	return []string{c.Path}
}

func (p *Patch) path(c Change) {
	for _, name := range []string{c.Path, c.From} {
		if name == "" && c.From == "" {
			continue
		}
		if bad := badPath(name); bad != "" {
			p.refuse(name, bad)
		} else if what := instructive(name); what != "" {
			p.note(name, what)
		}
	}
	if c.Binary && c.Kind != Deleted {
		p.note(c.Path, "not text: the diff cannot show what it is")
	}
}

func (p *Patch) modes(c Change, allow Rules) {
	for _, mode := range []string{c.OldMode, c.NewMode} {
		switch mode {
		case "", modeFile, modeExec:
		case modeLink:
			p.refuse(c.Path, "symbolic link")
			return
		case modeRepo:
			p.refuse(c.Path, "submodule")
			return
		default:
			p.refuse(c.Path, "mode "+mode)
			return
		}
	}
	switch {
	case c.NewMode == modeExec && c.OldMode != modeExec:
		if allow.Exec {
			p.note(c.Path, "becomes a program (+x)")
		} else {
			p.refuse(c.Path, "becomes a program (+x)")
		}
	case c.OldMode == modeExec && c.NewMode == modeFile:
		p.note(c.Path, "is no longer a program (-x)")
	}
}

func plainPath(path string) string {
	names := strings.Split(path, "/")
	for i, n := range names {
		names[i] = plainName(n)
	}
	return strings.Join(names, "/")
}
