package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// chooser is a small model that says one thing.
type chooser struct {
	says  string
	err   error
	asked int
}

func (c *chooser) Run(_ context.Context, t agent.Task) (agent.Result, error) {
	if c.asked++; !strings.Contains(t.Prompt, "code_change, question or other.") {
		return agent.Result{}, errors.New("another prompt: " + t.Prompt)
	}
	return agent.Result{Text: c.says}, c.err
}

// TestSecond: a model chooses between the two best intents where it is configured; what fails or is not a
// choice leaves the word of the rules, and says so.
func TestSecond(t *testing.T) {
	for _, tt := range []struct {
		name   string
		model  chooser
		off    bool
		asked  int
		intent string
		reason string
	}{
		{"off", chooser{says: "question"}, true, 0, "code_change", ""},
		{"the other", chooser{says: " Question.\n"}, false, 1, "question", "model:question"},
		{"the same", chooser{says: "code_change"}, false, 1, "code_change", "model:code_change"},
		{"neither", chooser{says: "other"}, false, 1, "other", "model:other"},
		{"a third", chooser{says: "todo"}, false, 1, "code_change", "model:no-choice"},
		{"nonsense", chooser{says: "{\"x\": [\u001b"}, false, 1, "code_change", "model:no-choice"},
		{"nothing", chooser{}, false, 1, "code_change", "model:no-choice"},
		{"a failure", chooser{says: "question", err: errors.New("500")}, false, 1, "code_change", "model:failed"},
	} {
		b := newInboxBench(t)
		b.cfg.Inbox.Model, *b.cfg.Inbox.Margin, b.cfg.Voice.Model.Agent = !tt.off, 1000, "api"
		b.add("1", "ana", "", event.Actionable, "can you rename maxRows to rowLimit in export.go?")
		o := b.options()
		o.Second = &tt.model
		for range 2 {
			if err := Run(t.Context(), o); err != nil {
				t.Fatal(tt.name, err)
			}
		}
		th := b.thread("1")
		if tt.model.asked != tt.asked || th.Intent != tt.intent ||
			strings.Contains(strings.Join(th.IntentReasons, " "), "model:") != (tt.reason != "") ||
			!strings.HasSuffix(strings.Join(th.IntentReasons, " "), tt.reason) {
			t.Errorf("%s: asked %d times, %s, %q", tt.name, tt.model.asked, th.Intent, th.IntentReasons)
		}
		if th.Intent == thread.CodeChange && th.Asked == "" {
			t.Errorf("%s: a change of code near another intent runs by itself", tt.name)
		}
		if text, _ := b.home.ReadFile("spend.ndjson"); strings.Count(string(text), `"work":"intent"`) != 2*tt.asked {
			t.Errorf("%s: %s", tt.name, text)
		}
	}
}

// TestSecondRests: a model that fails is left alone for a while, and a message that was asked about before a
// kill is not asked about, or paid, again.
func TestSecondRests(t *testing.T) {
	b := newInboxBench(t)
	b.cfg.Inbox.Model, *b.cfg.Inbox.Margin = true, 1000
	model := &chooser{err: errors.New("500")}
	o := b.options()
	o.Second = model
	for _, id := range []string{"1", "2", "3"} {
		b.add(id, "ana", "", event.Actionable, "can you rename maxRows to rowLimit in export.go?")
	}
	if err := Run(t.Context(), o); err != nil || model.asked != 1 {
		t.Errorf("asked %d times, %v", model.asked, err)
	}
	o.Input.Files = nil // everything is read again
	text, err := b.home.ReadFile("events-classified.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	o.Input.Stdin = strings.NewReader(string(text))
	model.err = nil
	if err := Run(t.Context(), o); err != nil || model.asked != 3 {
		t.Errorf("asked %d times, %v", model.asked, err)
	}
}
