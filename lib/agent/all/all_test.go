package all

import (
	"encoding/json"
	"slices"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/schemas"
)

func TestNew(t *testing.T) {
	for _, name := range append(names(), "") {
		cfg := config.Agent{Agent: name, Command: []string{"true"}, Model: "m", BaseURL: "http://localhost"}
		if a, err := New(cfg, "required"); a == nil || err != nil {
			t.Errorf("%q: %v, %v", name, a, err)
		}
	}
	if a, err := New(config.Agent{Agent: None}, ""); a != nil || err != nil {
		t.Errorf("none: %v, %v", a, err)
	}
	for _, cfg := range []config.Agent{{Agent: "nobody"}, {Agent: "exec"}, {Agent: "acp"},
		{Agent: "api", BaseURL: "http://localhost"}} {
		a, err := New(cfg, "off")
		if status, _ := sysexit.Of(err); a != nil || status != sysexit.Config ||
			len(sysexit.Hints(err)) == 0 {
			t.Errorf("%+v: %v, %v", cfg, a, err)
		}
	}
}

// Every program that has its key in a variable is given that, and looked for it.
func TestKeys(t *testing.T) {
	for _, name := range names() {
		keys := config.Agent{Agent: name}.Keys()
		if want := !slices.Contains([]string{"search", "cline", "acp", "api", "exec"},
			name); (len(keys) > 0) != want {
			t.Errorf("%s: keys %q", name, keys)
		}
		own := config.Agent{Agent: name, Env: []string{"MY_MODEL", "MY_KEY"}}
		if !slices.Equal(own.Keys(), []string{"MY_KEY"}) || len(own.Variables()) != 2 {
			t.Errorf("%s: of its own: %q of %q", name, own.Keys(), own.Variables())
		}
	}
}

// An agent's declared capabilities decide what it is asked to do.
func TestAbilities(t *testing.T) {
	for _, tt := range []struct {
		name             string
		resumes, servers bool
	}{{"search", false, false}, {"exec", false, false}, {"claude", true, true}, {"api", true, true},
		{"cline", false, true}} {
		a, err := New(config.Agent{Agent: tt.name, Command: []string{"true"}, Model: "m",
			BaseURL: "http://localhost"}, "off")
		if err != nil {
			t.Fatal(err)
		}
		if got := agent.CapabilitiesOf(a); got.Resumes != tt.resumes || got.Servers != tt.servers {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// The configuration's schema names the same agents.
func TestSchemaNamesThemAll(t *testing.T) {
	text, err := schemas.Read("config")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"investigator", "validator"} {
		got, want := schema.Properties[key].Properties["agent"].Enum, names()
		if key == "validator" {
			want = append(want[1:], None) // search cannot judge
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
