package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/agent/rpc"
	"tri/lib/record/run"
)

// server is a turn of `codex app-server`, which takes messages while it works. Observed with version
// 0.169.0, whose help calls it experimental:
//
//   - turn/steer is answered at once, and ends the model's call in hand; the next one has the
//     message, which is then a completed item of type userMessage;
//   - after the end of a turn it is refused: a new turn begins with the message;
//   - turn/interrupt keeps what was read.
type server struct {
	turn    program.Turn
	peer    *rpc.Peer
	thread  string
	active  string                                       // id of the turn in progress, "" if there is none
	asked   map[string]func(*rpc.Message, *program.Seen) // by the request's id
	waiting []agent.Word                                 // words that the model does not have yet
	sent    []string                                     // ids of those that turn/start carries
}

type object = map[string]any

// serve changes a call so that the program can receive messages.
func serve(t program.Turn, call *program.Call, settings []string) {
	v := &server{turn: t, asked: map[string]func(*rpc.Message, *program.Seen){}}
	call.Args = append([]string{"app-server"}, settings...)
	call.Talk, call.Line, call.Word, call.Cancel, call.Exit = v.begin, v.line, v.word, v.cancel, v.exit
}

func (v *server) begin(in io.WriteCloser, s *program.Seen) {
	v.peer = rpc.NewPeer(in)
	v.ask(s, "initialize", object{"clientInfo": object{"name": "tri", "version": "1"},
		"capabilities": object{"experimentalApi": true}}, v.initialized)
}

// ask sends a request; read gets its answer, also a fault.
func (v *server) ask(s *program.Seen, method string, params any, read func(*rpc.Message, *program.Seen)) {
	id, err := v.peer.Ask(method, params)
	v.asked[strconv.Itoa(id)] = read
	if err != nil {
		v.fail(s, err)
	}
}

func (v *server) fail(s *program.Seen, err error) {
	s.Err = err
	v.end(s)
}

func (v *server) end(s *program.Seen) {
	s.End()
	v.peer.Close()
}

func (v *server) initialized(m *rpc.Message, s *program.Seen) {
	if m.Error != nil {
		v.fail(s, fmt.Errorf("%w: %w", agent.ErrNoSteer, m.Error))
		return
	}
	if err := v.peer.Notify("initialized", object{}); err != nil {
		v.fail(s, err)
		return
	}
	params := object{"cwd": v.turn.Task.Codebase}
	if v.turn.Again {
		params["threadId"] = v.turn.Session
		v.ask(s, "thread/resume", params, v.opened)
		return
	}
	v.ask(s, "thread/start", params, v.opened)
}

func (v *server) opened(m *rpc.Message, s *program.Seen) {
	var r struct {
		Thread struct{ ID string }
		Model  string
	}
	switch {
	case m.Error != nil && v.turn.Again:
		v.fail(s, program.NoSession(m.Error.Error()))
		return
	case m.Error != nil:
		v.fail(s, program.Refused(httpStatus(m.Error.Error()), m.Error.Error(), "OPENAI_API_KEY"))
		return
	case json.Unmarshal(m.Result, &r) != nil || !program.ValidID(r.Thread.ID):
		v.fail(s, agent.Failf(agent.ToolError, "its thread has no usable name"))
		return
	}
	v.thread, s.Model = r.Thread.ID, r.Model
	s.Session(v.thread)
	v.start(s, v.turn.Prompt, "")
}

// start begins a turn.
func (v *server) start(s *program.Seen, text, message string) {
	params := object{"threadId": v.thread, "input": []object{{"type": "text", "text": text}}}
	if message != "" {
		params["clientUserMessageId"] = message
	}
	v.ask(s, "turn/start", params, func(m *rpc.Message, s *program.Seen) {
		if m.Error != nil {
			v.fail(s, program.Refused(httpStatus(m.Error.Error()), m.Error.Error(), "OPENAI_API_KEY"))
		}
	})
}

// word sends a word to the turn in progress, or keeps it for the next one. A correction interrupts.
func (v *server) word(w agent.Word, s *program.Seen) {
	v.waiting = append(v.waiting, w)
	if v.active == "" {
		return // it is about to begin, or has just ended: see finish
	}
	if w.Kind == run.Redirect {
		v.interrupt(s)
		return
	}
	v.steer(w, s)
}

func (v *server) interrupt(s *program.Seen) {
	v.ask(s, "turn/interrupt", object{"threadId": v.thread, "turnId": v.active},
		func(*rpc.Message, *program.Seen) {})
}

// cancel interrupts the turn in progress. No other follows.
func (v *server) cancel(s *program.Seen) {
	if v.waiting = nil; v.active == "" {
		v.fail(s, agent.Failf(agent.Killed, "it was cancelled before its turn"))
		return
	}
	v.interrupt(s)
}

func (v *server) steer(w agent.Word, s *program.Seen) {
	params := object{
		"threadId": v.thread, "expectedTurnId": v.active, "clientUserMessageId": w.ID,
		"input": []object{{"type": "text", "text": w.Text}},
	}
	v.turn.Task.Hear(w.ID, run.Sent)
	// refused: it waits for the next turn
	v.ask(s, "turn/steer", params, func(*rpc.Message, *program.Seen) {})
}

// taken notes that the model has a message.
func (v *server) taken(message string) {
	ids := []string{message}
	if len(v.sent) > 0 && message == v.sent[0] {
		ids, v.sent = v.sent, nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(v.waiting, func(w agent.Word) bool { return w.ID == id })
		if i >= 0 {
			v.waiting = slices.Delete(v.waiting, i, i+1)
			v.turn.Task.Hear(id, run.Taken)
		}
	}
}

// finish ends with the turn, or begins another one with the words that it did not take.
func (v *server) finish(s *program.Seen) {
	v.active = ""
	if len(v.waiting) == 0 {
		v.end(s)
		return
	}
	var texts []string
	v.sent = nil
	for _, w := range v.waiting {
		texts, v.sent = append(texts, w.Text), append(v.sent, w.ID)
		v.turn.Task.Hear(w.ID, run.Sent)
	}
	v.start(s, strings.Join(texts, "\n\n"), v.sent[0])
}

// notice is what a notification carries.
type notice struct {
	Item struct {
		Type     string
		ClientID string `json:"clientId"`
		Text     string
		Summary  []string
		Command  string
		Server   string
		Tool     string
		Query    string
		Changes  []struct{ Path string }
		Actions  []struct{ Type, Path string } `json:"commandActions"`

		Arguments json.RawMessage
	}
	Turn struct {
		ID, Status string
		Error      *struct{ Message string }
	}
	TokenUsage struct {
		Total struct{ InputTokens, OutputTokens int64 }
	}
	Error   struct{ Message string }
	Message string
}

func (v *server) line(line []byte, s *program.Seen) {
	var m rpc.Message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil || s.Ended() {
		return
	}
	switch {
	case m.Method == "":
		if read := v.asked[string(m.ID)]; read != nil {
			delete(v.asked, string(m.ID))
			read(&m, s)
		}
		return
	case len(m.ID) > 0: // it asks for a permission, which the settings have given or refused
		err := v.peer.Answer(m.ID, nil, &rpc.Fault{Code: rpc.UnknownMethod,
			Message: "there is no " + m.Method})
		if err != nil {
			v.fail(s, err)
		}
		return
	}
	var n notice
	if json.Unmarshal(m.Params, &n) == nil {
		v.notice(m.Method, &n, s)
	}
}

func (v *server) notice(method string, n *notice, s *program.Seen) {
	switch method {
	case "turn/started":
		v.active = n.Turn.ID
		for _, w := range v.waiting {
			if !slices.Contains(v.sent, w.ID) {
				v.steer(w, s)
			}
		}
	case "item/started":
		n.started(s)
	case "item/completed":
		if n.Item.Type == "userMessage" {
			v.taken(n.Item.ClientID)
			return
		}
		n.completed(s)
	case "thread/tokenUsage/updated":
		u := n.TokenUsage.Total
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = u.InputTokens, u.OutputTokens, true
		s.Usage.Turns++
	case "error":
		s.Milestone(n.Error.Message) // it retries, or the turn fails
	case "turn/completed":
		switch {
		case n.Turn.Status == "failed" && n.Turn.Error != nil:
			v.fail(s, program.Refused(httpStatus(n.Turn.Error.Message), n.Turn.Error.Message,
				"OPENAI_API_KEY"))
		case n.Turn.Status == "interrupted" && len(v.waiting) == 0:
			v.fail(s, agent.Failf(agent.Killed, "its turn was interrupted"))
		default:
			v.finish(s)
		}
	}
}

func (n *notice) started(s *program.Seen) {
	switch i := n.Item; i.Type {
	case "commandExecution":
		told := false
		for _, a := range i.Actions {
			if a.Type == "read" && a.Path != "" {
				s.Tool("read", a.Path)
				told = true
			}
		}
		if !told {
			s.Tool("shell", i.Command)
		}
	case "mcpToolCall":
		s.Tool(strings.TrimPrefix(i.Server+"."+i.Tool, "."), program.On(i.Arguments))
	case "webSearch":
		s.Tool("web_search", i.Query)
	}
}

func (n *notice) completed(s *program.Seen) {
	switch i := n.Item; i.Type {
	case "reasoning":
		s.Thought(strings.Join(i.Summary, "\n"))
	case "agentMessage":
		s.Thought(i.Text)
		s.Say(i.Text)
	case "fileChange":
		for _, c := range i.Changes {
			s.Tool("edit", c.Path)
		}
	}
}

// exit finds versions without an app-server.
func (v *server) exit(e proc.Exit, s *program.Seen) {
	if !s.Ended() && strings.Contains(e.Stderr, "unrecognized subcommand") {
		s.Err = fmt.Errorf("%w: it has no app-server", agent.ErrNoSteer)
	}
}
