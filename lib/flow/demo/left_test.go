package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tri/schemas"
)

// written says of which record the files are that a demo leaves.
var written = map[string]string{
	"week.ndjson":                   "classified-event",
	"five.ndjson":                   "event",
	"home/events.ndjson":            "event",
	"home/events-classified.ndjson": "classified-event",
	"home/open/*.json":              "thread",
	"home/closed/*/*.json":          "thread",
	"home/runs/*/result.json":       "run",
	"home/runs/*/state.json":        "state",
	"home/decisions.ndjson":         "decision",
	"home/outbox/*.json":            "outbox-entry",
	"home/outbox/done/*.json":       "outbox-entry",
	"home/replies.ndjson":           "reply",
	"home/spend.ndjson":             "spend",
	"lie/good.ndjson":               "return",
	"lie/planted.ndjson":            "return",
	"lie/*-verdict.ndjson":          "verdict",
}

// TestLeft runs the demo with the real programs: every record that they write is
// as its schema says, and every kind of record is written.
func TestLeft(t *testing.T) {
	bin := os.Getenv("TRI_BIN") // where make has just built the programs
	if bin == "" {
		bin = t.TempDir()
		if out, err := exec.Command("go", "build", "-o", bin+"/",
			"../../../cmd/...").CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	var screen bytes.Buffer
	dir := filepath.Join(t.TempDir(), "demo")
	err := Run(t.Context(), Options{Dir: dir, Codebase: "../../..", Bin: bin, Out: &screen, Err: &screen})
	if err != nil {
		t.Fatalf("%v\n%s", err, screen.String())
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range schemas.Names() {
		text, err := schemas.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = c.AddResource("tri:"+name, doc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for pattern, name := range written {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := c.Compile("tri:" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			seen[name] = true
			hold(t, schema, file)
		}
	}
	for _, name := range written {
		if !seen[name] {
			t.Errorf("no %s was written", name)
		}
	}
}

// hold checks every record of a file.
func hold(t *testing.T, schema *jsonschema.Schema, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records := [][]byte{text}
	if strings.HasSuffix(file, ".ndjson") {
		records = bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	}
	for i, record := range records {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(record))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s, record %d: %v\n%s", filepath.Base(file), i+1, err, record)
		}
	}
}
