package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
)

// newRooms returns a room as several new ones: each run of labelled messages, and before it the messages
// before, at most as many as given. Runs closer than that are one.
func newRooms(r fitRoom, before int) (fitRoom, error) {
	lines := bytes.SplitAfter(bytes.TrimSpace(r.messages), []byte("\n"))
	var out bytes.Buffer
	next, run := 0, 0 // the first line that is in no run yet
	for i, line := range lines {
		if _, ok := r.labels[gjson.GetBytes(line, "message_id").Str]; !ok {
			continue
		}
		if next == 0 || i-next >= before {
			run, next = run+1, max(i-before, next)
		}
		for ; next <= i; next++ {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(lines[next], &fields); err != nil {
				return r, fmt.Errorf("%s:%d: %w", r.name, next+1, err)
			}
			fields["chat_id"] = json.RawMessage(fmt.Sprintf(`"%d"`, run))
			line, err := json.Marshal(fields)
			if err != nil {
				return r, fmt.Errorf("%s:%d: %w", r.name, next+1, err)
			}
			out.Write(append(line, '\n'))
		}
	}
	r.name, r.messages = r.name+", new rooms", out.Bytes()
	return r, nil
}
