package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"tri/lib/agent/proc"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Limits on a command.
const (
	maxValue  = 4 << 10  // bytes of one value
	maxPrint  = 64 << 10 // bytes of its output
	maxAlive  = 4        // concurrent, per connection
	minSecret = 8        // bytes of a variable's value that is removed from the output
)

// lent are the commands of a configuration. Each call runs one in a sandbox and a home of its own, as a
// server's program.
type lent struct {
	at     Place
	server config.Server
	slots  chan struct{}
}

// refusal says why a call is not run.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// lend offers the commands whose programs exist.
func (p *Peer) lend(at Place, s config.Server) {
	p.lent = &lent{at, s, make(chan struct{}, maxAlive)}
	for _, c := range s.Commands {
		_, err := exec.LookPath(c.Argv[0])
		schema, bad := schemaOf(c)
		if err = errors.Join(err, bad); err != nil {
			p.Faults = append(p.Faults, fmt.Errorf("tool %s of server %s is left out: %w", c.Name, s.Name, err))
			continue
		}
		p.Tools = append(p.Tools, Tool{c.Name, text.CutBytes(c.Description, maxSaid), schema, true})
	}
}

// schemaOf returns the schema of a command's arguments. A pattern is in words: RE2 is not the language of
// JSON Schema's.
func schemaOf(c config.Command) (json.RawMessage, error) {
	type value struct {
		Type        string   `json:"type"`
		Description string   `json:"description,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		MaxLength   int      `json:"maxLength"`
	}
	names, values := []string{}, map[string]value{}
	for _, h := range c.Holes {
		names = append(names, h.Name)
		v := value{"string", h.Description, h.Values, maxValue}
		if h.Pattern != "" {
			v.Description = strings.TrimSpace(v.Description + " (It must match " + h.Pattern + ")")
		}
		values[h.Name] = v
	}
	return json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "required": names,
		"properties": values})
}

func (l *lent) call(ctx context.Context, name string, input json.RawMessage) (string, bool, error) {
	i := slices.IndexFunc(l.server.Commands, func(c config.Command) bool { return c.Name == name })
	c := l.server.Commands[i] // Peer.Tools has only names of commands
	argv, err := fill(c, input)
	if err != nil {
		return "", false, err
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	limit := time.Duration(cmp.Or(c.TimeoutSec, 60)) * time.Second
	run, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, failed, err := l.run(run, argv)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Sprintf("%s was ended after %v", name, limit), true, nil
	}
	return body, failed, err
}

// run runs a command without input and returns what it prints.
func (l *lent) run(ctx context.Context, argv []string) (string, bool, error) {
	home, err := os.MkdirTemp(l.at.Dir, "server-"+l.server.Name+"-")
	if err != nil {
		return "", false, sysexit.Errorf(sysexit.IO, "make its home: %w", err)
	}
	defer os.RemoveAll(home) // at worst it stays in the run's folder
	var out bytes.Buffer
	exit, err := proc.Run(ctx, proc.Spec{
		Argv: argv, Dir: home, Env: proc.Env(l.server.Env, home), Hold: l.at.Hold,
		Sandbox: l.at.Sandbox, Write: true, Home: home, Reach: l.server.Network, Read: l.at.Read,
		MaxStdout: 2 * proc.MaxLine,
		Line: func(line []byte) bool {
			out.Write(line)
			out.WriteByte('\n')
			return false
		},
	})
	if err != nil {
		return "", false, err
	}
	body := l.withoutSecrets(out.String())
	if len(body) > maxPrint || exit.Flooded || exit.Skipped > 0 {
		body = fmt.Sprintf("%s\n(cut here: it prints more than %d bytes, or a line of over %d)",
			text.CutBytes(body, maxPrint), maxPrint, proc.MaxLine)
	} else if exit.Status != 0 {
		return fmt.Sprintf("status %d: %s\n%s", exit.Status, l.withoutSecrets(strings.TrimSpace(exit.Stderr)),
			body), true, nil
	}
	return cmp.Or(strings.TrimRight(body, "\n"), "(it printed nothing)"), false, nil
}

// withoutSecrets replaces the values of the server's variables, in case that the program prints them.
func (l *lent) withoutSecrets(s string) string {
	for _, name := range l.server.Env {
		if v := os.Getenv(name); len(v) >= minSecret {
			s = strings.ReplaceAll(s, v, "($"+name+")")
		}
	}
	return s
}

// fill returns the command's arguments with the values of input.
func fill(c config.Command, input json.RawMessage) ([]string, error) {
	var given map[string]string
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, refuse("arguments are an object of strings")
	}
	for name := range given {
		if !slices.ContainsFunc(c.Holes, func(h config.Hole) bool { return h.Name == name }) {
			return nil, refuse("there is no argument %q", text.CutBytes(name, maxWords))
		}
	}
	argv := slices.Clone(c.Argv)
	for i, arg := range c.Argv {
		flag, name, ok := config.SplitHole(arg)
		if !ok {
			continue
		}
		value, ok := given[name]
		if !ok {
			return nil, refuse("argument %q is missing", name)
		}
		h := c.Holes[slices.IndexFunc(c.Holes, func(h config.Hole) bool { return h.Name == name })]
		if why := misfit(h, value, flag == "" && !slices.Contains(c.Argv[:i], "--")); why != "" {
			return nil, refuse("argument %q: %s", name, why)
		}
		argv[i] = flag + value
	}
	return argv, nil
}

// misfit says why a value does not fit, "" if it does. bare: the program could take it for an option.
func misfit(h config.Hole, value string, bare bool) string {
	if len(h.Values) > 0 {
		if slices.Contains(h.Values, value) {
			return ""
		}
		return fmt.Sprintf("it is not one of %q", h.Values)
	}
	pattern, err := h.Regexp()
	switch {
	case err != nil:
		return err.Error()
	case value == "":
		return "it is empty"
	case len(value) > maxValue:
		return fmt.Sprintf("it has more than %d bytes", maxValue)
	case strings.ContainsFunc(value, breaks):
		return "it has a line break or another control character"
	case bare && value[0] == '-':
		return `it begins with "-"`
	case h.Pattern != "" && !pattern.MatchString(value):
		return "it does not match " + h.Pattern
	}
	return ""
}

func breaks(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }
