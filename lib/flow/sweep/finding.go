package sweep

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/forge"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/judge/codebase"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/event"
)

// Limits of one line of output, in bytes, and of what is shown of it and of the line of code, in characters.
const (
	maxLine  = 4 << 10
	maxShown = 300
	maxCheck = 1000   // characters of what a check says
	maxRead  = 10_000 // lines of one run that name a place
)

// finding is a line of output that names a line of the codebase, or a failing check.
type finding struct {
	id    string // the same as long as the file, its line's text and the words of the report are
	told  string // the id under which it is remembered: of a check, the same for every commit
	path  string // "" of a check
	line  int
	where string // as people read it
	said  string // by the command
	code  string // the line
}

// reader collects the findings of an output.
type reader struct {
	tree    *codebase.Tree
	sweep   string
	seen    map[string]bool // ids
	found   []finding
	read    int // lines that name a place
	refused int
	why     string // of the first refused line
}

// reference is how compilers, linters and grep -n name a line: file:line:column: text.
var reference = lazyregexp.New(`^(?:vet: )?([^:]+):([0-9]{1,7})(?::[0-9]{1,7})?:[ \t]*(.*)$`)

// line takes a line of output. One that names no place is skipped; one that could mislead is refused.
func (r *reader) line(raw []byte) {
	said := string(raw)
	if len(raw) > maxLine || text.Visible(said) != said {
		if len(raw) > maxLine {
			r.refuse("longer than %d bytes", maxLine)
		} else {
			r.refuse("it has control characters: %s", text.Line(said, 80))
		}
		return
	}
	m := reference.FindStringSubmatch(said)
	if m == nil {
		return
	}
	if r.read++; r.read > maxRead {
		r.refuse("more than %d lines name a place", maxRead)
		return
	}
	name, err := r.tree.Name(m[1])
	if err != nil {
		r.refuse("%v", err)
		return
	}
	n, _ := strconv.Atoi(m[2]) // at most seven digits
	lines, err := r.tree.Lines(name, n, 1)
	if err != nil || n == 0 {
		r.refuse("%s:%d: no such line", name, n)
		return
	}
	code, _, _ := strings.Cut(lines, "\n")
	_, code, _ = strings.Cut(code, "\t")
	words := digits.ReplaceAllString(m[3], "")
	id := text.SHA256(strings.Join([]string{r.sweep, name, code, words}, "\x00"))[:16]
	f := finding{id: id, told: id, where: fmt.Sprintf("%s:%d", name, n), path: name, line: n, said: m[3],
		code: code}
	if !r.seen[f.id] {
		r.seen[f.id] = true
		r.found = append(r.found, f)
	}
}

var digits = lazyregexp.New(`[0-9]+`)

func (r *reader) refuse(format string, args ...any) {
	if r.refused++; r.why == "" {
		r.why = fmt.Sprintf(format, args...)
	}
}

// event returns a finding as a message to the bot. What the command said is quoted, so that no rule takes it
// for words of a person.
func (s *Source) event(c *config.Sweep, f finding, at time.Time) event.Event {
	e := event.Event{
		Platform: config.PlatformSweep, ChatID: c.Codebase, ChatName: c.Codebase, MessageID: f.id,
		ThreadID: &f.id, CreateTime: text.Timestamp(at), MsgType: "text",
		Content:  fmt.Sprintf("%s at %s. %s", c.Name, f.where, config.SweepKinds[c.Kind]),
		Sender:   event.Sender{ID: "sweep", Type: "user", Name: fmt.Sprintf("sweep %s, %s", c.Name, c.Kind)},
		Mentions: []string{s.cfg.BotName()},
	}
	limit := maxShown
	if f.path == "" {
		limit = maxCheck
	}
	said := text.Cut(strings.TrimSpace(f.said), limit)
	if code := text.Line(strings.TrimSpace(f.code), maxShown); code != said {
		said = strings.TrimSpace(said + "\n" + code) // grep -n reports the line itself
	}
	if safety.HoldsKey([]byte(f.said + "\n" + f.code)) {
		said = "(it holds a key, and is not shown)"
	}
	e.Forward(c.Name, said)
	return e
}

// failing returns the failing checks of the newest commit of the codebase's forge, as findings.
func (s *Source) failing(ctx context.Context, c *config.Sweep) (found []finding, err error) {
	client, err := forge.Of(ctx, s.cfg.Forge, s.cfg.Folder(c.Codebase), s.http)
	if err != nil {
		return nil, err
	}
	commit, all, err := client.Failing(ctx)
	for _, check := range all {
		name := text.Line(check.Name, 100)
		of := c.Name + "\x00" + check.Name
		found = append(found, finding{id: text.SHA256(of + "\x00" + commit)[:16], told: text.SHA256(of)[:16],
			where: fmt.Sprintf("check %q of commit %.10s", name, commit),
			said:  text.Visible(check.Said + "\n" + check.URL)})
	}
	return found, err
}

// old reports whether a finding's line was last changed long enough ago. One whose age is unknown was not.
func (s *Source) old(ctx context.Context, c *config.Sweep, f *finding,
	dated map[string]map[string]time.Time) bool {
	if c.MinAgeD == 0 {
		return true
	}
	lines, ok := dated[f.path]
	if !ok {
		if repo, err := evidence.OpenRepo(s.cfg.Folder(c.Codebase)); err == nil {
			lines, _ = repo.Dated(ctx, f.path) // of a file that is not committed no line has a time
		}
		dated[f.path] = lines
	}
	at, ok := lines[strings.TrimSpace(f.code)]
	if !ok || s.now().Sub(at).Hours() < 24*c.MinAgeD {
		return false
	}
	f.where += ", unchanged since " + at.Format(time.DateOnly)
	return true
}
