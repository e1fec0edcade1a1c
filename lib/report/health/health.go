// Package health checks a home, its configuration and its running programs, and says how to fix
// what is wrong. It changes nothing and takes no lock.
package health

import (
	"cmp"
	"context"
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
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// Results of a check.
const (
	OK   = "ok"
	Warn = "warn" // works, but should be known
	Fail = "fail"
)

// Check is the result of one check.
type Check struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // how to fix it
}

// Options select the checks.
type Options struct {
	Dir    string // the home; "" for the default
	Config string // "" for the home's config.yaml
	Now    func() time.Time
	// Platforms restricts the checks to these platforms; none: everything is checked.
	Platforms []string
}

// timeout is the timeout for an answer of a program or a server.
const timeout = 5 * time.Second

// checker is one run of the checks.
type checker struct {
	Options
	home   *durable.Home
	config *config.Config
	memory *memory
	checks []Check
}

// Run runs all checks; a failed one does not stop the others.
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

func (o Options) examination(m *memory) *checker {
	if o.Dir == "" {
		o.Dir = durable.DefaultDir()
	}
	m.looks++
	return &checker{Options: o, memory: m}
}

// open opens the home, or takes it from the memory, which keeps it open.
func (x *checker) open() {
	x.clock()
	x.readConfig()
	if x.openHome(); x.home != nil {
		x.memory.keep(x)
	}
}

// rare checks what changes rarely or is expensive: programs, platforms, whole logs.
func (x *checker) rare(ctx context.Context) {
	if x.config != nil {
		x.people()
		x.codebases(ctx)
		x.agents(ctx)
		x.chats(ctx)
		x.boxes()
	}
	if x.config != nil && x.home != nil {
		x.nats(ctx)
	}
	if x.home != nil {
		x.logs()
		x.threads()
		x.escalations()
		x.spend()
		x.drills()
		x.trusted()
		x.signals()
		x.reminders()
	}
}

// often checks what changes often: which programs run, and how far each is behind.
func (x *checker) often() {
	if x.home == nil {
		return
	}
	x.alive()
	x.lag()
	x.replies()
	x.posts()
}

func (x *checker) ok(name, format string, args ...any) {
	x.checks = append(x.checks, Check{name, OK, fmt.Sprintf(format, args...), ""})
}

func (x *checker) warn(name, fix, format string, args ...any) {
	x.checks = append(x.checks, Check{name, Warn, fmt.Sprintf(format, args...), fix})
}

func (x *checker) fail(name, fix, format string, args ...any) {
	x.checks = append(x.checks, Check{name, Fail, fmt.Sprintf(format, args...), fix})
}

// failed adds a failed check. Without a fix, the first hint of the error is used.
func (x *checker) failed(name, fix string, err error) {
	x.fail(name, cmp.Or(fix, sysexit.HintOf(err, "")), "%v", err)
}

func (x *checker) openHome() {
	info, err := os.Stat(x.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		x.warn("home", "tri init makes it", "%s is not there yet", x.Dir)
		return
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", x.Dir)
	}
	if err == nil {
		x.home, err = durable.OpenHome(x.Dir)
	}
	if err != nil {
		x.failed("home", "", err)
		return
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		x.fail("home", "chmod 700 "+x.Dir, "%s has mode %#o: others can access it", x.Dir, mode)
	} else {
		x.ok("home", "%s", x.Dir)
	}
	x.space()
}

// Worst returns the worst status of all checks.
func Worst(checks []Check) string {
	worst := OK
	for _, c := range checks {
		if c.Status == Fail || c.Status == Warn && worst == OK {
			worst = c.Status
		}
	}
	return worst
}

// Print writes the checks as a table. A fix that applies to several consecutive checks is printed
// once, after the last of them.
func Print(w io.Writer, checks []Check) error {
	var page strings.Builder
	tab := tabwriter.NewWriter(&page, 0, 0, 2, ' ', 0)
	for i, c := range checks {
		fmt.Fprintf(tab, "%s\t%s\t%s\n", c.Status, c.Name, inCell(c.Message))
		if c.Fix != "" && (i == len(checks)-1 || checks[i+1].Fix != c.Fix) {
			fmt.Fprintf(tab, "\t\t→ %s\n", inCell(c.Fix))
		}
	}
	err := tab.Flush()
	if err == nil {
		_, err = io.WriteString(w, colored(page.String(), term.Colors(w)))
	}
	return sysexit.With(sysexit.IO, err)
}

// colored colours the status at the start of each line: ok green, warn yellow, fail red.
func colored(page string, on bool) string {
	if !on {
		return page
	}
	var b strings.Builder
	for line := range strings.Lines(page) {
		for status, colour := range map[string]string{OK: "32", Warn: "33", Fail: "31"} {
			if rest, ok := strings.CutPrefix(line, status+" "); ok {
				line = "\x1b[" + colour + "m" + status + "\x1b[0m " + rest
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// inCell keeps outside text in its cell: further lines are indented, and terminal control sequences
// are made harmless.
func inCell(s string) string {
	return strings.NewReplacer("\t", " ", "\n", "\n\t\t").Replace(strings.TrimSpace(text.Visible(s)))
}

// WriteJSON writes one record per check.
func WriteJSON(w io.Writer, checks []Check) error {
	return ndjson.Write(w, checks...)
}
