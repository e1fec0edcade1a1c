// Package sysexit names the exit statuses, after BSD's sysexits(3), and attaches one to
// an error.
package sysexit

import (
	"errors"
	"fmt"
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
