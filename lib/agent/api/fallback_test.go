package api

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/httpapi"
)

const secondKey = "sk-other-9876543210+/="

// fallBack gives a bench a second endpoint of an API.
func fallBack(t *testing.T, b *bench, api string, script ...say) *endpoint {
	t.Helper()
	second := &endpoint{T: t, api: api, script: script}
	srv := httptest.NewServer(second)
	t.Cleanup(srv.Close)
	t.Setenv("SECOND_KEY", secondKey)
	e := config.Endpoint{API: api, BaseURL: srv.URL, Model: "second", KeyEnv: "SECOND_KEY"}
	if api == "openai" {
		e.BaseURL += "/v1"
	}
	next, err := newClient(b.client.cfg.At(e), "off", httpapi.Options{Sleep: b.client.web.Sleep})
	if err != nil {
		t.Fatal(err)
	}
	b.client.next = []*Client{next}
	return second
}

// TestFallback: what is not the question's fault asks the next endpoint, of either API, with what was said so
// far; what is, asks none.
func TestFallback(t *testing.T) {
	slow := map[string]string{"Retry-After": "600"}
	for _, c := range []struct {
		name  string
		fault say
		tries int // of the first endpoint, after its first turn
		falls bool
	}{
		{"429", say{status: 429}, maxTries, true},
		{"429, later", say{status: 429, header: slow}, 1, true},
		{"408", say{status: 408}, maxTries, true},
		{"500", say{status: 500}, maxTries, true},
		{"529", say{status: 529}, maxTries, true},
		{"no such model", say{status: 404}, 1, true},
		{"a wrong key", say{status: 401}, 1, false},
		{"not allowed", say{status: 403}, 1, false},
		{"a bad request", say{status: 400}, 1, false},
		{"refused", say{text: "I cannot.", why: "refusal"}, 1, false},
	} {
		each(t, func(t *testing.T, api string) {
			if c.name == "refused" && api == "openai" {
				c.fault.why = "content_filter"
			}
			b := newBench(t, api, say{tool: "read_file", input: `{"path":"retry.go"}`}, c.fault)
			other := map[string]string{"anthropic": "openai", "openai": "anthropic"}[api]
			second := fallBack(t, b, other, say{tool: "answer", input: good})
			res, err := b.run()
			if n := len(b.heard) - 1; n != c.tries {
				t.Errorf("%s: the first was asked %d times, want %d", c.name, n, c.tries)
			}
			if !c.falls {
				if err == nil || len(second.heard) > 0 {
					t.Errorf("%s: %q, %v, the second was asked %d times", c.name, res.Value, err,
						len(second.heard))
				}
				return
			}
			if err != nil || string(res.Value) != good || res.Usage.Turns != 2 ||
				res.Usage.InputTokens != 246 || !res.Usage.CostAtLeast || *res.Usage.CostUSD == 0 {
				t.Errorf("%s: %q, %v, %+v", c.name, res.Value, err, res.Usage)
			}
			asked := map[string]string{"anthropic": `"type":"tool_use","id":"t0"`, "openai": `"tool_calls":[{`}[other]
			if len(second.heard) != 1 || !strings.Contains(second.heard[0], "MaxRetries") ||
				!strings.Contains(second.heard[0], asked) ||
				strings.Contains(second.heard[0], "c2ln") {
				t.Errorf("%s: the second was told %q", c.name, second.heard)
			}
			said := ""
			for _, e := range b.events {
				if e.Kind == agent.Milestone && strings.Contains(e.Text,
					"second is asked; spent so far: 1 turns, 173 tokens") {
					said = e.Text
				}
			}
			if said == "" {
				t.Errorf("%s: nothing says so", c.name)
			}
		})
	}
}

// TestKeysNowhere: no file of a run, no prompt, no event and no error has a key, in five encodings,
// though the endpoints repeat it.
func TestKeysNowhere(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{text: "it is " + key, tool: "read_file", input: `{"path":"retry.go","why":"` + key + `"}`},
			say{status: 503, text: "bad key " + key})
		second := fallBack(t, b, api, say{status: 401, text: "wrong: " + secondKey})
		_, err := b.run()
		if err == nil {
			t.Fatal("no error")
		}
		all := map[string]string{"error": err.Error()}
		for i, e := range b.events {
			all["event "+string(rune('a'+i%26))] += e.Text
		}
		all["prompts"] = strings.Join(b.heard, "\n") + strings.Join(second.heard, "\n")
		if werr := filepath.WalkDir(b.task.Dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				text, rerr := os.ReadFile(path)
				all[path], err = string(text), rerr
			}
			return err
		}); werr != nil {
			t.Fatal(werr)
		}
		for _, k := range []string{key, secondKey} {
			for _, form := range []string{k, base64.StdEncoding.EncodeToString([]byte(k)),
				base64.RawURLEncoding.EncodeToString([]byte(k)), hex.EncodeToString([]byte(k)),
				url.QueryEscape(k)} {
				for where, text := range all {
					if strings.Contains(text, form) {
						t.Errorf("%s has %s", where, form)
					}
				}
			}
		}
		if len(all) < 4 {
			t.Errorf("looked at %d texts", len(all))
		}
	})
}

// TestNoConnection: an endpoint that is not there falls back too.
func TestNoConnection(t *testing.T) {
	b := newBench(t, "anthropic", say{tool: "answer", input: good})
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	cfg := b.client.cfg
	cfg.BaseURL, cfg.Fallback = gone.URL,
		[]config.Endpoint{{BaseURL: b.client.cfg.BaseURL, Model: "stub", KeyEnv: "TEST_KEY"}}
	var err error
	if b.client, err = newClient(cfg, "off", httpapi.Options{Sleep: b.client.web.Sleep}); err != nil {
		t.Fatal(err)
	}
	if res, err := b.run(); err != nil || string(res.Value) != good || len(b.waits) != maxTries-1 {
		t.Errorf("%q, %v, waited %v", res.Value, err, b.waits)
	}
}
