package program

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"tri/lib/agent"
	"tri/lib/record/draft"
)

const (
	maxText  = 4 << 20 // of an agent's words, in bytes
	maxEvent = 2 << 10 // of the text of an event, in bytes
)

// Seen is what a turn has been seen to do so far. What a program says of itself
// is outside text: it is bounded here, and never becomes an argument or a path
// but for the session's name, which must look like one.
type Seen struct {
	Model string
	Value []byte // where the program gives one beside its words
	// Usage is the turn's, or the session's so far where Program.Since knows what to
	// make of it. Told says that its tokens were told; Turns may stay 0.
	Usage draft.Usage
	Told  bool
	// Err is what the program itself says went wrong: of a kind (agent.Fail), or a
	// tool_error. See Refused for errors of the model.
	Err error

	task    agent.Task
	session string
	text    []byte
	ended   bool
	mu      sync.Mutex // the process's id comes from another goroutine than its lines
	pid     int
	soFar   func(u draft.Usage, told bool) draft.Usage // of the run, with the turn's
}

// started tells that the process is there, with the session's name as far as it
// is known: Session tells it again when the program chose another.
func (s *Seen) started(pid int) {
	s.mu.Lock()
	s.pid = pid
	s.mu.Unlock()
	s.see(agent.Event{Kind: agent.Started})
}

// see tells an event, one at a time.
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

var id = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// ValidID reports whether a session may be called that: it is given to the
// program as an argument.
func ValidID(name string) bool { return id.MatchString(name) && !strings.Contains(name, "..") }

// Session is told what the program calls the session. A name that cannot be one
// is passed over.
func (s *Seen) Session(name string) {
	if name == s.session || !ValidID(name) {
		return
	}
	s.session = name
	s.see(agent.Event{Kind: agent.Started})
}

// Thought is words that are not the answer, as far as can be told.
func (s *Seen) Thought(text string) {
	if text != "" {
		s.see(agent.Event{Kind: agent.Thought, Text: text})
	}
}

// Tool is a tool in use; on is what it is used on.
func (s *Seen) Tool(name, on string) { s.see(agent.Event{Kind: agent.Tool, Tool: name, Text: on}) }

// Milestone is anything else worth knowing.
func (s *Seen) Milestone(text string) { s.see(agent.Event{Kind: agent.Milestone, Text: text}) }

// Say replaces the agent's last words.
func (s *Seen) Say(text string) {
	s.text = nil
	s.Add(text)
}

// Add continues the agent's last words.
func (s *Seen) Add(text string) {
	s.text = append(s.text, text[:min(len(text), maxText-len(s.text))]...)
}

// Text is the agent's last words so far.
func (s *Seen) Text() string { return string(s.text) }

// End is the program's last word: it has some seconds to end by itself.
func (s *Seen) End() { s.ended = true }

// Ended reports whether End was called.
func (s *Seen) Ended() bool { return s.ended }

// clip bounds a text for an event.
func clip(text string) string {
	if len(text) > maxEvent {
		text = text[:maxEvent]
		for len(text) > maxEvent-utf8.UTFMax && !utf8.ValidString(text[len(text)-1:]) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
