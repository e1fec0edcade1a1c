package query

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Setenv("SECRET", "s3cret")
	const line = `{"chat_name":"dev","content":"is it down?","n":9007199254740993,"tags":["a","b"],"none":null}`
	for _, tt := range []struct {
		src  string
		want bool
		err  string
	}{
		{`.chat_name == "dev"`, true, ""},
		{`.chat_name == "ops"`, false, ""},
		{`.content | test("DOWN"; "i")`, true, ""},
		{`.missing`, false, ""},
		{`.none`, false, ""},
		{`0`, true, ""}, // as in jq: only false and null do not hold
		{`empty`, false, ""},
		{`.tags[] == "b"`, true, ""},
		{`.n == 9007199254740993`, true, ""},
		{`.n == 9007199254740992`, false, ""},
		{`env.SECRET != null`, false, ""},
		{`$ENV.SECRET != null`, false, ""},
		{`.content.x`, false, "expected an object"},
		{`error("no")`, false, "no"},
		{`now > 0`, false, "any time"},
		{`0 | localtime`, false, "any time"},
		{`repeat(.) | false`, false, "no answer within"},
		{`def f: f; f`, false, "no answer within"},
		{`halt`, false, "halt"},
	} {
		q, err := Compile(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		got, err := q.Match([]byte(line))
		if got != tt.want || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, %v; want %v, %q", tt.src, got, err, tt.want, tt.err)
		}
	}
}

func TestEndlessConditionIsNamed(t *testing.T) {
	q, err := Compile(`[limit(10; repeat(1) | select(false))]`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Match([]byte(`{}`)); !errors.Is(err, errTooLong) {
		t.Errorf("%v", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`.a ==`, "character 5"},
		{`.a | nope`, "nope/0"},
		{`$x`, "$x"},
		{`input`, "not allowed"},
		{`inputs`, "not allowed"},
		{`debug`, "debug"},
		{`import "a" as a; .`, "modules"},
		{`include "a"; .`, "modules"},
		{strings.Repeat("(", 70000), "longer than"},
	} {
		if _, err := Compile(tt.src); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40s: %v, want %q", tt.src, err, tt.want)
		}
	}
}

func TestMatchRefusesBadRecords(t *testing.T) {
	q, err := Compile(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"", "{", "{} {}", "nope"} {
		if _, err := q.Match([]byte(line)); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

func TestQueriesRunSideBySide(t *testing.T) {
	q, err := Compile(`.a == 1`)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			line, want := `{"a":1}`, true
			if i%2 == 1 {
				line, want = `{"a":2}`, false
			}
			for range 200 {
				if got, err := q.Match([]byte(line)); got != want || err != nil {
					t.Errorf("%s: %v, %v", line, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCondition(t *testing.T) {
	const content = "x.content: is the build down?"
	line := []byte(`{"content":"is the build down?","chat_name":"dev"}`)
	for _, tt := range []struct {
		src  string
		want bool
	}{
		{`.chat_name == "dev"`, true},
		{` (.chat_name == "ops") or .content == ""`, false},
		{`."chat_name" == "dev"`, true},
		{`. | has("content")`, true},
		{`.["chat_name"] == "dev"`, true},
		{`(?i)\bDOWN\b`, true},
		{`.*down`, true},
		{`.`, true},
		{`.+up`, false},
		{`(?:.content)`, true},
		{`^is`, false},
	} {
		c, err := CompileCondition(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got, err := c.Match(line, content); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.src, got, err)
		}
	}
	for _, src := range []string{"", " ", "(", ".a ==", `[z-a]`, `(?<=x)y`} {
		if _, err := CompileCondition(src); err == nil {
			t.Errorf("%q was taken", src)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	q, err := Compile(`.chat_name == "dev" and (.content | test("deploy"; "i"))`)
	if err != nil {
		b.Fatal(err)
	}
	line := []byte(`{"platform":"slack","chat_id":"C1","chat_name":"dev","content":"when do we deploy the thing?","sender":{"id":"U1","type":"user"}}`)
	for b.Loop() {
		if _, err := q.Match(line); err != nil {
			b.Fatal(err)
		}
	}
}
