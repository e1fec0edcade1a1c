package agenttest

import (
	"encoding/json"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
)

// Maker returns a function that makes agents for a Suite, or for an adapter's own tests, with the
// adapter's constructor: argv is their program, sandbox "off" or "required". times returns the
// pointers to the agent's linger and grace times, which are shortened.
func Maker[A agent.Agent](build func(config.Agent, string) (A, error),
	times func(A) (linger, grace *time.Duration)) func(t *testing.T, argv []string, sandbox string) A {
	return func(t *testing.T, argv []string, sandbox string) A {
		t.Helper()
		a, err := build(config.Agent{Command: argv, Env: []string{Variable}}, sandbox)
		if err != nil {
			t.Fatal(err)
		}
		linger, grace := times(a)
		*linger, *grace = 2*time.Second, 100*time.Millisecond
		return a
	}
}

// As adapts a Maker to Suite.Make.
func As[A agent.Agent](build func(t *testing.T, argv []string, sandbox string) A) func(t *testing.T,
	argv []string, sandbox string) agent.Agent {
	return func(t *testing.T, argv []string, sandbox string) agent.Agent { return build(t, argv, sandbox) }
}

// Quote returns text as a JSON string.
func Quote(text string) string {
	words, _ := json.Marshal(text) // a string can always be encoded
	return string(words)
}
