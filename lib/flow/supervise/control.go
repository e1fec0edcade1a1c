package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/record/run"
)

// Load reads the status of a home's pipeline, and whether a supervisor is running.
func Load(h *durable.Home) (st *Status, alive bool, err error) {
	lock, err := h.TryLock(lockName)
	switch {
	case err == nil:
		err = lock.Unlock()
	case errors.Is(err, durable.ErrLocked):
		alive, err = true, nil
	}
	if err != nil {
		return nil, false, err
	}
	text, err := h.ReadFile(stateName)
	if errors.Is(err, fs.ErrNotExist) {
		return &Status{}, alive, nil
	}
	if err != nil {
		return nil, alive, err
	}
	st = new(Status)
	if err := json.Unmarshal(text, st); err != nil {
		if !alive {
			return &Status{}, false, nil // torn by a power cut: its processes are gone
		}
		return nil, alive, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", stateName, err))
	}
	st.Alive = alive
	if !alive {
		for i := range st.Stages {
			st.Stages[i].State, st.Stages[i].PID = Down, 0
		}
	}
	return st, alive, nil
}

// running is Load, with an error if no supervisor runs.
func running(h *durable.Home) (*Status, error) {
	st, alive, err := Load(h)
	if err == nil && !alive {
		err = sysexit.Hint(sysexit.With(sysexit.No, errors.New("no supervisor runs for this home")),
			"tri up starts the pipeline")
	}
	return st, err
}

// Restart ends a stage, which the supervisor then starts again.
func Restart(h *durable.Home, name string) error {
	st, err := running(h)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range st.Stages {
		if s.Name != name {
			names = append(names, s.Name)
			continue
		}
		if s.PID == 0 {
			return nil // it is just being started
		}
		if !s.process().Alive() {
			return sysexit.With(sysexit.TempFail, fmt.Errorf("stage %s has just ended by itself", name))
		}
		if err := end(s.PID); err != nil {
			return sysexit.With(sysexit.TempFail, fmt.Errorf("end stage %s: %w", name, err))
		}
		return nil
	}
	return sysexit.Hint(sysexit.With(sysexit.Usage, fmt.Errorf("no stage is called %q", name)),
		"there are: "+strings.Join(names, ", "))
}

// Stop asks the supervisor to end all stages and itself, and waits until it has.
func Stop(ctx context.Context, h *durable.Home) error {
	st, err := running(h)
	switch {
	case err != nil:
		return err
	case st.PID <= 1:
		return sysexit.With(sysexit.TempFail, errors.New("the supervisor has just started: try again"))
	}
	if err := end(st.PID); err != nil {
		return sysexit.With(sysexit.NoPerm, fmt.Errorf("end process %d: %w", st.PID, err))
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, alive, err := Load(h); err != nil || !alive {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// end asks a process to end, even if it is suspended: such a process handles the signal only after it
// continues.
func end(pid int) error {
	err := syscall.Kill(pid, syscall.SIGTERM)
	if err == nil {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
	return err
}

// Print writes a status for a person.
func (st *Status) Print(w io.Writer, alive bool, now time.Time) error {
	if !alive {
		_, err := fmt.Fprintln(w, "no supervisor runs for this home; tri up starts the pipeline")
		return err
	}
	var b strings.Builder
	if (run.Process{PID: st.PID}).Stopped() {
		fmt.Fprintf(&b, "the supervisor, process %d, is stopped: stages that end now are not restarted; kill -CONT %d continues it\n", st.PID, st.PID)
	}
	for _, s := range st.Stages {
		state := s.State
		if s.process().Stopped() {
			state = "stopped"
		}
		fmt.Fprintf(&b, "%-10s %-8s", s.Name, state)
		if at, err := time.Parse(time.RFC3339, s.Since); err == nil {
			fmt.Fprintf(&b, " %8s", term.Age(at, now))
		}
		if s.PID != 0 {
			fmt.Fprintf(&b, "  process %d, %.0f MB", s.PID, float64(memory(s.PID))/1e6)
		}
		if s.Restarts > 0 {
			fmt.Fprintf(&b, "  restarts %d, %s", s.Restarts, s.Ended)
		}
		if s.State == Waiting {
			fmt.Fprintf(&b, "; %s/%s.log says why", logDir, s.Name)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
