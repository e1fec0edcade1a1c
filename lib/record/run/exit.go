package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// Exit is exit.json of a long run: escalations/<run id>/exit.json, written once,
// when it has ended. What it gave, if its status is Done, is return.json beside it.
type Exit struct {
	RunID     string       `json:"run_id"`
	Key       string       `json:"key"` // thread
	By        string       `json:"by"`  // who had it started: tri-dispatch, or a person
	StartedAt string       `json:"started_at"`
	EndedAt   string       `json:"ended_at"`
	Status    string       `json:"status"` // Done, Failed or Nothing
	Error     string       `json:"error,omitempty"`
	Failure   *Failure     `json:"failure"`
	Usage     *draft.Usage `json:"usage"` // null: not known
	SessionID string       `json:"session_id,omitempty"`
	Starts    int          `json:"starts"` // 1, and more after crashes
}

// LoadExit reads how a long run ended; nil when it has not.
func LoadExit(h *durable.Home, id string) (*Exit, error) {
	b, err := h.ReadFile("escalations/" + id + "/exit.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	e := new(Exit)
	if err == nil {
		err = json.Unmarshal(b, e)
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read end of long run %s: %w", id, err))
	}
	return e, nil
}
