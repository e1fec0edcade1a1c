package box

import (
	"encoding/json"
	"fmt"

	"tri/lib/agent"
)

// Event is a line of raw/stream.jsonl.
type Event struct {
	At string `json:"at"` // RFC 3339
	agent.Event
}

func readEvent(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}
