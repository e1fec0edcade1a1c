package ndjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCheckRefusesByName(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
	}
	many := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + b.String() + more + "}"
	}
	for _, tt := range []struct{ name, in, want string }{
		{"empty object", `{}`, ""},
		{"values", ` { "a" : [1, -0.5e+10, true, false, null, "x", {}, []] } `, ""},
		{"carriage return at the end", "{\"a\":1}\r", ""},
		{"huge number", `{"a":1` + strings.Repeat("0", 5000) + `e999999}`, ""},
		{"escapes", `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, ""},
		{"delete character", "{\"a\":\"\x7f\"}", ""},
		{"same name at different levels", `{"a":{"a":[{"a":1},{"a":2}]}}`, ""},
		{"as deep as may be", deep(MaxDepth), ""},
		{"many names", many(1000, `"x":1`), ""},

		{"a name among many in an object below", `{"a":1,"o":` + many(MaxNames-1, `"x":1`) + `}`, ""},
		{"as long as may be", `{"a":"` + strings.Repeat("x", MaxLine-8) + `"}`, ""},

		{"nothing", "", "ends too early at the start"},
		{"a bare word alone", "nope", "unexpected 'n' where a value belongs"},
		{"two values", "1 2", "unexpected '2' after the value"},
		{"no value", `{"a":`, "ends too early where a value belongs"},
		{"a colon for a value", `{"a"::}`, "unexpected ':' where a value belongs"},
		{"a mark for a value", `{"a":!}`, "unexpected '!' where a value belongs"},
		{"a comma forgotten", `{"a":1 "b":2}`, `unexpected '"' inside an object`},
		{"an object cut", `{"a":{`, "ends too early where a name belongs"},
		{"a name cut", `{"a`, "ends too early inside a string"},
		{"a name without a value", `{"a"}`, "unexpected '}' after a name"},
		{"a comma forgotten in an array", `{"a":[1 2]}`, "unexpected '2' inside an array"},
		{"an array cut", `{"a":[1`, "ends too early inside an array"},
		{"an array of nothing cut", `{"a":[`, "ends too early where a value belongs"},
		{"an array closed as an object", `{"a":[1}}`, "unexpected '}' inside an array"},
		{"a bare minus", `{"a":-}`, "unexpected '}' in a number"},
		{"a minus cut", `{"a":-`, "ends too early in a number"},
		{"an exponent cut", `{"a":1e`, "ends too early in a number"},
		{"array", `[1]`, "not a JSON object"},
		{"string", `"a"`, "not a JSON object"},
		{"number", `12`, "not a JSON object"},
		{"two records", `{}{}`, "unexpected '{' after the record"},
		{"cut", `{"a":1`, "ends too early inside an object"},
		{"cut in a string", `{"a":"x`, "ends too early inside a string"},
		{"trailing comma", `{"a":1,}`, "unexpected '}' where a name belongs"},
		{"bare word", `{"a":nope}`, "where a value belongs"},
		{"leading zero", `{"a":01}`, "unexpected '1'"},
		{"plus", `{"a":+1}`, "unexpected '+' where a value belongs"},
		{"half a fraction", `{"a":1.}`, "in a number"},
		{"half an exponent", `{"a":1e}`, "in a number"},
		{"raw control character", "{\"a\":\"\x01\"}",
			"invalid JSON at byte 6: unexpected '\\x01' inside a string: control characters must be escaped"},
		{"NUL", "{\"a\":1}\x00", "after the record"},
		{"bad escape", `{"a":"\x"}`, "in an escape"},
		{"short escape", `{"a":"\u12"}`, "in an escape"},
		{"high surrogate alone", `{"a":"\ud83d"}`, `lone surrogate \ud83d at byte 6`},
		{"low surrogate alone", `{"a":"\ude00x"}`, `lone surrogate \ude00`},
		{"two high surrogates", `{"a":"\ud83d\ud83d"}`, "lone surrogate"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "invalid UTF-8 at byte 6"},
		{"invalid at the start", "\xff{}", "invalid UTF-8 at byte 0"},
		{"invalid behind a replacement character", "{\"a\":\"\uFFFD\xff\"}", "invalid UTF-8 at byte 9"},
		{"encoded surrogate", "{\"a\":\"\xed\xa0\x80\"}", "invalid UTF-8"},
		{"byte order mark", "\xef\xbb\xbf{}", "byte order mark"},
		{"duplicate name", `{"a":1,"b":2,"a":3}`, `duplicate name "a" at byte 13`},
		{"duplicate below", `{"x":[{"a":1,"a":1}]}`, `duplicate name "a"`},
		{"duplicate after unescaping", `{"a":1,"\u0061":2}`, `duplicate name "a"`},
		{"empty name twice", `{"":1,"":2}`, `duplicate name ""`},
		{"duplicate among many", many(1000, `"k3":1`), `duplicate name "k3"`},
		{"duplicate of an early one when the table is new", many(40, `"k3":1`), `duplicate name "k3"`},
		{"duplicate of the last", many(100, `"k99":1`), `duplicate name "k99"`},
		{"duplicate of a long name", `{"` + strings.Repeat("n", 70) + `":1,"` + strings.Repeat("n", 70) +
			`":2}`, `duplicate name "` + strings.Repeat("n", 64) + `"`},
		{"too many names below", `{"o":` + many(MaxNames, `"x":1`) + `}`,
			"more than 16384 names in one object"},
		{"as many names as may be", many(MaxNames-1, `"x":1`), ""},
		{"too many names", many(MaxNames, `"x":1`), "more than 16384 names in one object"},
		{"too deep", deep(MaxDepth + 1), "deeper than 128 levels"},
		{"objects too deep", strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1),
			"deeper than 128 levels"},
		{"objects as deep as may be", strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth),
			""},
		{"hostile depth", `{"a":` + strings.Repeat("[", 100_000), "deeper than 128 levels"},
		{"too long", `{"a":"` + strings.Repeat("x", MaxLine) + `"}`, "longer than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]byte(tt.in))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && err == nil:
				t.Errorf("accepted, want %q", tt.want)
			case tt.want != "" && !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

// TestManyNames: a line full of names costs time in proportion to its length.
func TestManyNames(t *testing.T) {
	line := []byte(`{"a":0`)
	for i := 0; len(line) < MaxLine-400_000; i++ {
		line = fmt.Appendf(line, `,"o%d":{"x":0`, i)
		for j := range MaxNames / 4 {
			line = fmt.Appendf(line, `,"%d":0`, j)
		}
		line = append(line, '}')
	}
	line = append(line, '}')
	began := time.Now()
	if err := Check(line); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestMembers(t *testing.T) {
	var got []string
	err := Members([]byte(`{"a" : 1, "b\n":{"c":[2]} ,"é":"x\"y"}`), func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	})
	want := "a=1|b\n={\"c\":[2]}|é=\"x\\\"y\""
	if err != nil || strings.Join(got, "|") != want {
		t.Errorf("got %q, %v; want %q", strings.Join(got, "|"), err, want)
	}
}

// hostile is the folder of JSONTestSuite's files, read in place.
func hostile(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../../../shared/data/hostile/json/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("the hostile JSON files are missing")
		}
		t.Skip("left out: the hostile JSON files are not here")
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestHostileFiles: input that a parser must reject is refused; input that it must accept is
// accepted if it is a record.
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile(t) {
		err := Check(text)
		var object map[string]json.RawMessage
		switch {
		case strings.HasPrefix(name, "n_") && err == nil:
			t.Errorf("%s: accepted", name)
		case !strings.HasPrefix(name, "y_"):
		case strings.HasPrefix(name, "y_object_duplicated_key"):
			if err == nil || !strings.Contains(err.Error(), "duplicate name") {
				t.Errorf("%s: %v", name, err)
			}
		case json.Unmarshal(text, &object) == nil && object != nil:
			if err != nil {
				t.Errorf("%s: refused: %v", name, err)
			}
		case err == nil || err.Error() != "not a JSON object":
			t.Errorf("%s: %v, want: not a JSON object", name, err)
		}
	}
}

// TestHostileStream: none of the files ends the stream or swallows the record
// behind it.
func TestHostileStream(t *testing.T) {
	files := hostile(t)
	var stream bytes.Buffer
	for _, text := range files {
		stream.Write(text)
		stream.WriteString("\n{\"marker\":1}\n")
	}
	markers, whole := 0, 0
	for _, l := range readAll(t, &stream) {
		if string(l.Bytes) == `{"marker":1}` {
			markers++
		} else if !l.Long && Check(l.Bytes) == nil {
			whole++
		}
	}
	if markers != len(files) {
		t.Errorf("%d of %d records came through", markers, len(files))
	}
	if whole == 0 || whole > 40 {
		t.Errorf("%d lines of the files were accepted", whole)
	}
}

// FuzzCheck: accepted input is accepted by encoding/json too, with the same members.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"a":2}`, `{"a":"\ud83d\ude00","b":[1.5e3,null]}`,
		"{\"\\u0061\":\"\xff\"}", `[{}]`, `{"a":{"b":-0}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var s Scanner
		err := s.Scan(line)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("accepted %q", line)
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if len(want) != len(s.Members) {
			t.Fatalf("%q: %d members, want %d", line, len(s.Members), len(want))
		}
		for _, m := range s.Members {
			if string(bytes.TrimSpace(want[string(m.Key)])) != string(m.Value) {
				t.Fatalf("%q: %q is %q, want %q", line, m.Key, m.Value, want[string(m.Key)])
			}
			var text string
			if got, ok := Text(nil, m.Value); ok &&
				(json.Unmarshal(m.Value, &text) != nil || text != string(got)) {
				t.Fatalf("%q: text %q, want %q", m.Value, got, text)
			}
		}
	})
}

// FuzzAppendString: any string comes back as encoding/json reads it.
func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\n\"\\é👍\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		raw := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if back != strings.ToValidUTF8(s, "\uFFFD") && back != string([]rune(s)) {
			t.Fatalf("%q came back as %q", s, back)
		}
		if err := Check(append(append([]byte(`{"a":`), raw...), '}')); err != nil {
			t.Fatal(err)
		}
	})
}

// record is a line as a chat gives it.
var record = []byte(`{"platform": "irc", "chat_id": "#ubuntu", "chat_name": "ubuntu", "message_id": "2004-11-15_03-1", "create_time": "2004-11-15T12:18:01Z", "msg_type": "text", "content": "HrdwrBoB: ok how many partitions should i make?", "thread_id": null, "sender": {"id": "tweaked", "type": "user"}, "mentions": ["HrdwrBoB"]}`)

// BenchmarkScan and BenchmarkJSONText read one record, and refuse the same: duplicate
// keys, invalid UTF-8, unbounded depth. Their difference is why the scan is our own.
func BenchmarkScan(b *testing.B) {
	var s Scanner
	b.SetBytes(int64(len(record)))
	for b.Loop() {
		if err := s.Scan(record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSONText(b *testing.B) {
	d := jsontext.NewDecoder(bytes.NewReader(nil))
	b.SetBytes(int64(len(record)))
	for b.Loop() {
		d.Reset(bytes.NewReader(record))
		for {
			if _, err := d.ReadToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
