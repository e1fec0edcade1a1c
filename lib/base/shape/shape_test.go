package shape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tri/lib/base/ndjson"
	"tri/lib/base/shape"
	"tri/schemas"
)

// complete is a validator that knows all of JSON Schema.
func complete(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, n := range schemas.Names() {
		text, err := schemas.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
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

// other stands in for a value of an example.
func other(rng *rand.Rand) any {
	others := []any{nil, true, 0.0, -1.0, 1.5, 3e9, "", "x", "2026-02-30T00:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.5+02:00", "pass", "bounce", "offer", "settle", "done", "posted", strings.Repeat("a", 64), []any{}, []any{"x"}, []any{1.0}, map[string]any{}, map[string]any{"kind": "file"}}
	return others[rng.IntN(len(others))]
}

// spoil changes one thing somewhere in a value: takes a member away, or puts
// something else in its place.
func spoil(rng *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		if len(keys) == 0 {
			return other(rng)
		}
		k := keys[rng.IntN(len(keys))]
		switch rng.IntN(4) {
		case 0:
			delete(v, k)
		case 1:
			v[k] = other(rng)
		case 2:
			v["unknown"] = 1.0
		default:
			v[k] = spoil(rng, v[k])
		}
		return v
	case []any:
		if len(v) == 0 || rng.IntN(3) == 0 {
			return append(v, other(rng))
		}
		i := rng.IntN(len(v))
		v[i] = spoil(rng, v[i])
		return v
	}
	return other(rng)
}

// TestSameAsACompleteValidator: every example of every record, and each spoiled
// in many ways.
func TestSameAsACompleteValidator(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	refused, taken := 0, 0
	files, err := filepath.Glob("../../../examples/records/*.ndjson")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		fast, err := shape.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		slow := complete(t, name)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
			if err := fast.Check(line); err != nil {
				t.Errorf("%s: %v: %s", name, err, line)
			}
			for range 150 {
				var v any
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatal(err)
				}
				for range 1 + rng.IntN(2) {
					v = spoil(rng, v)
				}
				text, _ := json.Marshal(v)
				if rng.IntN(3) == 0 {
					text, _ = json.MarshalIndent(v, "", "  ")
				}
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				want, got := slow.Validate(doc), fast.Check(text)
				if (want == nil) != (got == nil) {
					t.Fatalf("%s: %v, the complete one says %v\n%s", name, got, want, text)
				}
				if got == nil {
					taken++
				} else {
					refused++
				}
			}
		}
	}
	if refused < 500 || taken < 500 {
		t.Errorf("refused %d, taken %d: one side is hardly tried", refused, taken)
	}
}

func TestMembers(t *testing.T) {
	s, err := shape.Load("spend")
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"at":"2026-03-01T10:00:00Z","kind":"reserve","day":"2026-03-01","run_id":"i-000000000000000000000000","key":"local.dev.1","person":"","cost_usd":null}`)
	for _, spoiled := range []bool{false, true} {
		if spoiled {
			line = bytes.Replace(line, []byte(`"reserve"`), []byte(`"\u0072ob"`), 1)
		}
		var scan ndjson.Scanner
		if err := scan.Scan(line); err != nil {
			t.Fatal(err)
		}
		a, b := s.Check(line), s.Members(scan.Members)
		if (a != nil) != spoiled || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v, %v", a, b)
		}
	}
}

// TestDerived: a record that begins as one that was accepted is looked at from there
// on, and judged as if all of it had been.
func TestDerived(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	event, err1 := shape.Load("event")
	derived, err2 := event.Derive("classified-event")
	alone, err3 := shape.Load("classified-event")
	b, err4 := os.ReadFile("../../../examples/records/classified-event.ndjson")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	shared, refused := 0, 0
	for range 3000 {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			v = spoil(rng, v)
		}
		text, _ := json.Marshal(v)
		var scan ndjson.Scanner
		if scan.Scan(text) != nil {
			continue
		}
		n := rng.IntN(len(scan.Members) + 1) // of which the first are an event's
		if event.Members(scan.Members) != nil {
			n = 0
		}
		want, got := alone.Members(scan.Members), derived.MembersLike(scan.Members, n)
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("%v, want %v: %s", got, want, text)
		}
		if want != nil {
			refused++
		}
		shared += n
	}
	if refused < 100 || shared < 1000 {
		t.Errorf("%d refused, %d members shared: one side is hardly tried", refused, shared)
	}
	if _, err := event.Derive("nothing"); err == nil {
		t.Error("a schema that is not there")
	}
}

// FuzzCheck: no line that ndjson accepts makes it panic or run on.
func FuzzCheck(f *testing.F) {
	s, err := shape.Load("journal")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"at":"\\\"","key":"\\","run":[{},[],"\\\\"],"event":{"a\"":1 , "b":[ 1 , 2 ]}}`))
	f.Fuzz(func(_ *testing.T, line []byte) {
		if ndjson.Check(line) == nil {
			_ = s.Check(line)
		}
	})
}
