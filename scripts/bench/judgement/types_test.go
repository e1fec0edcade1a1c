package main

import (
	"bytes"
	"strings"
	"testing"

	"tri/lib/event"
)

func TestConfusion(t *testing.T) {
	c := confusion{{"technical_qa", "technical_qa"}: 3, {"technical_qa", "other"}: 1, {"other", "technical_qa"}: 1}
	if hits, n := c.of("technical_qa"); hits != 3 || n != 4 {
		t.Errorf("%d of %d", hits, n)
	}
	if hits, n := c.all(); hits != 3 || n != 5 {
		t.Errorf("%d of %d", hits, n)
	}
	var out bytes.Buffer
	c.print(&out, "tuned")
	for _, part := range []string{"75.0%", "always the commonest: 80.0%", "data_lookup                     0  none"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, &out)
		}
	}
}

// TestTyper: the rules are those of lib/dispatch, with a type, minutes and a rubric.
func TestTyper(t *testing.T) {
	var said bytes.Buffer
	facts, _, err := typer(&said)
	if err != nil {
		t.Fatal(err)
	}
	e := &event.Classified{IsQuestion: true, Classification: event.Actionable}
	e.Content = "is the api down?"
	f, err := facts(e)
	if err != nil || f.QuestionType != "status_check" || f.ExpectedMin == 0 || f.Rubric == "" || said.Len() > 0 {
		t.Errorf("%+v, %v, %s", f, err, &said)
	}
}
