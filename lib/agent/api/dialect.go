package api

import (
	"encoding/json"
	"net/http"
)

// dialect is the protocol of a kind of endpoint.
type dialect interface {
	path(base string) string
	sign(r *http.Request, key string)
	body(q question) any
	read(answer []byte) (reply, error)
}

// question is a request to an endpoint.
type question struct {
	model    string
	most     int // maximum tokens of the answer
	messages []message
	tools    []tool
}

// message is a message of the conversation, in the format of the session file.
type message struct {
	Role    string          `json:"role"` // user, assistant
	Text    string          `json:"text,omitempty"`
	Calls   []call          `json:"calls,omitempty"`   // of the assistant
	Results []result        `json:"results,omitempty"` // to the assistant, before Text
	Raw     json.RawMessage `json:"raw,omitempty"`     // the endpoint's own message, sent back unchanged
}

// call is a tool call of the model.
type call struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// result is the result of a tool call.
type result struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Fault bool   `json:"fault,omitempty"`
}

// Reasons for the end of an answer.
const (
	ended   = "ended"
	cut     = "cut"     // at the maximum number of tokens
	refused = "refused" // by the model or its provider
)

// reply is an answer of the endpoint.
type reply struct {
	message
	why   string
	model string
	usage usage
}

// usage is the usage of one answer, in tokens.
type usage struct {
	input, cacheRead, cacheWrite, output int64
	told                                 bool
}
