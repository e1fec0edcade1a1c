package fsck

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// errBad means that the check found faults; the report lists them.
var errBad = errors.New("the home is damaged")

// err returns ErrBad, with the exit status of a negative answer, if there are faults.
func (r *Report) err() error {
	if r.OK {
		return nil
	}
	return sysexit.With(sysexit.No, errBad)
}

// WriteJSON writes one record per part; it returns the same error as Print.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := ndjson.Write(w, r.Findings...); err != nil {
		return err
	}
	return r.err()
}

// Print writes the report as text. It returns ErrBad if there are faults.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	colour := term.Colors(w)
	for _, f := range r.Findings {
		word := paint("ok ", "32", colour)
		if f.Bad > 0 {
			word = paint("BAD", "31", colour)
		}
		fmt.Fprintf(&b, "%s  %-28s %9d records", word, f.What, f.Records)
		if f.Bad > 0 {
			fmt.Fprintf(&b, ", %d bad", f.Bad)
		}
		b.WriteByte('\n')
		if f.Note != "" {
			fmt.Fprintf(&b, "     %s\n", f.Note)
		}
		if f.Torn > 0 {
			fmt.Fprintf(&b, "     %d bytes behind the last line: a write under way, or one that was cut\n",
				f.Torn)
		}
		for _, p := range f.Problems {
			fmt.Fprintf(&b, "     %s\n", text.Line(p, 220))
		}
		if n := f.Bad - len(f.Problems); n > 0 {
			fmt.Fprintf(&b, "     and %d more\n", n)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	return r.err()
}

func paint(s, code string, colour bool) string {
	if !colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
