package run

import "tri/lib/record/draft"

// Statuses of a supervised run (Agent Box, phases 1 to 3).
const (
	Active    = "ACTIVE"
	Review    = "REVIEW"    // a patch waits for a person
	Complete  = "DONE"      // nothing is left to do
	Crashed   = "CRASHED"   // its end was seen, or its process is gone; see Failure
	Stalled   = "STALLED"   // alive, but neither a word nor work for long
	Merged    = "MERGED"    // the patch was applied by a person
	Abandoned = "ABANDONED" // a person, or gc, gave it up
)

// Process is a process that cannot be confused with a later one of its number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // its start time in clock ticks since boot; 0 where nobody can know
}

// Failure is how a run went wrong, as it was seen.
type Failure struct {
	Kind             string `json:"kind"` // of lib/agent: oom, timeout, tool_error, agent_abort, tests_failed, killed, unknown
	Message          string `json:"message"`
	Limit            string `json:"limit,omitempty"`              // of a timeout, what was up: wall, silence, turns, tokens or cost
	LastSafeArtifact string `json:"last_safe_artifact,omitempty"` // a file of the run's folder
}

// State is state.json of a run: what its wrapper knows, written by the wrapper
// alone and replaced whole.
type State struct {
	Status        string       `json:"status"`
	PID           *int         `json:"pid"`     // of the agent's program; null before and after
	Agent         Process      `json:"agent"`   // the same, so that a number used again is told apart
	Wrapper       Process      `json:"wrapper"` // who supervises
	SessionID     *string      `json:"session_id"`
	WorktreePath  *string      `json:"worktree_path"`
	StartedAt     string       `json:"started_at"` // RFC 3339, as all times
	LastHeartbeat *string      `json:"last_heartbeat"`
	EndedAt       *string      `json:"ended_at"`
	ConfigHash    string       `json:"config_hash"`
	Failure       *Failure     `json:"failure"`
	Model         string       `json:"model,omitempty"` // as the agent told
	Doing         string       `json:"doing,omitempty"` // what the agent was seen to do last, one line
	Usage         *draft.Usage `json:"usage,omitempty"` // so far; kept when it crashed
}

// Over reports whether the run has come to an end that is written down.
func (s *State) Over() bool {
	return s.Status != Active && (s.Status != Stalled || s.EndedAt != nil)
}
