package program

import (
	"encoding/json"
	"fmt"
	"strings"

	"tri/lib/agent"
	"tri/lib/record/draft"
)

// Messages parses the line format that Claude Code and others print with `--output-format
// stream-json`: system/init, assistant, user, result. The order of keys differs between versions,
// so every line is parsed.
type Messages struct {
	Variables string // the variables to set if the key was refused
	Inclusive bool   // input_tokens includes the cached tokens
	// Whole says that modelUsage counts this process alone: of a resumed session it counts the session.
	Whole bool

	calls  map[string]draft.Usage // of each answer of the model, by its id
	before draft.Usage            // of results before, in the same process
}

// message holds the parsed fields of a line.
type message struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"` // of system/init
	Message   struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"` // blocks, or a string
		Usage   *tokens         `json:"usage"`
	} `json:"message"`

	// Of system/api_retry and system/permission_denied.
	Attempt     int    `json:"attempt"`
	ErrorStatus int    `json:"error_status"`
	ToolName    string `json:"tool_name"`

	// Of the result.
	IsError          bool            `json:"is_error"`
	Result           string          `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           []string        `json:"errors"`
	Error            struct {
		Message string `json:"message"`
	} `json:"error"`
	APIErrorStatus int      `json:"api_error_status"`
	NumTurns       int      `json:"num_turns"`
	TotalCostUSD   *float64 `json:"total_cost_usd"`
	Usage          *tokens  `json:"usage"`
	// ModelUsage counts the calls of side models too, which usage leaves out.
	ModelUsage map[string]struct {
		Input         int64 `json:"inputTokens"`
		CacheCreation int64 `json:"cacheCreationInputTokens"`
		CacheRead     int64 `json:"cacheReadInputTokens"`
		Output        int64 `json:"outputTokens"`
	} `json:"modelUsage"`
}

type tokens struct {
	Input         int64 `json:"input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	Output        int64 `json:"output_tokens"`
}

// Line parses one line of output.
func (m *Messages) Line(line []byte, s *Seen) {
	var l message
	if line[0] != '{' || json.Unmarshal(line, &l) != nil {
		return // text between the lines: kept in the transcript, not a message
	}
	switch l.Type {
	case "system":
		m.system(&l, s)
	case "assistant":
		m.assistant(&l, s)
	case "result":
		m.result(&l, s)
	}
}

func (m *Messages) system(l *message, s *Seen) {
	switch l.Subtype {
	case "init":
		s.Model = l.Model
		s.Session(l.SessionID)
	case "api_retry":
		s.Milestone(fmt.Sprintf("the model's endpoint answers %d: try %d failed", l.ErrorStatus, l.Attempt))
	case "permission_denied":
		s.Milestone("not allowed: " + l.ToolName)
	case "compact_boundary":
		s.Milestone("it compacted its context")
	}
}

// assistant handles an answer of the model or a part of one. An answer of several blocks comes as
// several lines, each with the usage of the whole answer.
func (m *Messages) assistant(l *message, s *Seen) {
	if u := l.Message.Usage; u != nil {
		if m.calls == nil {
			m.calls = map[string]draft.Usage{}
		}
		before := m.calls[l.Message.ID]
		s.Usage.InputTokens += m.input(u) - before.InputTokens
		s.Usage.OutputTokens += u.Output - before.OutputTokens
		m.calls[l.Message.ID] = draft.Usage{InputTokens: m.input(u), OutputTokens: u.Output}
		s.Told, s.Usage.Turns = true, len(m.calls)
	}
	var blocks []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	}
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch b.Type {
		case "text", "thinking":
			s.Thought(b.Text + b.Thinking)
		case "tool_use":
			s.Call(b.Name, b.Input)
		}
	}
}

// result handles the final line. A failed call has the subtype "success", too: is_error decides.
func (m *Messages) result(l *message, s *Seen) {
	if u := l.Usage; u != nil {
		m.before.InputTokens, m.before.OutputTokens = m.before.InputTokens+m.input(u),
			m.before.OutputTokens+u.Output
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = m.before.InputTokens, m.before.OutputTokens, true
	}
	var in, out int64
	for _, u := range l.ModelUsage {
		in, out = in+u.Input+u.CacheCreation+u.CacheRead, out+u.Output
	}
	if m.Whole && in+out > s.Usage.InputTokens+s.Usage.OutputTokens {
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = in, out, true
	}
	s.Usage.CostUSD, s.Usage.Turns = l.TotalCostUSD, max(l.NumTurns, s.Usage.Turns)
	s.Value = l.StructuredOutput
	s.Say(l.Result)
	s.End()
	if !l.IsError && l.Subtype == "success" {
		return
	}
	said := strings.Join(append(l.Errors, l.Result, l.Error.Message), " ")
	switch {
	case strings.Contains(l.Subtype, "structured_output"):
		s.Err = agent.Failf(agent.Abort, "it gave no valid value: %q", brief(l.Subtype+": "+said))
	case strings.Contains(l.Subtype, "max_"):
		s.Err = Spent(l.Subtype + ": " + said)
	case strings.Contains(said, "No conversation found"):
		s.Err = NoSession(said)
	default:
		s.Err = Refused(l.APIErrorStatus, said, m.Variables)
	}
}

func (m *Messages) input(u *tokens) int64 {
	if m.Inclusive {
		return u.Input
	}
	return u.Input + u.CacheCreation + u.CacheRead
}

// on lists the members of a tool's input that name its object.
var on = []string{"file_path", "filePath", "filepath", "absolute_path", "path", "command", "cmd", "pattern",
	"query", "url"}

// On returns the object of a tool call, taken from its input.
func On(input []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) == nil {
		for _, name := range on {
			var text string
			if json.Unmarshal(members[name], &text) == nil && text != "" {
				return text
			}
		}
	}
	return string(input[:min(len(input), 300)])
}

// lines returns the lines that the input of a reading tool names, as 1-140, in the members that the
// programs with adapters use; "" if it names none.
func lines(input []byte) string {
	var in struct {
		Offset, Limit int
		StartLine     int   `json:"start_line"`
		EndLine       int   `json:"end_line"`
		ViewRange     []int `json:"view_range"`
		Line          int
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	first, last := max(in.Offset, in.StartLine, in.Line), in.EndLine
	if len(in.ViewRange) == 2 {
		first, last = in.ViewRange[0], in.ViewRange[1]
	}
	if first = max(first, 1); in.Limit > 0 && last == 0 {
		last = first + in.Limit - 1
	}
	if last < first {
		return ""
	}
	return fmt.Sprintf("%d-%d", first, last)
}
