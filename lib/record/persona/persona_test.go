package persona

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/secret"
	"tri/lib/base/sysexit"
)

func TestDefaults(t *testing.T) {
	var got []string
	for _, p := range Defaults() {
		if p.Active || p.Model != nil || p.Override != nil || len(p.Lenses) != 1 ||
			len(p.Soul.Expertise) == 0 {
			t.Errorf("%s: active %v, model %v, lenses %v", p.Name, p.Active, p.Model, p.Lenses)
		}
		got = append(got, p.Name+": "+p.Role)
	}
	want := "Carlos: Tech Lead / Architect, Dev: Implementer, Maya: Security Reviewer, Priya: QA Engineer"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s", s)
	}
}

func TestStrict(t *testing.T) {
	good, err := os.ReadFile("default/maya.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"petPeeves"`, `"petPeves"`, `soul.petPeves: unknown key; did you mean "petPeeves"?`},
		{`"favorites"`, `"emoji"`, "style.emojiUsage.emoji: unknown key"},
		{`"ask"`, `"asks"`, `lenses[0].asks: unknown key; did you mean "ask"?`},
		{`"Maya"`, `"Ma\u202eya"`, "name: want one line"},
		{`"guards"`, `"Guards!"`, `lenses[0].name: is "Guards!"`},
		{`7f1c2b0e-5a34`, `../../..`, "id: is"},
		{`"name"`, `"name": "x", "name"`, "name"}, // twice
		{`"is_active": false`, `"is_active": "yes"`, "is_active"},
	} {
		bad := strings.Replace(string(good), c.from, c.to, 1)
		if bad == string(good) {
			t.Fatalf("no %s", c.from)
		}
		_, err := Parse([]byte(bad))
		if status, _ := sysexit.Of(err); err == nil || !strings.Contains(err.Error(), c.want) ||
			status != sysexit.Data {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	for _, p := range Defaults() { // each field round-trips to the byte
		again, err := Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "../default/"+strings.ToLower(p.Name)+".json", string(again))
	}
}

func TestFind(t *testing.T) {
	all := Defaults()
	all[1].Name = "Nadia" // a renamed Dev
	twice := append(Defaults(), Persona{ID: "00000000-0000-4000-8000-000000000000", Name: "Max",
		Role: "Second Architect", Keywords: []string{"architect"}})
	for _, c := range []struct {
		all        []Persona
		word, want string
	}{
		{all, "Maya", "Maya"}, {all, "maya", "Maya"}, {all, "security", "Maya"},
		{all, "quality assurance", "Priya"}, {all, "test", "Priya"},
		{all, "Implementer", "Nadia"}, {all, "developer", "Nadia"}, {all, "lead", "Carlos"},
		{all, "engineer", "Priya"},
		{all, "Dev", "no persona"}, {all, "secur", "no persona"}, {all, "", "no persona"},
		{all, "7f1c2b0e-5a34-4c1d-9e61-0d5a7c3b9a03", "Priya"},
		{twice, "architect", "Carlos (Tech Lead / Architect, 7f1c2b0e) and Max"}, {twice, "Max", "Max"},
	} {
		p, err := Find(c.all, c.word)
		switch {
		case err == nil && p.Name != c.want, err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%q: %v, %v, want %q", c.word, p, err, c.want)
		}
	}
}

func TestParticipants(t *testing.T) {
	all := Defaults()
	if got, err := Participants(all, PRReview); err != nil || len(got) > 0 {
		t.Errorf("inactive ones take part: %v, %v", got, err)
	}
	for i := range all {
		all[i].Active = true
	}
	all[0].Name = "Karl"
	for trigger, want := range map[string]string{
		PRReview: "Dev Karl Maya Priya", CodeWatch: "Dev Karl Maya Priya", BuildFailure: "Dev Karl",
		Kickoff:     "Dev Karl",
		IssueReview: "Karl Maya Priya Dev", Draft: "Maya Priya Dev", "something": "Karl",
	} {
		got, err := Participants(all, trigger)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		if s := strings.Join(names, " "); s != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", trigger, s, err, want)
		}
	}
}

func TestLensOfInactive(t *testing.T) {
	all := Defaults()
	if _, _, err := FindLens(all, "polarity"); err == nil || !strings.Contains(err.Error(), "not active") {
		t.Errorf("%v", err)
	}
	all[1].Active = true
	if p, l, err := FindLens(all, "polarity"); err != nil || p.Name != "Dev" || l.Ask == "" {
		t.Errorf("%v", err)
	}
	all[0].Lenses[0].Name = "polarity"
	if _, _, err := FindLens(all, "polarity"); err == nil ||
		!strings.Contains(err.Error(), "of Carlos and of Dev") {
		t.Errorf("%v", err)
	}
}

func newStore(t *testing.T) (*durable.Home, *secret.Store) {
	t.Helper()
	h, err := durable.MakeHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	s, err := secret.Open(h, filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

const token = "sk-test-0123456789abcdef"

// TestUnused: what only another program has is kept by its path through an edit, changes no prompt, and is
// imported again; a misspelt name and anything beside a model's keys are refused.
func TestUnused(t *testing.T) {
	id := func() string { return "00000000-0000-4000-8000-000000000001" }
	theirs := `{"name":"Iris","role":"Reviewer","soul":{"whoIAm":"I read."%s}%s}`
	plain, err := Import(fmt.Appendf(nil, theirs, "", ""), id, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	b := fmt.Appendf(nil, theirs, `,"introduction":"Hi!"`,
		`,"cascade":{"depth":1},"piggybackProbability":0.4,"avatarPrompt":"a face"`)
	for range 2 {
		p, err := Import(b, id, time.Time{})
		if err != nil || len(p.Unused) != 4 || string(p.Unused["soul.introduction"]) != `"Hi!"` ||
			string(p.Unused["piggybackProbability"]) != "0.4" {
			t.Fatalf("%s, %v", p.Unused, err)
		}
		if Brief(p, "validate") != Brief(plain, "validate") {
			t.Error("it changes the prompt")
		}
		if b, err = Marshal(p); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(b); err != nil {
			t.Error(err)
		}
	}
	for in, want := range map[string]string{
		`,"worldveiw":[]`:                        `soul.worldveiw: unknown key; did you mean "worldview"?`,
		`},"model_config":{"secretKey":"s3cret"`: "model_config.secretKey: unknown key",
	} {
		if _, err := Import(fmt.Appendf(nil, theirs, in, ""), id, time.Time{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestImport: another program's row and its object give the same persona; its key is encrypted, and *** keeps
// it.
func TestImport(t *testing.T) {
	h, s := newStore(t)
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	id := func() string { return "00000000-0000-4000-8000-000000000001" }
	row := `{"id":7,"name":"Iris","role":"Reviewer","avatar_url":"https://x/y.png","soul_json":"{\"whoIAm\":\"I read.\",\"opinions\":{\"b\":[\"2\"],\"a\":[\"1\"]}}",
		"style_json":"{\"antiPatterns\":[\"No.\"]}","skill_json":"{}","model_config_json":"{\"provider\":\"openai\",\"model\":\"m\",\"envVars\":{\"OPENAI_API_KEY\":\"` + token + `\"}}","is_active":1}`
	p, err := Import([]byte(row), id, now)
	if err != nil {
		t.Fatal(err)
	}
	if p.Active || p.Soul.WhoIAm != "I read." || p.Style.AntiPatterns[0].Example != "No." ||
		p.Model.API != "openai" || p.ID != id() {
		t.Errorf("%+v", p)
	}
	if err := Put(h, s, p, now); err != nil {
		t.Fatal(err)
	}
	if b, err := h.ReadFile("personas/" + p.ID + ".json"); err != nil || strings.Contains(string(b), token) ||
		!strings.Contains(string(b), Kept) {
		t.Errorf("%s, %v", b, err)
	}
	all, err := All(h)
	if err != nil || len(all) != 5 {
		t.Fatalf("%d, %v", len(all), err)
	}
	again, _ := Find(all, "Iris")
	if err := Put(h, s, again, now); err != nil { // with *** for the key
		t.Fatal(err)
	}
	a, src, env, err := Effective(again, config.Default().Validator, s, func(string) string { return "" })
	if key, kerr := a.Key(); err != nil || kerr != nil || key != token ||
		src.Key != "secret "+p.ID+".OPENAI_API_KEY" || len(env) != 1 {
		t.Errorf("%+v, %v", src, err)
	}
	if err := Remove(h, again, now); err != nil {
		t.Fatal(err)
	}
	if names, err := h.List(Archive); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestEffective: the persona's setting, else the configuration's, else the environment's; Source says which.
func TestEffective(t *testing.T) {
	configured := config.Default().Validator
	configured.Agent, configured.API, configured.Model = "api", config.OpenAI, "of-config"
	configured.BaseURL, configured.KeyEnv = "", ""
	configured.Complete()
	env := map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "of-environment"}
	for _, c := range []struct {
		name    string
		persona *Model
		cfg     config.Agent
		env     map[string]string
		want    string // api, model, where the model is from
	}{
		{"all three", &Model{API: "anthropic", Model: "of-persona"}, configured, env,
			"api anthropic of-persona persona"},
		{"persona and config", &Model{Model: "of-persona"}, configured, nil, "api openai of-persona persona"},
		{"persona and environment", &Model{Model: "of-persona"}, config.Default().Validator, env,
			"api anthropic of-persona persona"},
		{"persona alone", &Model{API: "openai", Model: "of-persona"}, config.Default().Validator, nil,
			"api openai of-persona persona"},
		{"config and environment", nil, configured, env, "api openai of-config config"},
		{"config alone", nil, configured, nil, "api openai of-config config"},
		{"environment alone", nil, config.Default().Validator, env,
			"api anthropic of-environment environment"},
		{"none", nil, config.Default().Validator, nil, ""},
		{"another program", &Model{Agent: "claude", Model: "m"}, configured, nil, "claude  m persona"},
	} {
		p := Defaults()[0]
		p.Model = c.persona
		a, src, _, err := Effective(&p, c.cfg, nil, func(name string) string { return c.env[name] })
		got := strings.Join([]string{src.Agent, src.API, src.Model, src.From["model"]}, " ")
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %s", c.name, got)
			}
			continue
		}
		if err != nil || got != c.want || a.Model != src.Model || a.Agent != src.Agent {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
		if a.API == config.Anthropic && strings.Contains(a.BaseURL, "openai") {
			t.Errorf("%s: asks %s", c.name, a.BaseURL)
		}
	}
}

// The key of the configuration, or of the environment, goes to no server that a persona names.
func TestKeyStaysWithItsServer(t *testing.T) {
	cfg := config.Default().Validator
	cfg.Agent, cfg.API, cfg.Model, cfg.KeyFile = "api", config.Anthropic, "m", "/keys/a"
	cfg.Complete()
	for url, want := range map[string]string{"": "env ANTHROPIC_API_KEY", "https://other.example": "none"} {
		p := Defaults()[0]
		p.Model = &Model{BaseURL: url}
		a, src, _, err := Effective(&p, cfg, nil, func(string) string { return "k" })
		if err != nil || src.Key != want || (want == "none") != (a.KeyEnv == "" && a.KeyFile == "") {
			t.Errorf("%q: %s, %q, %q, %v, want %s", url, src.Key, a.KeyEnv, a.KeyFile, err, want)
		}
	}
}

func TestNoSecret(t *testing.T) {
	_, s := newStore(t)
	p := Defaults()[0]
	p.Model = &Model{API: "openai", Model: "m", Env: map[string]string{"OPENAI_API_KEY": Kept}}
	if _, _, _, err := Effective(&p, config.Default().Validator, s, os.Getenv); err == nil ||
		!strings.Contains(strings.Join(sysexit.Hints(err), " "), "tri-panel key set Carlos.OPENAI_API_KEY") {
		t.Errorf("%v", errors.Join(err))
	}
}
