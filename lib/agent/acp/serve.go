package acp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"tri/lib/agent/program"
	"tri/lib/agent/rpc"
	"tri/lib/judge/codebase"
)

// update handles a session update. Updates before the prompt belong to an old session.
func (c *conversation) update(params json.RawMessage) {
	var p struct {
		Update struct {
			What    string          `json:"sessionUpdate"`
			Message string          `json:"messageId"` // of opencode: each answer of the model has one
			Content json.RawMessage `json:"content"`
			call
			Meta struct { // of Qwen Code: what a call of the model took
				Usage *struct {
					Input  int64 `json:"inputTokens"`
					Output int64 `json:"outputTokens"`
				} `json:"usage"`
			} `json:"_meta"`
			Cost *struct {
				Amount   float64 `json:"amount"`
				Currency string  `json:"currency"`
			} `json:"cost"`
		} `json:"update"`
	}
	if !c.prompts {
		c.old++
		return
	}
	if c.s.Ended() || json.Unmarshal(params, &p) != nil {
		return
	}
	u := p.Update
	if m := u.Meta.Usage; m != nil {
		c.s.Usage.InputTokens += m.Input
		c.s.Usage.OutputTokens += m.Output
		c.s.Told = true
	}
	switch u.What {
	case "agent_message_chunk":
		if c.fresh || u.Message != c.message && c.message != "" {
			c.s.Thought(string(c.s.Text()))
			c.s.Say("")
		}
		c.fresh, c.message = false, u.Message
		c.s.Add(words(u.Content))
	case "agent_thought_chunk":
		c.s.Thought(words(u.Content))
	case "tool_call":
		if text := string(c.s.Text()); text != "" {
			c.s.Thought(text)
			c.thought = text
			c.s.Say("")
		}
		c.use(u.call)
	case "tool_call_update":
		if _, waits := c.tools[u.ID]; waits {
			c.use(u.call)
		}
	case "usage_update":
		if u.Cost != nil && u.Cost.Currency == "USD" && u.Cost.Amount > 0 { // 0: the price is unknown
			c.s.Usage.CostUSD = &u.Cost.Amount
		}
	}
}

// call is a tool call, or further data on it.
type call struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
}

// maxTools bounds the tool calls whose object is awaited.
const maxTools = 100

// use reports a tool call. Some programs name its object only later: the report waits for that,
// until the call has ended.
func (c *conversation) use(u call) {
	kind := tool(u.Kind)
	if before, waits := c.tools[u.ID]; waits && u.Kind == "" {
		kind = before
	}
	on := strings.TrimSpace(u.Title)
	switch {
	case len(u.Input) > 2 && string(u.Input) != "null": // {} has no object
		on = program.On(u.Input)
	case len(u.Locations) > 0:
		on = u.Locations[0].Path
	case u.Status == "pending" && len(c.tools) < maxTools:
		if c.tools == nil {
			c.tools = map[string]string{}
		}
		c.tools[u.ID] = kind
		return
	}
	delete(c.tools, u.ID)
	c.s.Tool(kind, on)
}

// words returns the text of a content block.
func words(content json.RawMessage) string {
	var block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &block) != nil || block.Type != "text" {
		return ""
	}
	return block.Text
}

func tool(kind string) string {
	if kind == "" {
		return "other"
	}
	return kind
}

// serve answers a request of the program.
func (c *conversation) serve(method string, params json.RawMessage) (any, error) {
	switch method {
	case "session/request_permission":
		return c.permit(params)
	case "fs/read_text_file":
		return c.read(params)
	case "fs/write_text_file":
		return c.write(params)
	}
	return nil, &rpc.Fault{Code: rpc.UnknownMethod, Message: "there is no " + method}
}

// Kinds of tool that only read, and that change files.
var (
	reads   = []string{"read", "search", "think"}
	changes = []string{"edit", "delete", "move"}
)

// permit answers a permission request by the rule, with a one-time option if there is one. A tool
// of unknown kind is refused.
func (c *conversation) permit(params json.RawMessage) (any, error) {
	var p struct {
		ToolCall struct {
			Kind  string `json:"kind"`
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpc.Fault{Code: rpc.BadParams, Message: err.Error()}
	}
	kind, named := p.ToolCall.Kind, ""
	for _, o := range p.Options { // of Qwen Code: "Always Allow in project: find"
		if _, after, ok := strings.Cut(o.Name, ": "); ok {
			named = after
		}
	}
	if slices.Contains([]string{"", "other"}, kind) && c.served(p.ToolCall.Title, named) {
		kind = reads[0] // allowed by the configuration
	}
	want := []string{"reject_once", "reject_always"}
	if slices.Contains(reads, kind) || c.turn.Task.Write && slices.Contains(changes, kind) {
		want = []string{"allow_once", "allow_always"}
	} else {
		c.s.Milestone("not allowed: " + tool(kind) + " " + p.ToolCall.Title)
	}
	for _, w := range want {
		for _, o := range p.Options {
			if o.Kind == w {
				return object{"outcome": object{"outcome": "selected", "optionId": o.ID}}, nil
			}
		}
	}
	return object{"outcome": object{"outcome": "cancelled"}}, nil
}

// served reports whether a call names a tool of a tool server: in its title, or by the name in its
// options. A program gains nothing by lying here: the set of available tools is enforced elsewhere
// (package toolserver).
func (c *conversation) served(title, named string) bool {
	for _, s := range c.turn.Task.Servers {
		for _, tool := range s.Tools {
			if named == tool || strings.Contains(title, tool) && strings.Contains(title, s.Name) {
				return true
			}
		}
	}
	return false
}

func (c *conversation) read(params json.RawMessage) (any, error) {
	var p struct {
		Path  string `json:"path"`
		Line  int    `json:"line"`
		Limit *int   `json:"limit"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpc.Fault{Code: rpc.BadParams, Message: err.Error()}
	}
	text, err := c.tree.ReadFile(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &rpc.Fault{Code: notThere, Message: "Resource not found: " + p.Path}
	}
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(strings.ToValidUTF8(string(text), "\uFFFD"), "\n")
	lines = lines[min(max(p.Line-1, 0), len(lines)):]
	if p.Limit != nil {
		lines = lines[:min(max(*p.Limit, 0), len(lines))]
	}
	content := strings.Join(lines, "")
	if len(content) > 4*codebase.MaxText {
		return nil, &rpc.Fault{Code: rpc.Internal, Message: "too long: ask for some of its lines"}
	}
	return object{"content": content}, nil
}

func (c *conversation) write(params json.RawMessage) (any, error) {
	var p struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpc.Fault{Code: rpc.BadParams, Message: err.Error()}
	}
	if !c.turn.Task.Write {
		return nil, &rpc.Fault{Code: rpc.Internal, Message: "nothing may be written in this run"}
	}
	if err := c.tree.WriteFile(p.Path, []byte(p.Content)); err != nil {
		return nil, err
	}
	return object{}, nil
}
