package program

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/sysexit"
)

// failure is why a turn that ended has no result, nil when it has one. An exit
// status after a result counts unless we ended the process ourselves.
func (s *Seen) failure(e proc.Exit) error {
	var err error
	switch {
	case s.Err != nil:
		err = s.Err
	case !s.ended || e.Status != 0 && !e.Stopped:
		err = Failure(e, s.ended)
	default:
		return nil
	}
	if e.OOM || e.Status == 128+int(syscall.SIGABRT) && strings.Contains(e.Stderr, "heap out of memory") {
		err = &agent.Failure{Kind: agent.OOM, Err: fmt.Errorf("it ran out of memory: %w", err)}
	}
	if _, ok := sysexit.Of(err); !ok {
		err = sysexit.With(sysexit.Unavailable, err)
	}
	return agent.Fail(agent.ToolError, err)
}

// Failure is what the end of a program says that has no word of its own on what
// went wrong. late: it did have a result.
func Failure(e proc.Exit, late bool) error {
	said := strings.TrimSpace(e.Stderr)
	switch signal := syscall.Signal(e.Status - 128); {
	case e.OOM:
		return agent.Fail(agent.OOM, errors.New("the kernel ended it for its memory"))
	case e.Filled:
		return sysexit.Hint(agent.Fail(agent.ToolError, errors.New("it wrote more to the disk than it may")), "disk_mb in the configuration is the limit of one run")
	case e.Flooded:
		return agent.Fail(agent.ToolError, errors.New("it said more than it may"))
	case signal == syscall.SIGKILL || signal == syscall.SIGTERM || signal == syscall.SIGINT || signal == syscall.SIGHUP:
		return agent.Fail(agent.Killed, fmt.Errorf("it was ended from outside, status %d%s", e.Status, quoted(said)))
	case e.Status != 0 && late:
		return agent.Fail(agent.ToolError, fmt.Errorf("status %d after its result%s", e.Status, quoted(said)))
	case e.Status != 0:
		return agent.Fail(agent.ToolError, fmt.Errorf("it ended with status %d%s", e.Status, quoted(said)))
	case e.Skipped > 0:
		return agent.Fail(agent.Abort, fmt.Errorf("it ended without a result, and with %d lines of more than %d bytes%s", e.Skipped, proc.MaxLine, quoted(said)))
	}
	return agent.Fail(agent.Abort, fmt.Errorf("it ended without a result%s", quoted(said)))
}

// quoted is what a program said, after our own words on it.
func quoted(said string) string {
	if said == "" {
		return ""
	}
	return fmt.Sprintf(": %q", said)
}

// Refused is an error of the model's endpoint: status is HTTP's, 0 where it is
// not known. variables are those that would help against a refused key.
func Refused(status int, said, variables string) error {
	err := agent.Fail(agent.ToolError, fmt.Errorf("the model's endpoint answers %d: %q", status, brief(said)))
	switch {
	case status == 0:
		err = agent.Fail(agent.ToolError, fmt.Errorf("it says: %q", brief(said)))
	case status == 401 || status == 403:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"the key was refused: set "+variables+", or name the variables that it needs under `env:`")
	case status == 429 || status >= 500:
		return sysexit.With(sysexit.TempFail, err)
	}
	return sysexit.With(sysexit.Unavailable, err)
}

// Spent is the end of a run whose turns, tokens or cost were up.
func Spent(said string) error {
	err := sysexit.With(sysexit.Unavailable, agent.Fail(agent.Timeout, fmt.Errorf("its limit is reached: %q", brief(said))))
	if strings.Contains(said, "budget") {
		err = sysexit.Hint(err, "max_budget_usd in the configuration is the limit of one run")
	}
	return err
}

// NoSession is what a program says of a session that it does not have.
func NoSession(said string) error {
	return sysexit.With(sysexit.Unavailable, fmt.Errorf("%w: %q", agent.ErrNoResume, brief(said)))
}

// brief is as much of what a program says as fits a message.
func brief(said string) string { return clip(said[:min(len(said), 300)]) }
