package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

// version is the API version, which is independent of its newest features.
const version = "2023-06-01"

func (anthropic) path(base string) string {
	if strings.HasSuffix(strings.TrimRight(base, "/"), "/v1") {
		return "messages"
	}
	return "v1/messages"
}

func (anthropic) sign(r *http.Request, key string) {
	r.Header.Set("Anthropic-Version", version)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
}

// block is a part of a message.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	ID    string          `json:"id,omitempty"` // tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string `json:"tool_use_id,omitempty"` // tool_result
	Content   string `json:"content,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`

	CacheControl map[string]string `json:"cache_control,omitempty"`
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func (a anthropic) body(q question) any {
	var body struct {
		Model     string             `json:"model"`
		MaxTokens int                `json:"max_tokens"`
		System    string             `json:"system"`
		Tools     []map[string]any   `json:"tools,omitempty"`
		Messages  []anthropicMessage `json:"messages"`
	}
	body.Model, body.MaxTokens, body.System = q.model, q.most, system
	for _, t := range q.tools {
		body.Tools = append(body.Tools, map[string]any{"name": t.name, "description": t.description,
			"input_schema": t.schema})
	}
	for i, m := range q.messages {
		body.Messages = append(body.Messages, a.message(m, i == len(q.messages)-1))
	}
	return body
}

// message converts a message to the API's format. The last message requests caching of the whole
// prefix, since the next request begins with it.
func (anthropic) message(m message, last bool) anthropicMessage {
	if m.Role == "assistant" && len(m.Raw) > 0 {
		return anthropicMessage{m.Role, m.Raw}
	}
	var blocks []block
	for _, r := range m.Results {
		blocks = append(blocks, block{Type: "tool_result", ToolUseID: r.ID,
			Content: cmp.Or(r.Text, "(nothing)"), IsError: r.Fault})
	}
	if m.Text != "" || len(blocks)+len(m.Calls) == 0 {
		blocks = append(blocks, block{Type: "text", Text: cmp.Or(m.Text, "(nothing)")})
	}
	for _, c := range m.Calls { // another endpoint's, perhaps with an input that is not an object
		if !bytes.HasPrefix(c.Input, []byte("{")) {
			c.Input = json.RawMessage("{}")
		}
		blocks = append(blocks, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Input})
	}
	if last {
		blocks[len(blocks)-1].CacheControl = map[string]string{"type": "ephemeral"}
	}
	return anthropicMessage{m.Role, blocks}
}

func (anthropic) read(answer []byte) (reply, error) {
	var a struct {
		Model      string          `json:"model"`
		Content    json.RawMessage `json:"content"`
		StopReason string          `json:"stop_reason"`
		Usage      *struct {
			Input      int64 `json:"input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			Output     int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return reply{}, fmt.Errorf("read answer: %w", err)
	}
	var blocks []block
	if err := json.Unmarshal(a.Content, &blocks); err != nil {
		return reply{}, errors.New("read answer: it has no content")
	}
	r := reply{message: message{Role: "assistant"}, model: a.Model, why: ended}
	var words []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			words = append(words, b.Text)
		case "tool_use":
			r.Calls = append(r.Calls, call{b.ID, b.Name, b.Input})
		}
	}
	r.Text = strings.Join(words, "\n")
	if len(blocks) > 0 {
		r.Raw = a.Content
	}
	switch a.StopReason {
	case "max_tokens", "model_context_window_exceeded":
		r.why = cut
	case "refusal":
		r.why = refused
	}
	if u := a.Usage; u != nil {
		r.usage = usage{u.Input, u.CacheRead, u.CacheWrite, u.Output, true}
	}
	return r, nil
}
