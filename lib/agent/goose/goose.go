// Package goose runs goose: `goose run -i -` with its stream of JSON lines. It could not be
// installed during development: its behaviour is taken from its manual and its source, and the
// adapter was tested against scripts that print such lines.
//
//   - without --quiet there are sentences between the lines;
//   - the text of one message comes in pieces;
//   - older versions report tokens as a single figure, so tokens are unknown; none reports a
//     cost;
//   - its own tools are a shell and an editor that cannot be restricted to reading: the
//     sandbox confines them.
//
// https://block.github.io/goose/docs/guides/goose-cli-commands
package goose

import (
	"encoding/json"
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/base/config"
)

// set applies to every run: no questions, no keyring, no telemetry.
var set = []string{"GOOSE_MODE=auto", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false",
	"NO_COLOR=1"}

// New takes program, model and environment from cfg. The variable GOOSE_PROVIDER selects the
// provider.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "goose", func(c *program.Client) {
		c.Servers, c.Start = true, call
		c.Models = []program.Model{
			{Key: "OPENAI_API_KEY", Header: program.Bearer, Base: "OPENAI_HOST", Usual: "https://api.openai.com"},
			{Key: "ANTHROPIC_API_KEY", Header: program.XAPIKey, Base: "ANTHROPIC_HOST",
				Usual: "https://api.anthropic.com"},
		}
		c.Can = agent.Capabilities{Resumes: true, Writes: true, Servers: true}
	})
}

func call(t program.Turn) (program.Call, error) {
	r := &reader{}
	call := program.Call{Set: set, Reach: reach(t), Line: r.line}
	call.Args = []string{"run", "-i", "-", "--quiet", "--output-format", "stream-json",
		"--with-builtin", "developer"}
	for _, s := range t.Task.Servers {
		call.Args = append(call.Args, "--with-extension", strings.Join(s.Command, " "))
	}
	call.Option("--name", t.Session)
	if t.Again {
		call.Args = append(call.Args, "--resume")
	}
	if t.Task.MaxTurns > 0 {
		call.Args = append(call.Args, "--max-turns", strconv.Itoa(t.Task.MaxTurns))
	}
	if t.Model != "" {
		call.Set = append([]string{"GOOSE_MODEL=" + t.Model}, call.Set...)
	}
	return call, nil
}

// reach returns the endpoint of the provider's model.
func reach(t program.Turn) []string {
	switch t.Variable("GOOSE_PROVIDER") {
	case "anthropic":
		return t.Endpoint("https://api.anthropic.com", "ANTHROPIC_HOST")
	case "ollama":
		return t.Endpoint("http://localhost:11434", "OLLAMA_HOST")
	}
	return t.Endpoint("https://api.openai.com", "OPENAI_HOST")
}

// event holds the parsed fields of a line.
type event struct {
	Type    string `json:"type"`
	Error   string `json:"error"` // of error
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Message struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
			ToolCall struct {
				Value struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"value"`
			} `json:"toolCall"`
		} `json:"content"`
	} `json:"message"`
}

// reader reads the lines of one turn.
type reader struct{ id string } // id of the message being read

func (r *reader) line(line []byte, s *program.Seen) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "message":
		if e.Message.Role == "assistant" {
			r.message(&e, s)
		}
	case "error":
		s.Err = program.Refused(0, e.Error, "")
		s.End()
	case "complete":
		if e.Input != nil && e.Output != nil {
			s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = *e.Input, *e.Output, true
		}
		s.End()
	}
}

func (r *reader) message(e *event, s *program.Seen) {
	for _, part := range e.Message.Content {
		switch part.Type {
		case "text":
			if e.Message.ID != r.id || e.Message.ID == "" {
				s.Say("") // a new message: the earlier text was not the last message
				r.id = e.Message.ID
			}
			s.Add(part.Text)
		case "thinking":
			s.Thought(part.Thinking)
		case "toolRequest":
			s.Thought(string(s.Text()))
			s.Call(part.ToolCall.Value.Name, part.ToolCall.Value.Arguments)
		}
	}
}
