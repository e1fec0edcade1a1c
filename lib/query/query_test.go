package query

import (
	"os"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	os.Setenv("TRI_QUERY_TEST", "secret")
	for _, tt := range []struct {
		src, line string
		want      bool
	}{
		{`.a == 1`, `{"a":1}`, true},
		{`.a == 1`, `{"a":2}`, false},
		{`.a`, `{}`, false},
		{`.a`, `{"a":0}`, true},
		{`empty`, `{}`, false},
		{`env.TRI_QUERY_TEST`, `{}`, false},
		{`$ENV.TRI_QUERY_TEST`, `{}`, false},
		{`.content | test("deploy")`, `{"content":"deploy it"}`, true},
	} {
		q, err := Compile(tt.src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Match([]byte(tt.line)); err != nil || got != tt.want {
			t.Errorf("%s over %s: %v, %v", tt.src, tt.line, got, err)
		}
	}
}

func TestEndlessFilterEnds(t *testing.T) {
	q, err := Compile(`last(repeat(1))`)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := q.Match([]byte(`{}`)); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("ended with %v after %v", err, time.Since(began))
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, src := range []string{`.a ==`, `nope(1)`, `.a | input`, ``} {
		if _, err := CompileCondition("." + src); src != "" && err == nil {
			t.Errorf("accepted %q", src)
		}
	}
	for _, src := range []string{``, `(`, `a{1000000}`} {
		if _, err := CompileCondition(src); err == nil {
			t.Errorf("accepted %q", src)
		}
	}
}

func TestCondition(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want bool
	}{{`(?i)DEPLOY`, true}, {`.*deploy`, true}, {`.chat_id == "C1"`, true}, {`(.chat_id == "C2") or false`, false}, {`rollback`, false}} {
		c, err := CompileCondition(tt.src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Match([]byte(`{"chat_id":"C1"}`), "please deploy it"); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.src, got, err)
		}
	}
}
