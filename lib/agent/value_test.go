package agent

import (
	"strings"
	"testing"
	"time"
)

func TestObject(t *testing.T) {
	for _, tt := range []struct{ text, want, err string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{"Sure:\n```json\n{ \"a\" : [ {\"b\":2} ] }\n```\nDone {really}.", `{"a":[{"b":2}]}`, ""},
		{`{"a":1} {"a":2}`, "", "more than one"},
		{`so: {"a":1`, "", "cut off"},
		{`{"a":{"b":1}`, "", "cut off"},
		{`no {object} here`, "", "no JSON object"},
		{``, "", "no JSON object"},
		{`[1,2]`, "", "no JSON object"},
		{`{"a":"}{"}`, `{"a":"}{"}`, ""},
	} {
		got, err := Object([]byte(tt.text))
		if string(got) != tt.want || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
}

// What an agent says must not cost the square of its length.
func TestObjectIsLinear(t *testing.T) {
	start := time.Now()
	for _, text := range []string{
		strings.Repeat(`{"a":`, 200_000), strings.Repeat("{", 1<<20),
		strings.Repeat(`{"a":[1,2,3],x `, 60_000), strings.Repeat(`{"`, 1<<19),
		strings.Repeat(`{"a":`, 4000) + "x" + strings.Repeat(" ", 1<<19),
	} {
		if v, err := Object([]byte(text)); err == nil {
			t.Errorf("%.20q…: %q", text, v)
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

func FuzzObject(f *testing.F) {
	f.Add([]byte("x {\"a\":1} y"))
	f.Add([]byte("{{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, err := Object(text); err == nil && (len(v) == 0 || v[0] != '{') {
			t.Errorf("%q is not an object", v)
		}
	})
}

func TestEndpoint(t *testing.T) {
	for address, want := range map[string]string{
		"https://logs.example.com/mcp": "logs.example.com:443", "http://[::1]:7777/mcp": "[::1]:7777",
		"http://a": "a:80", "": "", "a": "",
	} {
		if got := Endpoint(address); len(got) > 1 || len(got) == 1 && got[0] != want ||
			len(got) == 0 && want != "" {
			t.Errorf("%s: %q", address, got)
		}
	}
}
