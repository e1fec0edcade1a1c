// Package prompt renders the prompts of agents from templates, and fences chat text so
// that no text can close the fence.
package prompt

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/template"

	"tri/lib/base/sysexit"
)

// Limits, in bytes. Longer text is cut, and the cut is noted.
const (
	MaxText     = 96 << 10  // of one fenced text; the largest return fits
	MaxTemplate = 64 << 10  // of one template file
	MaxPrompt   = 256 << 10 // of a rendered prompt
)

//go:embed templates/*.md
var builtin embed.FS

// Set is the set of templates in use. It is safe for concurrent use.
type Set struct{ t *template.Template }

// Load returns the built-in templates. A file in dir replaces the built-in one of the same name
// ("investigate.md"); other *.md files there are added, so that a new question type can have its
// own rubric. If dir is "" or missing, only the built-in ones are used.
//
// Templates use Go's text/template, with these additional functions:
//
//	fence LABEL TEXT   the text in a fence (see Fence)
//	cut N TEXT         at most N bytes of a text
func Load(dir string) (*Set, error) {
	t := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"fence": func(label string, text any) string { return fenced(label, text) },
		"cut":   func(n int, text string) string { return Cut(text, n) },
	})
	sub, err := fs.Sub(builtin, "templates")
	if err != nil {
		return nil, err
	}
	if err := parse(t, sub, "built-in templates"); err != nil {
		return nil, err
	}
	if dir == "" {
		return &Set{t}, nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Set{t}, nil
	}
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Config, "open prompts %q: %w", dir, err)
	}
	defer root.Close()
	return &Set{t}, parse(t, root.FS(), dir)
}

func parse(t *template.Template, dir fs.FS, where string) error {
	names, err := fs.Glob(dir, "*.md")
	if err != nil {
		return fmt.Errorf("list prompts %q: %w", where, err)
	}
	for _, name := range names {
		text, err := readTemplate(dir, name)
		if err == nil {
			_, err = t.New(name).Parse(text)
		}
		if err != nil {
			return sysexit.Errorf(sysexit.Config, "read prompt %q in %q: %w", name, where, err)
		}
	}
	return nil
}

func readTemplate(dir fs.FS, name string) (string, error) {
	f, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxTemplate+1))
	if err != nil {
		return "", err
	}
	if len(b) > MaxTemplate {
		return "", fmt.Errorf("larger than %d bytes", MaxTemplate)
	}
	return string(b), nil
}

// Render executes the template called name, such as "investigate.md".
func (s *Set) Render(name string, data any) (string, error) {
	var b limited
	if err := s.t.ExecuteTemplate(&b, name, data); err != nil {
		return "", sysexit.Errorf(sysexit.Config, "render prompt %q: %w", name, err)
	}
	return b.String(), nil
}

// Repair returns what an agent is to do about a value with a fault.
func (s *Set) Repair(fault error) string {
	text, err := s.Render("repair.md", map[string]any{"Faults": Quote("faults", fault.Error())})
	if err != nil {
		return fault.Error() // a broken overridden template must not cost the round
	}
	return text
}

// Rubric returns the rubric of a question type, that of "other" if the type has none of its own.
func (s *Set) Rubric(questionType string) (string, error) {
	name := "rubric-" + questionType + ".md"
	if s.t.Lookup(name) == nil {
		name = "rubric-other.md"
	}
	text, err := s.Render(name, nil)
	return strings.TrimSpace(text), err
}

// limited refuses to grow beyond MaxPrompt.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > MaxPrompt {
		return 0, fmt.Errorf("more than %d bytes", MaxPrompt)
	}
	return l.Builder.Write(p)
}
