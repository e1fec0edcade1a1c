package git

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// Kinds of change.
const (
	Added    = "added"
	Deleted  = "deleted"
	Modified = "modified"
	Renamed  = "renamed"
	Copied   = "copied"
)

// Change is what a patch does to one file.
type Change struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // the previous name, of a file renamed or copied
	Kind    string `json:"kind"`
	Added   int    `json:"added"` // lines; 0 if Binary
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
	OldMode string `json:"old_mode,omitempty"` // as git writes it; "" if the patch does not say
	NewMode string `json:"new_mode,omitempty"`
}

// parse parses a patch in the format of git diff --binary, and nothing looser: git skips what it
// does not know, and applies what follows.
func parse(patch []byte) ([]Change, error) {
	p := &parser{rest: patch}
	var all []Change
	for len(p.rest) > 0 {
		c, err := p.file()
		if err != nil {
			return nil, sysexit.Errorf(sysexit.Data, "patch, line %d: %w", p.line, err)
		}
		if all = append(all, c); len(all) > MaxChanges {
			return nil, sysexit.Errorf(sysexit.Data, "patch: over %d files", MaxChanges)
		}
	}
	return all, nil
}

type parser struct {
	rest []byte
	line int // number of the last line read, from 1

	names [2]string // of the file's headers, without a/ and b/; "" is /dev/null
	named bool
}

// next returns the next line without its newline.
func (p *parser) next() (string, bool) {
	if len(p.rest) == 0 {
		return "", false
	}
	p.line++
	b, rest, ok := bytes.Cut(p.rest, []byte("\n"))
	p.rest = rest
	return string(b), ok // a last line without newline does not count
}

// begins reports whether the next line begins with prefix.
func (p *parser) begins(prefix string) bool { return bytes.HasPrefix(p.rest, []byte(prefix)) }

var (
	modeRE  = lazyregexp.New(`^[0-7]{6}$`)
	indexRE = lazyregexp.New(`^index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})(?: ([0-7]{6}))?$`)
	hunkRE  = lazyregexp.New(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)
	percent = lazyregexp.New(`^(?:dis)?similarity index \d{1,3}%$`)
)

func (p *parser) file() (Change, error) {
	c := Change{Kind: Modified}
	first, ok := p.next()
	both, isFile := strings.CutPrefix(first, "diff --git ")
	if !ok || !isFile {
		return c, fmt.Errorf("want a line \"diff --git\", found %.60q", first)
	}
	if err := p.headers(&c); err != nil {
		return c, err
	}
	p.named = false
	var err error
	switch {
	case p.begins("--- "):
		err = p.text(&c)
	case p.begins("GIT binary patch\n"):
		err = p.binary(&c)
	}
	if err != nil {
		return c, err
	}
	return c, p.name(&c, both)
}

// headers parses the lines between the first and the content.
func (p *parser) headers(c *Change) error {
	for !p.begins("diff --git ") && !p.begins("--- ") && !p.begins("GIT binary patch\n") {
		line, ok := p.next()
		if !ok {
			if line == "" {
				return nil // the end
			}
			return fmt.Errorf("line without an end")
		}
		if err := header(c, line); err != nil {
			return err
		}
	}
	return nil
}

func header(c *Change, line string) (err error) {
	set := func(to *string, v string) {
		if !modeRE.MatchString(v) || *to != "" && *to != v {
			err = fmt.Errorf("mode %.20q", v)
		}
		*to = v
	}
	kind := func(k string) {
		if c.Kind != Modified && c.Kind != k {
			err = fmt.Errorf("both %s and %s", c.Kind, k)
		}
		c.Kind = k
	}
	name := func(to *string, k, v string) {
		v, bad := unquote(v)
		if kind(k); bad != nil || v == "" {
			err = fmt.Errorf("name %.120q", v)
		}
		*to = v
	}
	for prefix, read := range map[string]func(string){
		"old mode ": func(v string) { set(&c.OldMode, v) },
		"new mode ": func(v string) { set(&c.NewMode, v) },
		"new file mode ": func(v string) {
			set(&c.NewMode, v)
			kind(Added)
		},
		"deleted file mode ": func(v string) {
			set(&c.OldMode, v)
			kind(Deleted)
		},
		"rename from ": func(v string) { name(&c.From, Renamed, v) },
		"rename to ":   func(v string) { name(&c.Path, Renamed, v) },
		"copy from ":   func(v string) { name(&c.From, Copied, v) },
		"copy to ":     func(v string) { name(&c.Path, Copied, v) },
	} {
		if v, ok := strings.CutPrefix(line, prefix); ok {
			read(v)
			return err
		}
	}
	if m := indexRE.FindStringSubmatch(line); m != nil {
		if m[3] != "" && c.OldMode == "" && c.NewMode == "" {
			c.OldMode, c.NewMode = m[3], m[3]
		}
		return nil
	}
	if percent.MatchString(line) {
		return nil
	}
	return fmt.Errorf("unknown line %.60q", line)
}

// text parses the names and the hunks of a text file.
func (p *parser) text(c *Change) error {
	for i, prefix := range []string{"--- ", "+++ "} {
		line, ok := p.next()
		name, isName := strings.CutPrefix(line, prefix)
		if !ok || !isName {
			return fmt.Errorf("want %q, found %.60q", prefix, line)
		}
		var err error
		if p.names[i], err = side(strings.TrimSuffix(name, "\t"), "ab"[i:i+1]); err != nil {
			return err
		}
	}
	p.named = true
	if !p.begins("@@ ") {
		return fmt.Errorf("no hunk behind the names")
	}
	for p.begins("@@ ") {
		if err := p.hunk(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) hunk(c *Change) error {
	line, ok := p.next()
	m := hunkRE.FindStringSubmatch(line)
	if !ok || m == nil {
		return fmt.Errorf("hunk %.60q", line)
	}
	count := func(s string) int {
		if s == "" {
			return 1
		}
		n, _ := strconv.Atoi(s) // at most nine digits
		return n
	}
	old, fresh := count(m[2]), count(m[4])
	if old == 0 && fresh == 0 {
		return fmt.Errorf("hunk of nothing")
	}
	for old > 0 || fresh > 0 {
		line, ok := p.next()
		if !ok || line == "" {
			return fmt.Errorf("hunk ends early")
		}
		switch line[0] {
		case ' ':
			old, fresh = old-1, fresh-1
		case '-':
			old--
			c.Removed++
		case '+':
			fresh--
			c.Added++
		case '\\':
			if !noNewline(line) {
				return fmt.Errorf("line %.60q", line)
			}
		default:
			return fmt.Errorf("line %.60q in a hunk", line)
		}
		if old < 0 || fresh < 0 {
			return fmt.Errorf("hunk is longer than it says")
		}
	}
	if p.begins(`\ `) {
		if line, ok := p.next(); !ok || !noNewline(line) {
			return fmt.Errorf("line %.60q", line)
		}
	}
	return nil
}

func noNewline(line string) bool { return line == `\ No newline at end of file` }

var (
	binaryRE = lazyregexp.New(`^(literal|delta) (\d{1,9})$`)
	base85RE = lazyregexp.New("^[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]+$")
)

// binary parses the one or two encoded blocks of a binary file.
func (p *parser) binary(c *Change) error {
	p.next()
	c.Binary = true
	for block := range 2 {
		if block == 1 && !p.begins("literal ") && !p.begins("delta ") {
			return nil
		}
		line, ok := p.next()
		m := binaryRE.FindStringSubmatch(line)
		if !ok || m == nil {
			return fmt.Errorf("binary block %.60q", line)
		}
		if n, _ := strconv.Atoi(m[2]); n > MaxFile {
			return fmt.Errorf("binary block of %d bytes, over %d", n, MaxFile)
		}
		for {
			line, ok := p.next()
			if !ok {
				return fmt.Errorf("binary block ends early")
			}
			if line == "" {
				break
			}
			// The first letter is the number of bytes in the line; five letters encode four bytes.
			n := int(line[0]) - 'A' + 1
			if line[0] >= 'a' {
				n = int(line[0]) - 'a' + 27
			}
			if !base85RE.MatchString(line) || len(line)-1 != (n+3)/4*5 {
				return fmt.Errorf("binary line %.60q", line)
			}
		}
	}
	return nil
}
