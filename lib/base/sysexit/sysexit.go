// Package sysexit names the exit statuses, after BSD's sysexits(3), and attaches one to
// an error.
package sysexit

import (
	"errors"
	"fmt"
	"slices"
)

// The statuses. 2 is left to Go's panic.
const (
	OK          = 0  // done
	No          = 1  // done, and the answer is no
	Usage       = 64 // the command line is wrong
	Data        = 65 // some records were refused
	NoInput     = 66 // an input file does not exist
	Unavailable = 69 // a service (chat, agent program) cannot be used
	Software    = 70 // a bug of this program
	IO          = 74 // reading or writing failed
	TempFail    = 75 // try again later: a lock is held, a limit is reached
	NoPerm      = 77 // not permitted
	Config      = 78 // the configuration is wrong
)

// Table says what each status means, in the order of the manual pages.
var Table = []struct {
	Status  int
	Meaning string
}{
	{OK, "done"},
	{No, "done, and the answer is no"},
	{Usage, "usage error"},
	{Data, "some records were refused"},
	{NoInput, "no input"},
	{Unavailable, "service unavailable"},
	{Software, "our bug"},
	{IO, "input or output failed"},
	{TempFail, "try again later"},
	{NoPerm, "not permitted"},
	{Config, "configuration error"},
}

type statusError struct {
	err    error
	status int
	hint   string
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// With attaches an exit status to err. nil stays nil.
func With(status int, err error) error {
	if err == nil {
		return nil
	}
	return &statusError{err: err, status: status}
}

// Errorf returns an error as fmt.Errorf does, with an exit status.
func Errorf(status int, format string, args ...any) error {
	return &statusError{err: fmt.Errorf(format, args...), status: status}
}

// Hint attaches advice for the user to err; it is printed on a line of its own.
func Hint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &statusError{err: err, hint: hint}
}

// Of returns the outermost status attached to err, and whether there is one.
func Of(err error) (int, bool) {
	for err != nil {
		se := new(statusError)
		if !errors.As(err, &se) {
			return 0, false
		}
		if se.status != 0 {
			return se.status, true
		}
		err = se.err
	}
	return 0, false
}

// HintOf returns the outermost hint attached to err, otherwise if there is none.
func HintOf(err error, otherwise string) string {
	if hints := Hints(err); len(hints) > 0 {
		return hints[0]
	}
	return otherwise
}

// Hints returns the hints attached to err, the outermost first.
func Hints(err error) []string {
	var hints []string
	for err != nil {
		se := new(statusError)
		if !errors.As(err, &se) {
			break
		}
		if se.hint != "" {
			hints = append(hints, se.hint)
		}
		err = se.err
	}
	return hints
}

// maxWord is how many bytes of a word are compared.
const maxWord = 64

// Nearest returns the known word closest to a mistyped one, for a hint; "" if none is close: one edit
// away, or two if the word has at least eight letters.
func Nearest(word string, known []string) string {
	word = word[:min(len(word), maxWord)]
	most := 1
	if len(word) >= 8 {
		most = 2
	}
	best, least := "", most+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(word, k); d < least && min(len(word), len(k)) > most {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of edits, in bytes, that make b of a: a letter more, fewer or another, or
// two neighbours exchanged.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j-1]+cost, rows[i][j-1]+1, rows[i-1][j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
