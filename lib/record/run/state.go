package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Phase is the phase of a run of any kind.
type Phase string

// The phases. A run that is Done, Nothing, Failed or Cancelled has ended.
const (
	Queued    Phase = "queued" // requested; not yet started by an owner
	Running   Phase = "running"
	Paused    Phase = "paused"
	Waiting   Phase = "waiting" // for a person to decide on its patch
	Done      Phase = "done"
	Nothing   Phase = "nothing" // the agent searched and found nothing to answer
	Failed    Phase = "failed"  // it ended with an error, or its owner is gone; see Failure
	Cancelled Phase = "cancelled"
)

// Statuses refine the phases: they say what a run waits for and how it ended.
const (
	Active    = "ACTIVE"
	Review    = "REVIEW"   // a patch waits for a person
	Proposed  = "PROPOSED" // a person made the patch a branch or a pull request
	Complete  = "DONE"     // nothing is left to do
	Crashed   = "CRASHED"
	Stalled   = "STALLED"   // ended after a long time without output or CPU use
	Merged    = "MERGED"    // the patch was applied by a person
	Abandoned = "ABANDONED" // abandoned by a person or by gc
)

var phases = map[string]Phase{
	"": Queued, Active: Running, Review: Waiting, Proposed: Waiting, Complete: Done, Merged: Done,
	Crashed: Failed, Stalled: Failed, Abandoned: Cancelled,
}

// Process identifies a process, distinct from a later one with the same number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // start time in clock ticks since boot; 0 if unknown
}

// Failure says how a run failed.
type Failure struct {
	// Kind is a kind of lib/agent: oom, timeout, tool_error, agent_abort, tests_failed, killed or
	// unknown.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Limit is the limit that a timeout reached: wall, silence, turns, tokens or cost.
	Limit            string `json:"limit,omitempty"`
	LastSafeArtifact string `json:"last_safe_artifact,omitempty"` // a file of the run's folder
}

const killed = "killed" // Failure.Kind of a run whose owner is gone

// State is a run's state.json. Only the run's owner writes it; it is replaced as a whole.
type State struct {
	Phase         Phase        `json:"phase,omitempty"` // of Status; "" in files of the first layout
	Status        string       `json:"status"`
	Parent        string       `json:"parent,omitempty"` // the run that requested this one
	PID           *int         `json:"pid"`              // of the agent's program; null before and after
	Agent         Process      `json:"agent"`            // the same process, safe against reuse of its number
	Owner         Process      `json:"wrapper"`          // the supervising process; the lock is its lease
	Starts        int          `json:"starts,omitempty"` // number of starts
	SessionID     *string      `json:"session_id"`
	WorktreePath  *string      `json:"worktree_path"`
	StartedAt     string       `json:"started_at"` // RFC 3339, as all times
	LastHeartbeat *string      `json:"last_heartbeat"`
	EndedAt       *string      `json:"ended_at"`
	ConfigHash    string       `json:"config_hash"`
	Failure       *Failure     `json:"failure"`
	Model         string       `json:"model,omitempty"`    // as reported by the agent
	Terminal      string       `json:"terminal,omitempty"` // where its owner can be watched: tmux
	Doing         string       `json:"doing,omitempty"`    // the agent's last observed action, one line
	Usage         *draft.Usage `json:"usage,omitempty"`    // so far; kept when it crashed
	Settled       *draft.Usage `json:"settled,omitempty"`  // part of Usage accounted for by earlier attempts
}

// Over reports whether the run has ended and its end is recorded.
func (s *State) Over() bool {
	return s.Status != Active && (s.Status != Stalled || s.EndedAt != nil)
}

const stateName = "state.json"

// LoadState reads state.json of a run's folder. The error is fs.ErrNotExist if there is none.
func LoadState(dir string) (s State, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	b, err := durable.ReadFile(root, stateName)
	if err == nil {
		_, err = durable.Sealed(b)
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return State{}, sysexit.With(sysexit.IO,
			fmt.Errorf("read %q: %w", filepath.Join(dir, stateName), err))
	}
	return s, nil
}

// Save durably replaces state.json in a folder of a home.
func (s *State) Save(h *durable.Home, folder string) error {
	if s.Phase = phases[s.Status]; s.Status == Stalled && s.EndedAt == nil {
		s.Phase = Running
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", stateName, err)
	}
	return h.ReplaceSealed(filepath.Join(folder, stateName), b)
}

// Update durably changes state.json of a run's folder. If there is none, change receives the zero
// State. Only the run's owner may call it, and not while an agent is supervised.
func Update(dir string, change func(*State)) error {
	s, err := LoadState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	h, err := durable.Open(dir)
	if err != nil {
		return err
	}
	change(&s)
	return errors.Join(s.Save(h, "."), h.Close())
}

// Sweep records the end of a run whose owner died without recording it: state.json then has the
// status CRASHED, what was observed, and the artifact to continue from. It returns the current
// state. A run whose owner lives, or whose lock is held by a process that outlived the owner, is
// left unchanged.
func Sweep(dir string, now time.Time) (State, error) {
	s, err := LoadState(dir)
	if err != nil || s.Over() || s.Owner.Alive() {
		return s, err
	}
	h, err := durable.Open(dir)
	if err != nil {
		return s, err
	}
	lock, err := h.TryLock("lock")
	if errors.Is(err, durable.ErrLocked) {
		return s, h.Close()
	}
	if err != nil {
		return s, errors.Join(err, h.Close())
	}
	s, err = LoadState(dir) // under the lock no other process writes it
	if err == nil && !s.Over() && !s.Owner.Alive() {
		s.bury(h, now)
		err = s.Save(h, ".")
	}
	return s, errors.Join(err, lock.Unlock(), h.Close())
}

func (s *State) bury(h *durable.Home, now time.Time) {
	seen := "no activity was recorded"
	if s.LastHeartbeat != nil {
		seen = "last activity " + *s.LastHeartbeat
	}
	if s.Doing != "" {
		seen += ", at " + s.Doing
	}
	s.Status, s.PID = Crashed, nil
	s.EndedAt = new(text.Timestamp(now))
	s.Failure = &Failure{
		Kind: killed,
		Message: fmt.Sprintf("process %d, which supervised it, ended unexpectedly; %s",
			s.Owner.PID, seen),
		LastSafeArtifact: Artifact(h),
	}
}

// artifacts are the files of a run that an operator can continue from, the best first.
var artifacts = []string{
	"result.json", "return.json", "changes.patch", "report.md", "plan.md", "transcript.ndjson",
	"raw/stream.jsonl",
}

// Artifact returns the best file that the run in folder h has produced so far.
func Artifact(h *durable.Home) string {
	for _, name := range artifacts {
		if info, err := h.Root().Stat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return name
		}
	}
	return ""
}

// Unwatched returns a message if a run is unsupervised because its owner process is stopped, and
// what can be done about it. It returns "" if the owner runs or is gone. While the owner is
// stopped, limits are not enforced and the end is not noticed, and no other process may take over,
// since the owner can continue at any time.
func Unwatched(owner Process) string {
	if !owner.Stopped() {
		return ""
	}
	pid := owner.PID
	return fmt.Sprintf("not supervised: process %d, which supervises it, is stopped; "+
		"kill -CONT %d continues it, kill -9 %d ends it", pid, pid, pid)
}
