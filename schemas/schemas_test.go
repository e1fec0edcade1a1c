package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tri/lib/flow/longrun"
	"tri/lib/flow/voice"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/memory"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/persona"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/todo"
	"tri/lib/record/turn"
	"tri/lib/record/verdict"
	"tri/lib/report/faults"
	"tri/lib/report/sample"
	"tri/lib/report/task"
	"tri/schemas"
)

// records are the Go types that the schemas describe. A schema without one is
// named by TestEverySchema.
var records = map[string]reflect.Type{
	"event":            reflect.TypeFor[event.Event](),
	"classified-event": reflect.TypeFor[event.Classified](),
	"thread":           reflect.TypeFor[thread.Thread](),
	"return":           reflect.TypeFor[draft.Return](),
	"verdict":          reflect.TypeFor[verdict.Verdict](),
	"decision":         reflect.TypeFor[decision.Record](),
	"signal":           reflect.TypeFor[notify.Signal](),
	"signal-done":      reflect.TypeFor[notify.Done](),
	"outbox-entry":     reflect.TypeFor[outbox.Entry](),
	"reply":            reflect.TypeFor[outbox.Reply](),
	"escalation":       reflect.TypeFor[longrun.Entry](),
	"state":            reflect.TypeFor[run.State](),
	"run":              reflect.TypeFor[run.Result](),
	"word":             reflect.TypeFor[run.Word](),
	"heard":            reflect.TypeFor[run.Heard](),
	"checkpoint":       reflect.TypeFor[run.Checkpoint](),
	"spend":            reflect.TypeFor[budget.Entry](),
	"todo":             reflect.TypeFor[todo.Line](),
	"journal":          reflect.TypeFor[journal.Line](),
	"drill":            reflect.TypeFor[faults.Score](),
	"label":            reflect.TypeFor[sample.Label](),
	"action":           reflect.TypeFor[event.Action](),
	"task":             reflect.TypeFor[task.Task](),
	"turn":             reflect.TypeFor[turn.Closed](),
	"voice":            reflect.TypeFor[voice.Line](),
	"memory":           reflect.TypeFor[memory.Word](),
	"persona":          reflect.TypeFor[persona.Persona](),
	"discussion":       reflect.TypeFor[discussion.Discussion](),
}

// notRecords are schemas of something else than a line or a file of JSON.
var notRecords = []string{"config"}

type object = map[string]any

func parse(t *testing.T, text []byte) object {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	o, ok := v.(object)
	if !ok {
		t.Fatalf("no object: %s", text)
	}
	return o
}

// all reads every schema that is embedded, by name.
func all(t *testing.T) map[string]object {
	t.Helper()
	docs := map[string]object{}
	for _, name := range schemas.Names() {
		text, err := schemas.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		docs[name] = parse(t, text)
	}
	return docs
}

// compile makes a validator that knows all schemas, loads none from elsewhere,
// and holds times to their format.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	for n, doc := range all(t) {
		if err := c.AddResource("tri:"+n, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("tri:" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// examples are the lines of examples/records/<name>.ndjson.
func examples(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile("../examples/records/" + name + ".ndjson")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func TestEverySchema(t *testing.T) {
	for name, doc := range all(t) {
		if doc["$schema"] != "https://json-schema.org/draft/2020-12/schema" || doc["$id"] != "tri:"+name {
			t.Errorf("%s: $schema %v, $id %v", name, doc["$schema"], doc["$id"])
		}
		if doc["title"] == nil || doc["description"] == nil {
			t.Errorf("%s: no title or description", name)
		}
		compile(t, name)
		if records[name] == nil && !slices.Contains(notRecords, name) {
			t.Errorf("%s: no Go type in records", name)
		}
	}
	files, err := filepath.Glob("../examples/records/*.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".ndjson"); records[name] == nil {
			t.Errorf("%s: no such record", file)
		}
	}
}

// sum matches the last member of a sealed file, which durable.Seal adds.
var sum = regexp.MustCompile(`,"crc32c":"[0-9a-f]{8}"}$`)

// TestExamples: every example is valid, and goes through its Go type without
// loss. Together they show every field.
func TestExamples(t *testing.T) {
	for name, typ := range records {
		t.Run(name, func(t *testing.T) {
			schema := compile(t, name)
			for i, line := range examples(t, name) {
				where := fmt.Sprintf("example %d", i+1)
				want := parse(t, line)
				if err := schema.Validate(want); err != nil {
					t.Errorf("%s: %v", where, err)
				}
				line = sum.ReplaceAll(line, []byte("}"))
				delete(asObject(want), "crc32c")
				value := reflect.New(typ).Interface()
				strict := json.NewDecoder(bytes.NewReader(line))
				strict.DisallowUnknownFields()
				if err := strict.Decode(value); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				back, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				if got := parse(t, back); !reflect.DeepEqual(got, want) {
					t.Errorf("%s comes back as %s", where, back)
				}
			}
		})
	}
}

// walker goes through a schema and a Go type side by side.
type walker struct {
	t    *testing.T
	docs map[string]object
}

// resolve follows $ref ("tri:return#/$defs/usage", "#/$defs/key") and, of an
// anyOf, the branch that is not null.
func (w walker) resolve(doc string, node object) (string, object) {
	for range 10 {
		if branches, ok := node["anyOf"].([]any); ok {
			for _, b := range branches {
				if b := b.(object); b["type"] != "null" {
					node = b
				}
			}
		}
		ref, ok := node["$ref"].(string)
		if !ok {
			return doc, node
		}
		file, path, _ := strings.Cut(ref, "#")
		if file != "" {
			doc = strings.TrimPrefix(file, "tri:")
		}
		node = w.docs[doc]
		for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
			if step != "" {
				node = node[step].(object)
			}
		}
	}
	w.t.Fatalf("%s: references without end", doc)
	return "", nil
}

// fields returns an object's properties and what it requires, with those of the
// schema that it extends.
func (w walker) fields(doc string, node object) (map[string]object, []string) {
	props, required := map[string]object{}, []string{}
	add := func(doc string, node object) {
		for name, p := range asObject(node["properties"]) {
			props[name] = object{"in": doc, "node": p}
		}
		for _, r := range asList(node["required"]) {
			required = append(required, r.(string))
		}
	}
	for _, part := range asList(node["allOf"]) {
		if _, ok := part.(object)["$ref"]; ok {
			add(w.resolve(doc, part.(object)))
		}
	}
	add(doc, node)
	return props, required
}

func asObject(v any) object { o, _ := v.(object); return o }
func asList(v any) []any    { l, _ := v.([]any); return l }

// goFields returns a struct's JSON fields, and those that are always written.
func goFields(typ reflect.Type) (fields map[string]reflect.Type, always []string) {
	fields = map[string]reflect.Type{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner, more := goFields(f.Type)
			maps.Copy(fields, inner)
			always = append(always, more...)
		case name != "" && name != "-":
			fields[name] = f.Type
			if !strings.Contains(options, "omitempty") {
				always = append(always, name)
			}
		}
	}
	return fields, always
}

func (w walker) compare(where, doc string, node object, typ reflect.Type) {
	doc, node = w.resolve(doc, node)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
	case typ.Kind() == reflect.Slice:
		w.compare(where+"[]", doc, asObject(node["items"]), typ.Elem())
	case typ.Kind() == reflect.Map:
		w.compare(where+"{}", doc, asObject(node["additionalProperties"]), typ.Elem())
	case typ.Kind() == reflect.Struct:
		props, required := w.fields(doc, node)
		fields, always := goFields(typ)
		delete(props, "crc32c") // durable.Seal adds it
		if s, g := slices.Sorted(maps.Keys(props)), slices.Sorted(maps.Keys(fields)); !slices.Equal(s, g) {
			w.t.Errorf("%s: schema has %v\nGo type has %v", where, s, g)
			return
		}
		slices.Sort(required)
		slices.Sort(always)
		if !slices.Equal(required, always) {
			w.t.Errorf("%s: schema requires %v\nGo always writes %v", where, required, always)
		}
		for name, p := range props {
			prop := asObject(p["node"])
			if prop["description"] == nil {
				w.t.Errorf("%s.%s: no description", where, name)
			}
			w.compare(where+"."+name, p["in"].(string), prop, fields[name])
		}
	default:
		w.scalar(where, node, typ)
	}
}

// scalar: the JSON type is the one that the Go kind is written as.
func (w walker) scalar(where string, node object, typ reflect.Type) {
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
	}[typ.Kind()]
	types := asList(node["type"])
	if s, ok := node["type"].(string); ok {
		types = []any{s}
	}
	if node["enum"] != nil {
		types = []any{"string"}
	}
	if want == "" || !slices.Contains(types, any(want)) {
		w.t.Errorf("%s: schema says %v, Go writes %s", where, types, typ)
	}
}

// TestFields holds schemas and Go types to the same fields, of the same types,
// and to the same idea of which are always there.
func TestFields(t *testing.T) {
	w := walker{t, all(t)}
	for name, typ := range records {
		w.compare(name, name, w.docs[name], typ)
	}
}

// TestShown: the examples of a record show every field that it has.
func TestShown(t *testing.T) {
	w := walker{t, all(t)}
	for name := range records {
		props := maps.Clone(asObject(w.docs[name]["properties"]))
		for _, line := range examples(t, name) {
			for field := range parse(t, line) {
				delete(props, field)
			}
		}
		if len(props) > 0 {
			t.Errorf("%s: no example shows %v", name, slices.Sorted(maps.Keys(props)))
		}
	}
}
