package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// detachWait is how long Detach waits for the stages; a pipeline that needs longer runs on.
var detachWait = time.Minute

// Detach runs this program again in the background, in its own session, with the arguments argv. It
// returns the status when every stage has been started, and an error after detachWait.
func Detach(ctx context.Context, h *durable.Home, argv []string) (*Status, error) {
	switch _, alive, err := Load(h); {
	case err != nil:
		return nil, err
	case alive:
		return nil, errAlready()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := h.MkdirAll(logDir); err != nil {
		return nil, err
	}
	log, err := openLog(h, "supervise")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	from, err := log.Seek(0, 2)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("open log: %w", err))
	}
	cmd := exec.Command(self, argv...)
	cmd.Stderr, cmd.SysProcAttr = log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", self, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeoutCause(ctx, detachWait,
		fmt.Errorf("not every stage runs after %v", detachWait))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return nil, sysexit.Hint(sysexit.With(sysexit.Unavailable,
				fmt.Errorf("the pipeline did not start: %w%s", err, logSince(h, from))),
				"tri-health says what is wrong with the home")
		case <-ctx.Done():
			return nil, sysexit.Hint(fmt.Errorf("the pipeline is still being started: %w", context.Cause(ctx)),
				"tri-supervise status shows it, tri-health what is wrong, tri down ends it")
		case <-tick.C:
		}
		if st, alive, err := Load(h); err == nil && alive && st.PID == cmd.Process.Pid && st.hasStarted() {
			return st, nil
		}
	}
}

// Tell reports how many stages run, and which do not.
func (st *Status) Tell(say func(format string, args ...any)) {
	up := 0
	for _, s := range st.Stages {
		if s.State == Up {
			up++
			continue
		}
		say("stage %s: %s, and is started again; %s/%s.log of the home says why", s.Name, s.Ended,
			logDir, s.Name)
	}
	say("%d of %d stages run; tri-supervise status shows them, tri down ends them", up, len(st.Stages))
}

// hasStarted reports whether every stage has been started and none is just starting.
func (st *Status) hasStarted() bool {
	for _, s := range st.Stages {
		if s.State == Down || s.State == Starting {
			return false
		}
	}
	return true
}

// logSince returns ": " and the supervisor's log from a byte offset on, at most its last 2000 bytes, for a
// message; nothing if the log has nothing, as on a full disk.
func logSince(h *durable.Home, from int64) string {
	text, err := h.ReadFile(logDir + "/supervise.log")
	if err != nil || int64(len(text)) < from {
		return ""
	}
	said := bytes.TrimSpace(text[max(from, int64(len(text))-2000):])
	if len(said) == 0 {
		return ""
	}
	return ": " + string(said)
}
