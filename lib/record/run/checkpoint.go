package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// Checkpoint is checkpoint.json: what a run has done so far, for its next leg. The run's owner
// writes it from what it observed; only Said and Value are the agent's own.
type Checkpoint struct {
	At        string          `json:"at"` // RFC 3339
	RunID     string          `json:"run_id"`
	Leg       int             `json:"leg"` // from 1
	SessionID string          `json:"session_id,omitempty"`
	Turns     int             `json:"turns"`
	Usage     *draft.Usage    `json:"usage,omitempty"` // of all legs
	Read      []Reading       `json:"read,omitempty"`
	Tools     []ToolUse       `json:"tools,omitempty"` // the last ones, in order
	Said      string          `json:"said,omitempty"`  // untrusted
	Heard     []string        `json:"heard,omitempty"` // ids of words
	Value     json.RawMessage `json:"value,omitempty"` // untrusted
	Asked     *Ask            `json:"asked,omitempty"` // of a leg that outlives this process; until it ends
}

// Ask is what a leg under way is asked: asked again with the same words, it is the same run.
type Ask struct {
	Prompt     string       `json:"prompt"`
	Question   string       `json:"question,omitempty"`
	Messages   []string     `json:"messages,omitempty"`
	MaxTurns   int          `json:"max_turns,omitempty"`
	MaxCostUSD float64      `json:"max_cost_usd,omitempty"`
	Words      int          `json:"words"`           // of words.ndjson that the prompt has
	Spent      *draft.Usage `json:"spent,omitempty"` // by the legs before
}

// Reading is a file that the agent was seen to read, with its receipt as of then.
type Reading struct {
	Path   string `json:"path"`            // below the codebase
	Lines  string `json:"lines,omitempty"` // 1-140; "" for the file
	SHA256 string `json:"sha256,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// ToolUse is an observed tool call.
type ToolUse struct {
	Tool string `json:"tool"`
	On   string `json:"on,omitempty"` // its object; untrusted
}

// Save durably replaces checkpoint.json of the run in folder dir.
func (c *Checkpoint) Save(dir string) error {
	h, err := openFolder(dir)
	if err != nil {
		return err
	}
	if h == nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write %s: %w", checkpointName, fs.ErrNotExist))
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = h.ReplaceSealed(checkpointName, b)
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("write %s: %w", checkpointName, err)
	}
	return nil
}

// LoadCheckpoint reads checkpoint.json of the run in folder dir, nil if there is none.
func LoadCheckpoint(dir string) (*Checkpoint, error) {
	h, err := openFolder(dir)
	if err != nil || h == nil {
		return nil, err
	}
	defer h.Close()
	b, err := h.ReadSealed(checkpointName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c := new(Checkpoint)
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", checkpointName, err))
	}
	return c, nil
}
