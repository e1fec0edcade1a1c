package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/draft"
	"tri/lib/sysexit"
)

// message is what is read of a line of the stream.
type message struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Model   string `json:"model"` // of system/init

	// Of the result.
	IsError          bool            `json:"is_error"`
	Result           string          `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           []string        `json:"errors"`
	APIErrorStatus   int             `json:"api_error_status"`
	NumTurns         int             `json:"num_turns"`
	TotalCostUSD     *float64        `json:"total_cost_usd"`
	Usage            struct {
		InputTokens   int64 `json:"input_tokens"`
		CacheCreation int64 `json:"cache_creation_input_tokens"`
		CacheRead     int64 `json:"cache_read_input_tokens"`
		OutputTokens  int64 `json:"output_tokens"`
	} `json:"usage"`
}

// outcome is what one run of the program came to.
type outcome struct {
	value []byte
	fault error // what is wrong with the value
	model string
	usage draft.Usage
}

// turn runs the program once.
func (c *Client) turn(ctx context.Context, t agent.Task, home string, session []string, prompt string) (outcome, error) {
	start := time.Now()
	var out outcome
	var result *message
	exit, err := proc.Run(ctx, proc.Spec{
		Argv: c.command(t, session), Dir: t.Codebase, Env: proc.Env(c.env, home, set...),
		Prompt: prompt, RunDir: t.Dir, Hold: t.Hold, Linger: c.linger, Grace: c.grace,
		Line: func(line []byte) bool {
			var m message
			if json.Unmarshal(line, &m) != nil {
				return false // words between the lines: kept in the transcript, no message
			}
			switch {
			case m.Type == "system" && m.Subtype == "init":
				out.model = m.Model
			case m.Type == "result":
				result = &m
			}
			return result != nil
		},
	})
	if err != nil {
		return out, err
	}
	if err := failure(result, exit); err != nil {
		return out, fmt.Errorf("run claude: %w", err)
	}
	out.usage = draft.Usage{
		InputTokens:  result.Usage.InputTokens + result.Usage.CacheCreation + result.Usage.CacheRead,
		OutputTokens: result.Usage.OutputTokens, CostUSD: result.TotalCostUSD,
		DurationMS: time.Since(start).Milliseconds(), Turns: result.NumTurns,
	}
	out.value, out.fault = value(t, result)
	return out, nil
}

// failure says why a run has no result, nil when it has one. An exit status after
// a result counts unless we ended the process ourselves.
func failure(m *message, exit proc.Exit) error {
	switch {
	case m == nil:
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("it ended with status %d and no result: %q", exit.Status, strings.TrimSpace(exit.Stderr)))
	case m.IsError || m.Subtype != "success":
		return apiError(m)
	case exit.Status != 0 && !exit.Stopped:
		return sysexit.With(sysexit.Unavailable, fmt.Errorf("status %d after its result: %q", exit.Status, strings.TrimSpace(exit.Stderr)))
	}
	return nil
}

func apiError(m *message) error {
	said := m.Result
	if said == "" {
		said = strings.Join(m.Errors, "; ")
	}
	if len(said) > 300 {
		said = said[:300]
	}
	err := fmt.Errorf("%s, API status %d: %q", m.Subtype, m.APIErrorStatus, said)
	switch {
	case m.APIErrorStatus == 401 || m.APIErrorStatus == 403:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"the key was refused: set ANTHROPIC_API_KEY, or name the variables that claude needs under `env:` (HOME, if you logged in)")
	case m.APIErrorStatus == 429 || m.APIErrorStatus >= 500:
		return sysexit.With(sysexit.TempFail, err)
	case strings.Contains(m.Subtype, "max_budget"):
		return sysexit.Hint(sysexit.With(sysexit.Unavailable, err), "max_budget_usd in the configuration is the limit of one run")
	}
	return sysexit.With(sysexit.Unavailable, err)
}

// value is the answer: the structured output, or the one object in the words. A
// value that is missing is a fault like any other: it can be asked for again.
func value(t agent.Task, m *message) ([]byte, error) {
	v := []byte(m.StructuredOutput)
	if len(v) == 0 || string(v) == "null" {
		var err error
		if v, err = agent.Object([]byte(m.Result)); err != nil {
			return nil, err
		}
	}
	if len(v) > 1<<20 {
		return nil, errors.New("the value is larger than 1 MiB")
	}
	if t.Check != nil {
		return v, t.Check(v)
	}
	return v, nil
}
