package agenttest

import (
	"encoding/json"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
)

// Maker makes agents for a Suite, and for an adapter's own tests, by its constructor:
// with argv as their program, in a sandbox that is "off" or "required". times are what
// a program has after its last word, and after it was told to end: both are shortened.
func Maker[A agent.Agent](build func(config.Agent, string) (A, error), times func(A) (linger, grace *time.Duration)) func(t *testing.T, argv []string, sandbox string) A {
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

// As is Suite.Make of a Maker.
func As[A agent.Agent](build func(t *testing.T, argv []string, sandbox string) A) func(t *testing.T, argv []string, sandbox string) agent.Agent {
	return func(t *testing.T, argv []string, sandbox string) agent.Agent { return build(t, argv, sandbox) }
}

// Quote is a text as a string of JSON.
func Quote(text string) string {
	words, _ := json.Marshal(text) // a string always can be
	return string(words)
}
