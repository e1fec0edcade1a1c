package program

import (
	"strings"
	"sync"
	"unicode/utf8"

	"tri/lib/agent"
	"tri/lib/base/lazyregexp"
	"tri/lib/record/draft"
)

const (
	maxText  = 4 << 20 // of an agent's text, in bytes
	maxEvent = 2 << 10 // of the text of an event, in bytes
)

// Seen is the state of a turn as observed so far. The program's output is untrusted: it is bounded
// here and never becomes an argument or a path. The one exception is the session's name, which
// must pass ValidID.
type Seen struct {
	Model string
	Value []byte // if the program returns one beside its text
	// Usage is the turn's usage, or the session's so far if Program.Since converts it. Told says
	// that the program reported its tokens; Turns may stay 0.
	Usage draft.Usage
	Told  bool
	// Err is the error that the program reported, with a kind (agent.Fail) or else a tool_error.
	// See Refused for errors of the model.
	Err error

	steps     sync.Mutex // see Do
	task      agent.Task
	session   string
	text      []byte
	ended     bool
	cancelled bool       // words come too late
	talking   bool       // Call.Talk was called
	mu        sync.Mutex // the process id is set by another goroutine than the lines
	pid       int
	soFar     func(u draft.Usage, told bool) draft.Usage // usage of the run, including this turn's
}

// Do runs fn while no Line or Word runs. An adapter calls it from a goroutine of its own.
func (s *Seen) Do(fn func()) {
	s.steps.Lock()
	defer s.steps.Unlock()
	fn()
}

// started reports that the process runs, with the session's name if it is known. Session reports
// it again if the program chose another name.
func (s *Seen) started(pid int) {
	s.mu.Lock()
	s.pid = pid
	s.mu.Unlock()
	s.see(agent.Event{Kind: agent.Started})
}

// see emits an event. Events are serialized.
func (s *Seen) see(e agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.SessionID, e.Text = s.session, clip(e.Text)
	e.Tool = clip(e.Tool)
	if e.Kind == agent.Started {
		e.PID = s.pid
	}
	if s.Told && e.Kind != agent.Started && s.soFar != nil {
		u := s.soFar(s.Usage, true)
		e.Usage = &u
	}
	s.task.See(e)
}

var id = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// ValidID reports whether name may name a session: it is passed to the program as an argument.
func ValidID(name string) bool { return id.MatchString(name) && !strings.Contains(name, "..") }

// Session records the program's name for the session. An invalid name is ignored.
func (s *Seen) Session(name string) {
	if name == s.session || !ValidID(name) {
		return
	}
	s.session = name
	s.see(agent.Event{Kind: agent.Started})
}

// Thought emits text that is probably not the answer.
func (s *Seen) Thought(text string) {
	if text != "" {
		s.see(agent.Event{Kind: agent.Thought, Text: text})
	}
}

// Tool emits a tool call; on is its object.
func (s *Seen) Tool(name, on string) { s.see(agent.Event{Kind: agent.Tool, Tool: name, Text: on}) }

// Call emits a tool call with its input, in which the object and the lines are found.
func (s *Seen) Call(name string, input []byte) {
	s.see(agent.Event{Kind: agent.Tool, Tool: name, Text: On(input), Lines: lines(input)})
}

// Milestone emits any other event of note.
func (s *Seen) Milestone(text string) { s.see(agent.Event{Kind: agent.Milestone, Text: text}) }

// Say replaces the agent's last message.
func (s *Seen) Say(text string) {
	s.text = nil
	s.Add(text)
}

// Add appends to the agent's last message.
func (s *Seen) Add(text string) {
	s.text = append(s.text, text[:min(len(text), maxText-len(s.text))]...)
}

// Text returns the agent's last message so far.
func (s *Seen) Text() string { return string(s.text) }

// End marks the program's output as complete. The program then has proc.Linger to exit.
func (s *Seen) End() { s.ended = true }

// Resume takes End back: the program continues after a result.
func (s *Seen) Resume() { s.ended = false }

// Ended reports whether End was called.
func (s *Seen) Ended() bool { return s.ended }

// clip bounds the text of an event.
func clip(text string) string {
	if len(text) > maxEvent {
		text = text[:maxEvent]
		for len(text) > maxEvent-utf8.UTFMax && !utf8.ValidString(text[len(text)-1:]) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
