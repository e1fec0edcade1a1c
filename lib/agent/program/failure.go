package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/sysexit"
)

// failure returns why a turn that has ended has no result, nil if it has one. A nonzero exit
// status after a result is a failure unless the process was stopped by us.
func (s *Seen) failure(e proc.Exit) error {
	var err error
	switch {
	case s.Err != nil:
		err = s.Err
	case !s.ended || e.Status != 0 && !e.Stopped:
		err = failure(e, s.ended)
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

// refusedHint adds to the failure of a run in dir that the sandbox refused connections, if it did: programs
// report only that they cannot connect.
func refusedHint(err error, dir string) error {
	log := filepath.Join(dir, proc.RefusedLog)
	info, serr := os.Stat(log)
	if dir == "" || serr != nil || info.Size() == 0 {
		return err
	}
	return sysexit.Hint(err, "connections that the sandbox refused are listed in "+log)
}

// failure derives an error from the exit of a program that reported no error itself. late says
// that the program had returned a result before it exited.
func failure(e proc.Exit, late bool) error {
	said := strings.TrimSpace(e.Stderr)
	switch signal := syscall.Signal(e.Status - 128); {
	case e.OOM:
		return agent.Failf(agent.OOM, "the kernel ended it for using too much memory")
	case e.Filled:
		return sysexit.Hint(agent.Failf(agent.ToolError, "it wrote more to the disk than allowed"),
			"disk_mb in the configuration is the limit of one run")
	case e.Flooded:
		return agent.Failf(agent.ToolError, "it wrote more output than allowed")
	case signal == syscall.SIGKILL || signal == syscall.SIGTERM || signal == syscall.SIGINT ||
		signal == syscall.SIGHUP:
		return agent.Failf(agent.Killed, "another process ended it, status %d%s", e.Status, quoted(said))
	case e.Status != 0 && late:
		return agent.Failf(agent.ToolError, "status %d after its result%s", e.Status, quoted(said))
	case e.Status != 0:
		return agent.Failf(agent.ToolError, "it ended with status %d%s", e.Status, quoted(said))
	case e.Skipped > 0:
		return agent.Failf(agent.Abort, "it ended without a result, and with %d lines of more than %d bytes%s",
			e.Skipped, proc.MaxLine, quoted(said))
	}
	return agent.Failf(agent.Abort, "it ended without a result%s", quoted(said))
}

// quoted formats a program's output as the end of an error message.
func quoted(said string) string {
	if said == "" {
		return ""
	}
	return fmt.Sprintf(": %q", said)
}

// Refused is an error of the model's endpoint. status is the HTTP status, 0 if it is not known.
// variables names the variables to set if the key was refused.
func Refused(status int, said, variables string) error {
	err := agent.Failf(agent.ToolError, "the model's endpoint answers %d: %q", status, brief(said))
	switch {
	case status == 0:
		err = agent.Failf(agent.ToolError, "it says: %q", brief(said))
	case status == 401 || status == 403:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"the key was refused: set "+variables+", or name the variables that it needs under `env:`")
	case status == 429 || status >= 500:
		return sysexit.With(sysexit.TempFail, err)
	}
	return err
}

// Spent is the error of a run that reached its limit of turns, tokens or cost.
func Spent(said string) error {
	err := agent.Failf(agent.Timeout, "its limit is reached: %q", brief(said))
	if strings.Contains(said, "budget") {
		err = sysexit.Hint(err, "max_budget_usd in the configuration is the limit of one run")
	}
	return err
}

// NoSession is the error of a program that does not know the session.
func NoSession(said string) error {
	return sysexit.Errorf(sysexit.Unavailable, "%w: %q", agent.ErrNoResume, brief(said))
}

// brief shortens a program's message to at most 300 bytes and cleans it for an error.
func brief(said string) string { return clip(said[:min(len(said), 300)]) }
