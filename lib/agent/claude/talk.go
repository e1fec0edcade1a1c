package claude

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/agent/rpc"
	record "tri/lib/record/run"
)

// patience is how long the program may take, after a result, to begin with a word that it has not
// begun with: it does so within a second. A version that does not report what becomes of words
// would otherwise never end. Tests shorten it.
var patience = 10 * time.Second

// talk is a turn of a program that reads messages from its standard input while it works.
type talk struct {
	turn     program.Turn
	messages *program.Messages
	lines    *rpc.Lines
	ids      map[string]string // of words, by the UUID of their message
	waiting  map[string]bool   // messages that the model does not have yet
	aborts   int               // interruptions whose result is still to come
	timer    *time.Timer
}

func newTalk(t program.Turn, m *program.Messages) *talk {
	return &talk{turn: t, messages: m, ids: map[string]string{}, waiting: map[string]bool{}}
}

// message is a line of standard input.
type message struct {
	Type      string         `json:"type"`
	UUID      string         `json:"uuid,omitempty"`
	Message   map[string]any `json:"message,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	Request   map[string]any `json:"request,omitempty"`
}

func (t *talk) begin(in io.WriteCloser, s *program.Seen) {
	t.lines = rpc.NewLines(in)
	t.user("", t.turn.Prompt, s)
}

func (t *talk) user(uuid, text string, s *program.Seen) {
	t.write(message{Type: "user", UUID: uuid, Message: map[string]any{"role": "user", "content": text}}, s)
}

func (t *talk) write(m message, s *program.Seen) {
	if err := t.lines.Write(m); err != nil {
		s.Err = agent.Fail(agent.ToolError, err)
		s.End()
	}
}

// word writes a word; a correction also ends the model's call in hand.
func (t *talk) word(w agent.Word, s *program.Seen) {
	uuid := uuidOf(w.ID)
	if w.Kind == record.Redirect && len(t.waiting) == 0 {
		t.aborts++
		t.interrupt(uuid, s)
	}
	t.ids[uuid], t.waiting[uuid] = w.ID, true
	t.user(uuid, w.Text, s)
	t.turn.Task.Hear(w.ID, record.Sent)
}

func (t *talk) interrupt(id string, s *program.Seen) {
	t.write(message{Type: "control_request", RequestID: id,
		Request: map[string]any{"subtype": "interrupt"}}, s)
}

// cancel interrupts the turn. Its result has what it cost; words that are not in it are not waited for.
func (t *talk) cancel(s *program.Seen) {
	t.aborts = 0
	clear(t.waiting)
	t.interrupt("cancel", s)
}

// line parses a line of output. The turn ends with a result when the model has had every word.
func (t *talk) line(line []byte, s *program.Seen) {
	var l struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		Terminal string `json:"terminal_reason"`
		Command  string `json:"command_uuid"`
		State    string `json:"state"`
	}
	if line[0] != '{' || json.Unmarshal(line, &l) != nil {
		return
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if l.Type == "command_lifecycle" {
		if id, ours := t.ids[l.Command]; ours && t.waiting[l.Command] &&
			(l.State == "started" || l.State == "completed") {
			delete(t.waiting, l.Command)
			t.turn.Task.Hear(id, record.Taken)
		}
		return
	}
	t.messages.Line(line, s)
	if !s.Ended() {
		return
	}
	switch {
	case t.aborts > 0 && l.Subtype == "error_during_execution":
		t.aborts-- // it was interrupted by a word, which follows
		s.Err = nil
		t.wait(s)
	case len(t.waiting) > 0 && s.Err == nil:
		t.wait(s)
	default:
		t.lines.Close()
	}
}

// wait continues after a result, for the turn that a word begins.
func (t *talk) wait(s *program.Seen) {
	s.Resume()
	t.timer = time.AfterFunc(patience, func() {
		s.Do(func() {
			s.End()
			t.lines.Close()
		})
	})
}

// uuidOf returns the UUID by which a word's message is known to the program.
func uuidOf(id string) string {
	b := sha256.Sum256([]byte(id))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // RFC 9562, version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
