package api

import (
	"encoding/json"
	"net/http"
)

// dialect is one way to speak with an endpoint.
type dialect interface {
	path(base string) string
	sign(r *http.Request, key string)
	body(q question) any
	read(answer []byte) (reply, error)
}

// question is all that an endpoint is told.
type question struct {
	model    string
	most     int // tokens of the answer
	messages []message
	tools    []tool
}

// message is a part of the conversation, as it is kept.
type message struct {
	Role    string          `json:"role"` // user, assistant
	Text    string          `json:"text,omitempty"`
	Calls   []call          `json:"calls,omitempty"`   // of the assistant
	Results []result        `json:"results,omitempty"` // to the assistant, before Text
	Raw     json.RawMessage `json:"raw,omitempty"`     // as the endpoint wants its own words back
}

// call is a tool that the model wants to use.
type call struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// result is what a tool said.
type result struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Fault bool   `json:"fault,omitempty"`
}

// Why an answer ended.
const (
	ended   = "ended"
	cut     = "cut"     // at the most tokens of an answer
	refused = "refused" // by the model or its provider
)

// reply is an answer of the endpoint.
type reply struct {
	message
	why   string
	model string
	usage usage
}

// usage is what one answer took, in tokens.
type usage struct {
	input, cacheRead, cacheWrite, output int64
	told                                 bool
}
