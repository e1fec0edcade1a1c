package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// openai is the chat completions API, as many servers implement it.
type openai struct {
	ours bool // OpenAI's own endpoint, which has another name for the token limit
}

func (openai) path(string) string { return "chat/completions" }

func (openai) sign(r *http.Request, key string) {
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
}

type openaiMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	Refusal    string       `json:"refusal,omitempty"`
	ToolCalls  []openaiCall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openaiCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (o openai) body(q question) any {
	var body struct {
		Model               string           `json:"model"`
		MaxTokens           int              `json:"max_tokens,omitempty"`
		MaxCompletionTokens int              `json:"max_completion_tokens,omitempty"`
		Tools               []map[string]any `json:"tools,omitempty"`
		Messages            []openaiMessage  `json:"messages"`
	}
	body.Model, body.MaxTokens = q.model, q.most
	if o.ours {
		body.MaxTokens, body.MaxCompletionTokens = 0, q.most
	}
	for _, t := range q.tools {
		body.Tools = append(body.Tools, map[string]any{"type": "function", "function": map[string]any{
			"name": t.name, "description": t.description, "parameters": t.schema}})
	}
	body.Messages = append(body.Messages, words("system", system))
	for _, m := range q.messages {
		body.Messages = append(body.Messages, o.messages(m)...)
	}
	return body
}

func words(role, text string) openaiMessage { return openaiMessage{Role: role, Content: &text} }

// messages converts a message to the API's format, in which each result is a message of its own.
func (openai) messages(m message) []openaiMessage {
	var all []openaiMessage
	for _, r := range m.Results {
		text := r.Text
		if r.Fault {
			text = "error: " + text
		}
		said := words("tool", text)
		said.ToolCallID = r.ID
		all = append(all, said)
	}
	if m.Role == "user" && m.Text == "" && len(all) > 0 {
		return all
	}
	one := words(m.Role, m.Text)
	for _, c := range m.Calls {
		oc := openaiCall{ID: c.ID, Type: "function"}
		oc.Function.Name, oc.Function.Arguments = c.Name, string(c.Input)
		one.ToolCalls = append(one.ToolCalls, oc)
	}
	return append(all, one)
}

func (openai) read(answer []byte) (reply, error) {
	var a struct {
		Model   string `json:"model"`
		Choices []struct {
			Message      openaiMessage `json:"message"`
			FinishReason string        `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Details    struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return reply{}, fmt.Errorf("read answer: %w", err)
	}
	if len(a.Choices) == 0 {
		return reply{}, errors.New("read answer: it has no choices")
	}
	m, why := a.Choices[0].Message, a.Choices[0].FinishReason
	r := reply{message: message{Role: "assistant"}, model: a.Model, why: ended}
	if m.Content != nil {
		r.Text = *m.Content
	}
	for i, c := range m.ToolCalls {
		r.Calls = append(r.Calls, call{cmp.Or(c.ID, fmt.Sprintf("call_%d", i)), c.Function.Name,
			arguments(c.Function.Arguments)})
	}
	switch {
	case m.Refusal != "":
		r.why, r.Text = refused, m.Refusal
	case why == "length":
		r.why = cut
	case why == "content_filter":
		r.why = refused
	}
	if u := a.Usage; u != nil {
		r.usage = usage{input: max(u.Prompt-u.Details.Cached, 0), cacheRead: u.Details.Cached,
			output: u.Completion, told: true}
	}
	return r, nil
}

// arguments returns the arguments of a call: an object, or the invalid text as a string.
func arguments(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}
