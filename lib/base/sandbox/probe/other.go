//go:build !linux

package probe

import (
	"context"
	"errors"
	"io"

	"tri/lib/base/sysexit"
)

// Stage is what the probes are let loose on.
type Stage struct{}

var errSystem = sysexit.With(sysexit.Config, errors.New("probe a sandbox: only Linux has one"))

// Run refuses.
func Run(context.Context, string) (Outcome, error) { return Outcome{}, errSystem }

// Try refuses.
func Try(context.Context, []string, io.Writer) error { return errSystem }
