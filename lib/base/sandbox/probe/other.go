//go:build !linux

package probe

import (
	"context"
	"io"

	"tri/lib/base/sysexit"
)

// Stage is the environment of the probes.
type Stage struct{}

var errSystem = sysexit.Errorf(sysexit.Config, "probe a sandbox: only Linux has one")

// Run always fails.
func Run(context.Context, string) (Outcome, error) { return Outcome{}, errSystem }

// Try always fails.
func Try(context.Context, []string, io.Writer) error { return errSystem }
