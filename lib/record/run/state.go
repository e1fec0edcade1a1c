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

// Phase is how far a run of any kind has come.
type Phase string

// The phases. A run that is Done, Nothing, Failed or Cancelled has ended.
const (
	Queued    Phase = "queued" // asked for; no owner has taken it up
	Running   Phase = "running"
	Paused    Phase = "paused"
	Waiting   Phase = "waiting" // for a person, who has its patch to decide about
	Done      Phase = "done"
	Nothing   Phase = "nothing" // the agent looked and found nothing to say
	Failed    Phase = "failed"  // its end was seen, or its owner is gone; see Failure
	Cancelled Phase = "cancelled"
)

// Statuses are the phases in the words of Agent Box (phases 1 to 3), which tell
// finer what a run waits for and how it ended.
const (
	Active    = "ACTIVE"
	Review    = "REVIEW"   // a patch waits for a person
	Proposed  = "PROPOSED" // a person made a branch or a pull request of the patch
	Complete  = "DONE"     // nothing is left to do
	Crashed   = "CRASHED"
	Stalled   = "STALLED"   // it was ended because it neither spoke nor worked for long
	Merged    = "MERGED"    // the patch was applied by a person
	Abandoned = "ABANDONED" // a person, or gc, gave it up
)

var phases = map[string]Phase{
	"": Queued, Active: Running, Review: Waiting, Proposed: Waiting, Complete: Done, Merged: Done,
	Crashed: Failed, Stalled: Failed, Abandoned: Cancelled,
}

// Process is a process that cannot be confused with a later one of its number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // its start time in clock ticks since boot; 0 where it is not known
}

// Failure is how a run went wrong, as it was seen.
type Failure struct {
	// Kind is of lib/agent: oom, timeout, tool_error, agent_abort, tests_failed, killed
	// or unknown.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Limit is what was up in a timeout: wall, silence, turns, tokens or cost.
	Limit            string `json:"limit,omitempty"`
	LastSafeArtifact string `json:"last_safe_artifact,omitempty"` // a file of the run's folder
}

const killed = "killed" // Failure.Kind of a run whose owner is gone

// State is state.json of a run: what its owner knows, written by the owner alone and
// replaced whole.
type State struct {
	Phase         Phase        `json:"phase,omitempty"` // of Status; "" in files of the first layout
	Status        string       `json:"status"`
	Parent        string       `json:"parent,omitempty"` // the run that asked for this one
	PID           *int         `json:"pid"`              // of the agent's program; null before and after
	Agent         Process      `json:"agent"`            // the same, so that a number used again is told apart
	Owner         Process      `json:"wrapper"`          // who supervises; its lease is the lock
	Starts        int          `json:"starts,omitempty"` // how often it was begun
	SessionID     *string      `json:"session_id"`
	WorktreePath  *string      `json:"worktree_path"`
	StartedAt     string       `json:"started_at"` // RFC 3339, as all times
	LastHeartbeat *string      `json:"last_heartbeat"`
	EndedAt       *string      `json:"ended_at"`
	ConfigHash    string       `json:"config_hash"`
	Failure       *Failure     `json:"failure"`
	Model         string       `json:"model,omitempty"`    // as the agent told
	Terminal      string       `json:"terminal,omitempty"` // where its owner can be watched: tmux
	Doing         string       `json:"doing,omitempty"`    // what the agent was seen to do last, one line
	Usage         *draft.Usage `json:"usage,omitempty"`    // so far; kept when it crashed
	Settled       *draft.Usage `json:"settled,omitempty"`  // what of it earlier attempts were accounted with
}

// Over reports whether the run has come to an end that is written down.
func (s *State) Over() bool {
	return s.Status != Active && (s.Status != Stalled || s.EndedAt != nil)
}

const stateName = "state.json"

// LoadState reads state.json of a run's folder. fs.ErrNotExist where there is none.
func LoadState(dir string) (s State, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	b, err := root.ReadFile(stateName)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return State{}, sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", filepath.Join(dir, stateName), err))
	}
	return s, nil
}

// Save replaces state.json in a folder of a home, durably.
func (s *State) Save(h *durable.Home, folder string) error {
	if s.Phase = phases[s.Status]; s.Status == Stalled && s.EndedAt == nil {
		s.Phase = Running
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", stateName, err)
	}
	return h.Replace(filepath.Join(folder, stateName), append(b, '\n'))
}

// Update changes state.json of a run's folder, durably; where there is none, change
// is given the zero State. It is for the run's owner, which alone may, and not while
// an agent is supervised.
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

// Sweep looks at a run's folder and writes down the end of one whose owner is gone
// without having done so: state.json then says CRASHED, what was seen, and what
// there is to continue with. It gives the state as it is now. A run whose owner
// lives, or whose lock is held by a process that outlived it, is left alone.
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
	seen := "it was not seen to do anything"
	if s.LastHeartbeat != nil {
		seen = "last sign of life " + *s.LastHeartbeat
	}
	if s.Doing != "" {
		seen += ", at " + s.Doing
	}
	s.Status, s.PID = Crashed, nil
	s.EndedAt = new(text.Timestamp(now))
	s.Failure = &Failure{
		Kind:             killed,
		Message:          fmt.Sprintf("process %d, which supervised it, ended without a word; %s", s.Owner.PID, seen),
		LastSafeArtifact: Artifact(h),
	}
}

// artifacts are the files of a run that an operator can continue with, the best first.
var artifacts = []string{
	"result.json", "return.json", "changes.patch", "report.md", "plan.md", "transcript.ndjson", "raw/stream.jsonl",
}

// Artifact is the best file that the run whose folder h is has left so far.
func Artifact(h *durable.Home) string {
	for _, name := range artifacts {
		if info, err := h.Root().Stat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return name
		}
	}
	return ""
}

// Unwatched says that a run is not supervised because its owner has been stopped,
// and what can be done; it is "" while that is at work or gone. No limit is held
// then and no end seen, and no other process may take its place: it can continue at
// any instant.
func Unwatched(owner Process) string {
	if !owner.Stopped() {
		return ""
	}
	pid := owner.PID
	return fmt.Sprintf("not supervised: process %d, which supervises it, is stopped; "+
		"kill -CONT %d has it go on, kill -9 %d ends it", pid, pid, pid)
}
