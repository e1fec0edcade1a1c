package sysexit_test

import (
	"errors"
	"fmt"

	"tri/lib/base/sysexit"
)

// An error carries its status, and what the user can do, up to lib/base/cli.
func ExampleWith() {
	err := fmt.Errorf("read config: %w", sysexit.With(sysexit.Config,
		errors.New("team.approvers: not a list")))
	err = sysexit.Hint(err, "tri init --force writes a new one")
	status, _ := sysexit.Of(err)
	fmt.Println(err, status, sysexit.Hints(err))
	// Output:
	// read config: team.approvers: not a list 78 [tri init --force writes a new one]
}
