// Package health checks a home, its configuration and its running programs, and says how
// to fix what is wrong. It changes nothing and takes no lock.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// How a check came out.
const (
	OK   = "ok"
	Warn = "warn" // works, but somebody should know
	Fail = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // what to do about it
}

// Options say what to look at.
type Options struct {
	Dir    string // the home; "" is the default one
	Config string // "" is the home's config.yaml
	Now    func() time.Time
	// Platforms are those to look at, and then at nothing else; none: all.
	Platforms []string
}

// patient is how long a program or a server may take to answer.
const patient = 5 * time.Second

// examination is one run.
type examination struct {
	Options
	home   *durable.Home
	config *config.Config
	memory *memory
	checks []Check
}

// Run looks at everything, and goes on whatever it finds.
func Run(ctx context.Context, o Options) []Check {
	x := o.examination(newMemory())
	if len(o.Platforms) > 0 {
		if x.readConfig(); x.config != nil {
			x.chats(ctx)
		}
		return x.checks
	}
	defer x.memory.close()
	x.open()
	x.rare(ctx)
	x.often()
	return x.checks
}

func (o Options) examination(m *memory) *examination {
	if o.Dir == "" {
		o.Dir = durable.DefaultDir()
	}
	m.looks++
	return &examination{Options: o, memory: m}
}

// open opens what there is to look at; the memory keeps it.
func (x *examination) open() {
	x.clock()
	x.readConfig()
	if x.openHome(); x.home != nil {
		x.memory.keep(x)
	}
}

// rare looks at what changes seldom or is dear to ask: programs, platforms, whole
// logs.
func (x *examination) rare(ctx context.Context) {
	if x.config != nil {
		x.people()
		x.codebases(ctx)
		x.agents(ctx)
		x.chats(ctx)
		x.boxes()
	}
	if x.home != nil {
		x.logs()
		x.threads()
		x.escalations()
		x.spend()
		x.canaries()
		x.trusted()
		x.signals()
	}
}

// often looks at what moves, and might not: who runs, and how far each is behind.
func (x *examination) often() {
	if x.home == nil {
		return
	}
	x.alive()
	x.lag()
	x.replies()
	x.posts()
}

func (x *examination) ok(name, format string, args ...any) {
	x.checks = append(x.checks, Check{name, OK, fmt.Sprintf(format, args...), ""})
}

func (x *examination) warn(name, fix, format string, args ...any) {
	x.checks = append(x.checks, Check{name, Warn, fmt.Sprintf(format, args...), fix})
}

func (x *examination) fail(name, fix, format string, args ...any) {
	x.checks = append(x.checks, Check{name, Fail, fmt.Sprintf(format, args...), fix})
}

// failed names an error, with its first hint where no better fix is known.
func (x *examination) failed(name, fix string, err error) {
	if hints := sysexit.Hints(err); fix == "" && len(hints) > 0 {
		fix = hints[0]
	}
	x.fail(name, fix, "%v", err)
}

func (x *examination) openHome() {
	info, err := os.Stat(x.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		x.warn("home", "tri init makes it", "%s is not there yet", x.Dir)
		return
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", x.Dir)
	}
	if err == nil {
		x.home, err = durable.Open(x.Dir)
	}
	if err != nil {
		x.failed("home", "", err)
		return
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		x.fail("home", "chmod 700 "+x.Dir, "%s has mode %#o: others can get at it", x.Dir, mode)
	} else {
		x.ok("home", "%s", x.Dir)
	}
	x.space()
}

// Worst is the worst status of all checks.
func Worst(checks []Check) string {
	worst := OK
	for _, c := range checks {
		if c.Status == Fail || c.Status == Warn && worst == OK {
			worst = c.Status
		}
	}
	return worst
}

// Print writes the checks as a table for people. What mends several in a row is said
// once, below the last of them.
func Print(w io.Writer, checks []Check) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, c := range checks {
		fmt.Fprintf(tab, "%s\t%s\t%s\n", c.Status, c.Name, inCell(c.Message))
		if c.Fix != "" && (i == len(checks)-1 || checks[i+1].Fix != c.Fix) {
			fmt.Fprintf(tab, "\t\t→ %s\n", inCell(c.Fix))
		}
	}
	if err := tab.Flush(); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write checks: %w", err))
	}
	return nil
}

// inCell keeps text from outside in its cell: several lines are indented as one
// cell, and nothing in it acts on the terminal.
func inCell(s string) string {
	return strings.NewReplacer("\t", " ", "\n", "\n\t\t").Replace(strings.TrimSpace(text.Visible(s)))
}

// WriteJSON writes a record for each check.
func WriteJSON(w io.Writer, checks []Check) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, c := range checks {
		if err := enc.Encode(c); err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("write checks: %w", err))
		}
	}
	return nil
}
