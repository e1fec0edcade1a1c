package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/agent/rpc"
	"tri/lib/judge/codebase"
	record "tri/lib/record/run"
)

// conversation is one turn: initialize, a new or a loaded session, a prompt.
type conversation struct {
	turn   program.Turn
	tree   *codebase.Tree
	before string // the agent's text of the previous turn

	peer    *rpc.Peer
	id      string                   // of the session
	waiting int                      // the id of the request whose answer is next
	next    func(*rpc.Message) error // reads that answer
	s       *program.Seen
	loaded  bool              // it has loaded a session
	prompts bool              // the prompt has been sent: updates now belong to it
	old     int               // updates received before that
	tools   map[string]string // kinds, by id, of tool calls that have not yet named their object
	thought string
	open    []prompt     // that are not answered
	later   []agent.Word // for the prompt after the one that is cancelled
	fresh   bool         // a turn has ended: further text replaces what was said
	message string       // id of the last text, if the program names it
}

// prompt is a prompt of the session: the task's, or a word.
type prompt struct {
	id   int
	word string // its id; "" for the task
}

type object = map[string]any

// begin sends initialize.
func (c *conversation) begin(in io.WriteCloser, s *program.Seen) {
	c.peer, c.s = rpc.NewPeer(in), s
	c.ask("initialize", object{
		"protocolVersion": 1, "clientInfo": object{"name": "tri", "version": "1"},
		// If we served reads, Gemini CLI could not distinguish a missing file from other errors,
		// and would create no new file: where it writes, it must read by itself.
		"clientCapabilities": object{"fs": object{"readTextFile": !c.turn.Task.Write,
			"writeTextFile": c.turn.Task.Write}, "terminal": false},
	}, c.initialized)
}

// cancel asks the program to end its turn.
func (c *conversation) cancel(*program.Seen) {
	c.later = nil
	if c.id == "" {
		c.fail(agent.Failf(agent.Killed, "it was cancelled before its turn"))
		return
	}
	_ = c.peer.Notify("session/cancel", object{"sessionId": c.id}) // it is ended in any case
}

// ask sends a request and sets the function that reads its answer.
func (c *conversation) ask(method string, params any, next func(*rpc.Message) error) {
	id, err := c.peer.Ask(method, params)
	c.waiting, c.next = id, next
	if err != nil {
		c.fail(err)
	}
}

// fail ends the turn with an error.
func (c *conversation) fail(err error) {
	c.s.Err = err
	c.end()
}

func (c *conversation) end() {
	c.s.End()
	c.peer.Close()
}

// close ends the program's input.
func (c *conversation) close() {
	if c.peer != nil {
		c.peer.Close()
	}
}

// line parses a line of the program's output.
func (c *conversation) line(line []byte, s *program.Seen) {
	var h rpc.Message
	if line[0] != '{' || json.Unmarshal(line, &h) != nil {
		return // text between the messages: kept in the transcript
	}
	switch {
	case h.Method == "session/update":
		c.update(h.Params)
	case h.Method != "" && len(h.ID) > 0:
		result, err := c.serve(h.Method, h.Params)
		if err := c.peer.Answer(h.ID, result, err); err != nil {
			c.fail(err)
		}
	case h.Method == "" && c.prompts:
		i := slices.IndexFunc(c.open, func(p prompt) bool { return string(h.ID) == strconv.Itoa(p.id) })
		if i < 0 {
			return
		}
		if err := c.ended(i, &h); err != nil {
			c.fail(err)
		}
	case h.Method == "" && string(h.ID) == strconv.Itoa(c.waiting) && c.next != nil:
		next := c.next
		c.next = nil
		if err := next(&h); err != nil {
			c.fail(err)
		}
	}
}

// refused converts an error answer of the program.
func refused(f *rpc.Fault) error {
	if f.Code == needsLogin {
		return program.Refused(401, f.Error(), "the variables of its key")
	}
	return program.Refused(0, f.Error(), "")
}

func (c *conversation) initialized(h *rpc.Message) error {
	if h.Error != nil {
		return refused(h.Error)
	}
	var hello struct {
		ProtocolVersion   int `json:"protocolVersion"`
		AgentCapabilities struct {
			LoadSession bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	if err := json.Unmarshal(h.Result, &hello); err != nil {
		return agent.Fail(agent.ToolError, fmt.Errorf("its hello: %w", err))
	}
	if hello.ProtocolVersion != 1 {
		return agent.Failf(agent.ToolError, "it uses version %d of the protocol, and tri version 1",
			hello.ProtocolVersion)
	}
	switch {
	case !c.turn.Again:
		c.start()
	case hello.AgentCapabilities.LoadSession:
		c.load()
	default:
		return c.startAgain(errors.New("it keeps none"))
	}
	return nil
}

// place returns the session's working directory and tool servers.
func (c *conversation) place() object {
	servers := []object{}
	for _, s := range c.turn.Task.Servers {
		servers = append(servers, object{"name": s.Name, "command": s.Command[0], "args": s.Command[1:],
			"env": []object{}})
	}
	return object{"cwd": c.turn.Task.Codebase, "mcpServers": servers}
}

func (c *conversation) load() {
	open := c.place()
	open["sessionId"] = c.turn.Session
	c.ask("session/load", open, func(h *rpc.Message) error {
		if h.Error != nil {
			return c.startAgain(h.Error)
		}
		c.loaded = true
		c.drain(h)
		return nil
	})
}

// drain prompts a loaded session once its history has been replayed. It should have been by now,
// but Gemini CLI replays it after its answer and marks no end, and the old session's last text
// would be taken for the new answer. So drain sends an unknown method, which every program
// answers at once (extensibility of the protocol), until no history arrives in between.
func (c *conversation) drain(opened *rpc.Message) {
	told := c.old
	c.ask("_tri/settled", object{}, func(*rpc.Message) error {
		if c.old != told {
			c.drain(opened)
			return nil
		}
		return c.opened(c.turn.Session, opened)
	})
}

// startAgain starts a new session in place of one that is not available. It does so only for a
// value that is sent back: a resumed run needs its own session.
func (c *conversation) startAgain(why error) error {
	if c.before == "" {
		return program.NoSession(why.Error())
	}
	c.start()
	return nil
}

func (c *conversation) start() {
	c.ask("session/new", c.place(), func(h *rpc.Message) error {
		var made struct {
			SessionID string `json:"sessionId"`
		}
		if h.Error != nil {
			return refused(h.Error)
		}
		if err := json.Unmarshal(h.Result, &made); err != nil || !program.ValidID(made.SessionID) {
			return agent.Failf(agent.ToolError, "its new session has no usable name")
		}
		return c.opened(made.SessionID, h)
	})
}

// opened prompts the session.
func (c *conversation) opened(id string, h *rpc.Message) error {
	var models struct {
		Models struct {
			Current string `json:"currentModelId"`
		} `json:"models"`
	}
	if json.Unmarshal(h.Result, &models) == nil {
		c.s.Model = models.Models.Current
	}
	c.id = id
	c.s.Session(id)
	c.prompts = true
	return c.say("", c.prompt())
}

// say sends a prompt.
func (c *conversation) say(word, text string) error {
	id, err := c.peer.Ask("session/prompt",
		object{"sessionId": c.id, "prompt": []object{{"type": "text", "text": text}}})
	c.open = append(c.open, prompt{id, word})
	if word != "" {
		c.turn.Task.Hear(word, record.Sent)
	}
	return err
}

// word prompts with a word while the program works. Its turn takes it, or begins again with it and
// ends the earlier prompt with an error. A correction cancels the turn first.
func (c *conversation) word(w agent.Word, _ *program.Seen) {
	var err error
	switch {
	case !c.prompts || len(c.later) > 0:
		c.later = append(c.later, w)
	case w.Kind == record.Redirect:
		c.later = append(c.later, w)
		err = c.peer.Notify("session/cancel", object{"sessionId": c.id})
	default:
		err = c.say(w.ID, w.Text)
	}
	if err != nil {
		c.fail(err)
	}
}

// ended handles the answer of a prompt. The turn ends with the last one. The error of an earlier
// one, or of one that was cancelled for a word, is that word's effect.
func (c *conversation) ended(i int, h *rpc.Message) error {
	p, last := c.open[i], len(c.open) == 1
	c.fresh = true
	c.open = slices.Delete(c.open, i, i+1)
	var end struct {
		StopReason string `json:"stopReason"`
	}
	stopped := h.Error != nil && h.Error.Code == rpc.Internal ||
		json.Unmarshal(h.Result, &end) == nil && end.StopReason == "cancelled"
	if !stopped && h.Error == nil && p.word != "" {
		c.turn.Task.Hear(p.word, record.Taken)
	}
	switch {
	case !last && (stopped || h.Error == nil):
		return nil
	case last && len(c.later) > 0 && (stopped || h.Error == nil):
		words := c.later
		c.later = nil
		for _, w := range words {
			if err := c.say(w.ID, w.Text); err != nil {
				return err
			}
		}
		return nil
	}
	return c.answered(h)
}

// prompt returns the text of the prompt. If a value is sent back to a program without sessions,
// the earlier prompt and answer come first.
func (c *conversation) prompt() string {
	if !c.turn.Again || c.loaded {
		return c.turn.Prompt
	}
	return fmt.Sprintf("%s\n\n# What you gave back\n\n%s\n\n%s", c.turn.Task.Prompt, c.before, c.turn.Prompt)
}

// answered handles the end of the turn.
func (c *conversation) answered(h *rpc.Message) error {
	if h.Error != nil {
		return refused(h.Error)
	}
	var end struct {
		StopReason string `json:"stopReason"`
		Usage      *struct {
			Input      int64 `json:"inputTokens"`
			Output     int64 `json:"outputTokens"`
			Thought    int64 `json:"thoughtTokens"`
			CacheRead  int64 `json:"cachedReadTokens"`
			CacheWrite int64 `json:"cachedWriteTokens"`
		} `json:"usage"`
		Meta struct { // of Gemini CLI
			Quota struct {
				Tokens *struct {
					Input  int64 `json:"input_tokens"`
					Output int64 `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(h.Result, &end); err != nil {
		return agent.Fail(agent.ToolError, fmt.Errorf("its answer: %w", err))
	}
	if u := end.Usage; u != nil {
		c.s.Told = true
		c.s.Usage.InputTokens, c.s.Usage.OutputTokens = u.Input+u.CacheRead+u.CacheWrite, u.Output+u.Thought
	}
	if u := end.Meta.Quota.Tokens; u != nil && !c.s.Told {
		c.s.Usage.InputTokens, c.s.Usage.OutputTokens, c.s.Told = u.Input, u.Output, true
	}
	if c.s.Thought(string(c.s.Text())); len(c.s.Text()) == 0 {
		c.s.Say(c.thought) // its last text came before its last tool call
	}
	switch end.StopReason {
	case "end_turn":
		c.end()
		return nil
	case "max_tokens", "max_turn_requests":
		return program.Spent(end.StopReason)
	case "cancelled":
		return agent.Failf(agent.Killed, "its turn was cancelled")
	case "refusal":
		return agent.Failf(agent.Abort, "it refuses to continue")
	}
	return agent.Failf(agent.Unknown, "it stopped for %q", end.StopReason)
}
