package config

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/schemas"
)

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func TestLoad(t *testing.T) {
	c, err := load(t, `
team:
  approvers: [ana]
codebases:
  - {name: app, path: src}
  - {name: web, path: /srv/web}
watched_chats:
  - {chat_id: C1, codebase: web}
budget:
  investigations_per_day: 0
escalation:
classifier:
  ack_patterns: ["^roger$"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CodebaseFor("slack", "C1"); got != "/srv/web" {
		t.Errorf("codebase of C1: %q", got)
	}
	if got := c.CodebaseFor("slack", "C2"); got != filepath.Join(filepath.Dir(c.Path), "src") {
		t.Errorf("codebase of C2: %q", got)
	}
	if *c.Budget.InvestigationsPerDay != 0 || *c.Budget.InvestigationsPerPersonPerDay != 10 ||
		c.Sandbox != "required" || c.Dispatch.Concurrency != 3 {
		t.Errorf("defaults: %+v", c)
	}
}

func TestEmptyIsDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "team:\n"} {
		if c, err := load(t, text); err != nil || c.Investigator.Agent != "search" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	const bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"
	for _, tt := range []struct{ text, want string }{
		{"team:\n  aprovers: [ana]\n", `:2: unknown key "team.aprovers"; did you mean "approvers"?`},
		{"zzz: 1\n", `:1: unknown key "zzz"`},
		{"sweep:\n- {name: A b, command: [x]}\n", `:2: sweep[0].name: "A b": want a to z, 0 to 9 and -`},
		{"sweep:\n- {name: a, command: [], codebase: x}\n", ":2: sweep[0].command: needs a program"},
		{"sweep:\n- {name: a, command: [x], checks: true}\n", ":2: sweep[0].checks: checks needs no command and no age"},
		{"sweep:\n- {name: a, command: [x], codebase: x}\n", `:2: sweep[0]: no codebase is called "x"`},
		{"codebases: [{name: x, path: x}]\nsweep:\n- {name: a, command: [x]}\n",
			":3: sweep[0]: needs classifier.bot_id"},
		{"sandbox: maybe\n", `:1: sandbox: is "maybe", should be one of: required, off`},
		{"\ninvestigator:\n  agent: gpt\n", ":3: investigator.agent:"},
		{"investigator:\n  max_rounds: 3\n", ":2: investigator.max_rounds: is 3, should be at most 2"},
		{"investigator:\n  agent: exec\n", ":2: investigator.agent: exec needs a command"},
		{"validator:\n  env: [A, 'B=secret']\n", ":2: validator.env[1]:"},
		{"budget:\n  investigations_per_day: many\n",
			":2: budget.investigations_per_day: is text, should be a whole number"},
		{"budget:\n  investigations_per_day: .nan\n", ":2: budget.investigations_per_day:"},
		{"budget:\n  investigations_per_day: 1e30\n", ":2: "},
		{"classifier:\n  bot_id: 123\n",
			":2: classifier.bot_id: is a whole number, should be text: put it in quotes"},
		{"team:\n  approvers: ana\n", ":2: team.approvers: is text, should be a list"},
		{"watched_chats:\n  - chat_id:\n", ":2: watched_chats[0]: lacks chat_id"},
		{"watched_chats:\n  - name: x\n", ":2: watched_chats[0]: lacks chat_id"},
		{"classifier:\n  ack_patterns:\n    - ok\n    - '('\n",
			":4: classifier.ack_patterns[1]: error parsing regexp"},
		{"question_types:\n  - type: other\n    when: '(?<=a)b'\n",
			":3: question_types[0].when: regular expression"},
		{"question_types:\n  - type: other\n    when: .a ==\n",
			`:3: question_types[0].when: jq condition ".a ==": character 5`},
		{"ask_first:\n  - name: x\n    when: .a | nope\n    question: y\n",
			":3: ask_first[0].when: jq condition"},
		{"classifier:\n  rules:\n    - name: x\n      when: .a | ]\n      set: {is_question: true}\n",
			":4: classifier.rules[0].when: jq condition"},
		{"classifier:\n  rules:\n    - name: x\n      when: .a\n      set: {content: y}\n",
			":5: unknown key"},
		{"watched_chats:\n  - chat_id: a\n    codebase: nope\n",
			`:3: watched_chats[0].codebase: no codebase is called "nope"`},
		{"codebases:\n  - {name: a, path: x}\n  - {name: a, path: y}\n",
			`:3: codebases[1].name: two codebases are called "a"`},
		{"team: {members: [a]}\nteam: {members: [b]}\n", ":2: team: is already set in line 1"},
		{bomb, `:2: unknown key "b"`},
		{"knowledge: &a [x]\nteam: {members: *a}\n", ":2: team.members: alias *a: write out"},
		{"team: {<<: {members: [a]}}\n", `:1: unknown key "team.<<"`},
		{"classifier:\n  bot_ids: [a, ~]\n", ":2: classifier.bot_ids[1]: is nothing, should be text"},
		{"? [a, b]\n: 1\n", "a key should be text"},
		{"sandbox: !!binary aGk=\n", ":1: sandbox: is !!binary"},
		{"team: &a {members: [*a]}\n", ":1: team.members[0]: alias *a"},
		{"team: [\n", ":"},
		{"sandbox: off\n---\nsandbox: off\n", "more than one document"},
		{"just words\n", ":1: is text, should be a set of keys"},
		{"# " + strings.Repeat("x", maxFile), "over 1048576 bytes"},
	} {
		_, err := load(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), "config.yaml"+tt.want) &&
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: %v, want %q", tt.text, err, tt.want)
			continue
		}
		if status, _ := sysexit.Of(err); status != sysexit.Config {
			t.Errorf("%.80q: status %d", tt.text, status)
		}
	}
}

func TestNothingBehindAKeyIsTheDefault(t *testing.T) {
	c, err := load(t, "classifier:\n  bot_id:\n  other_bots:\nbudget:\n  investigations_per_day:\nteam: {language: 2024-01-01}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Classifier.OtherBots != "ignore" || *c.Budget.InvestigationsPerDay != 50 ||
		c.Team.Language != "2024-01-01" {
		t.Errorf("%+v", c)
	}
}

func TestFoldersAreAnchored(t *testing.T) {
	t.Setenv("HOME", "/home/ana")
	c, err := load(t, "chat: {local: {dir: ~/chat}}\nknowledge: [notes, /srv/notes, ~]\n")
	if err == nil {
		t.Errorf("~ alone is null in YAML, got %q", c.Knowledge)
	}
	c, err = load(t, "chat: {local: {dir: ~/chat}}\nknowledge: [notes, /srv/notes, '~']\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(filepath.Dir(c.Path), "notes"), "/srv/notes", "/home/ana"}
	if c.Chat.Local.Dir != "/home/ana/chat" || !slices.Equal(c.Knowledge, want) {
		t.Errorf("%q %q", c.Chat.Local.Dir, c.Knowledge)
	}
}

// TestSchemaAndTypesAgree: the schema knows exactly the keys of the Go types.
func TestSchemaAndTypesAgree(t *testing.T) {
	var walk func(typ reflect.Type, at []string)
	walk = func(typ reflect.Type, at []string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			if typ.Kind() == reflect.Slice {
				at = append(at, "0")
			}
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		var fields []string
		for field := range typ.Fields() {
			if name := field.Tag.Get("yaml"); name != "-" {
				fields = append(fields, name)
				walk(field.Type, append(slices.Clone(at), name))
			}
		}
		r, err := theRule()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range at {
			if step == "0" {
				r = r.Items
			} else {
				r = r.Properties[step]
			}
		}
		known := slices.Sorted(maps.Keys(r.Properties))
		slices.Sort(fields)
		if !slices.Equal(known, fields) {
			t.Errorf("%v: schema %v, type %v", at, known, fields)
		}
	}
	walk(reflect.TypeFor[Config](), nil)
}

// TestFilesAreAnchored: a field X_file of any section is resolved like every path.
func TestFilesAreAnchored(t *testing.T) {
	c := Default()
	c.Investigator.Fallback = make([]Endpoint, 1)
	files := 0
	eachField(reflect.ValueOf(c).Elem(), func(f reflect.StructField, v, _ reflect.Value) {
		if strings.HasSuffix(f.Name, "File") {
			files++
			v.SetString("x")
		}
	})
	c.resolvePaths("/home/ana")
	eachField(reflect.ValueOf(c).Elem(), func(f reflect.StructField, v, _ reflect.Value) {
		if strings.HasSuffix(f.Name, "File") && v.String() != "/home/ana/x" {
			t.Errorf("%s: %q", f.Name, v)
		}
	})
	if files < 15 {
		t.Errorf("only %d files", files)
	}
}

func TestSeveralFaultsAtOnce(t *testing.T) {
	_, err := load(t, "sandbox: maybe\nteam:\n  nobody: 1\n")
	if err == nil || strings.Count(err.Error(), "config.yaml:") != 2 {
		t.Errorf("%v", err)
	}
}

func TestSecret(t *testing.T) {
	c := Default()
	file := filepath.Join(t.TempDir(), "token")
	for _, tt := range []struct {
		env  string
		mode os.FileMode
		want string
		ok   bool
	}{{"from-env", 0o644, "from-env", true}, {"", 0o600, "from-file", true}, {"", 0o644, "", false},
		{"", 0o640, "", false}} {
		t.Setenv("TRI_TEST_TOKEN", tt.env)
		if err := os.WriteFile(file, []byte("from-file\n"), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		got, err := c.Secret("TRI_TEST_TOKEN", file)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
		if status, _ := sysexit.Of(err); err != nil &&
			(status != sysexit.NoPerm || len(sysexit.Hints(err)) != 1) {
			t.Errorf("%+v: status %d, hints %q", tt, status, sysexit.Hints(err))
		}
	}
	t.Setenv("TRI_TEST_TOKEN", "")
	for _, text := range []string{"", "\n", "two\nlines\n", strings.Repeat("x", maxSecret+1)} {
		bad := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Secret("TRI_TEST_TOKEN", bad); err == nil {
			t.Errorf("%.20q was taken as %q", text, got)
		}
	}
}

// FuzzCheck: whatever a complete JSON Schema library refuses, we refuse; what it accepts, we
// refuse only for features of YAML beyond JSON.
func FuzzCheck(f *testing.F) {
	text, err := schemas.Read("config")
	if err != nil {
		f.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", doc); err != nil {
		f.Fatal(err)
	}
	schema := compiler.MustCompile("config.json")
	for _, seed := range []string{
		`{}`, `{"team":{"approvers":["a"]}}`, `{"team":{"approvers":[1]}}`, `{"team":{"nobody":1}}`,
		`{"sandbox":"maybe"}`,
		`{"budget":{"investigations_per_day":-1}}`, `{"budget":{"investigations_per_day":1.5}}`,
		`{"dispatch":{"concurrency":65}}`,
		`{"watched_chats":[{"name":"x"}]}`, `{"classifier":{"rules":[{"name":"","when":".","set":{}}]}}`,
		`{"chat":{"mattermost":{"url":"ftp:x"}}}`,
		`{"classifier":{"rules":[{"name":"a","when":".","set":{"classifier_confidence":2}}]}}`,
		`{"escalation":{"enabled":"yes"}}`, `[]`, `"x"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if ndjson.Check([]byte(text)) != nil || len(text) > 1<<16 {
			return
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil || strings.Contains(text, "null") ||
			strings.ContainsAny(text, "eE.") && strings.ContainsAny(text, "0123456789") {
			return // 1e3 and 1.0 are whole numbers to JSON Schema, not to us; nothing is nothing
		}
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil || len(node.Content) == 0 {
			return
		}
		r, err := theRule()
		if err != nil {
			t.Fatal(err)
		}
		ours := &faults{path: "x", doc: &node}
		ours.check(node.Content[0], r, "")
		if theirs := schema.Validate(value); (theirs == nil) != (len(ours.all) == 0) {
			t.Errorf("%s: we say %v, the library %v", text, ours.all, theirs)
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add("team:\n  approvers: [ana]\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(t, text)
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}
