package thread

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"tri/lib/base/text"
)

// Move is a line that the orchestrator prints: one step of a thread and, at rest, the finding. It
// is all that an operator's own agent session needs to read.
type Move struct {
	At       string `json:"at"`
	Key      string `json:"key"`
	ChatName string `json:"chat_name"`
	From     string `json:"from"`
	To       string `json:"to"`
	Cycle    int    `json:"cycle"`
	Why      string `json:"why"`
	Badge    string `json:"badge,omitempty"`
	Summary  string `json:"summary,omitempty"`
}

// Moves returns the steps that one input made of old. If it began a cycle, that is the last step.
func (t *Thread) Moves(old *Thread) []Move {
	var moves []Move
	steps := t.StatusHistory[min(len(old.StatusHistory), len(t.StatusHistory)):]
	for i, c := range steps {
		m := Move{At: c.At, Key: t.Key, ChatName: t.ChatName, From: c.From, To: c.To,
			Cycle: t.Cycle, Why: c.Why}
		if i < len(steps)-1 {
			m.Cycle = old.Cycle
		}
		if c.To == PendingUser {
			m.Badge = t.Badge
			if t.InvestigatorReturn != nil {
				m.Summary = t.InvestigatorReturn.SummaryForOrchestrator
			}
		}
		moves = append(moves, m)
	}
	return moves
}

// MoveLine returns a move, as a record, as a line for people: the time in UTC, the chat, the step and why.
func MoveLine(record []byte) string {
	var m Move
	if json.Unmarshal(record, &m) != nil {
		return text.Line(string(record), 500)
	}
	at := m.At
	if t, err := time.Parse(time.RFC3339, m.At); err == nil {
		at = t.UTC().Format(time.TimeOnly)
	}
	line := fmt.Sprintf("%s  %s  %s -> %s: %s", at, cmp.Or(m.ChatName, m.Key),
		cmp.Or(m.From, "new"), m.To, m.Why)
	if m.Summary != "" {
		line += ": " + m.Summary
	}
	return text.Line(line, 500)
}
