package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestConfusion(t *testing.T) {
	c := confusion{{"technical_qa", "technical_qa"}: 3, {"technical_qa", "other"}: 1,
		{"other", "technical_qa"}: 1}
	if hits, n := c.of("technical_qa"); hits != 3 || n != 4 {
		t.Errorf("%d of %d", hits, n)
	}
	if hits, n := c.all(); hits != 3 || n != 5 {
		t.Errorf("%d of %d", hits, n)
	}
	var out bytes.Buffer
	c.print(&out, "tuned")
	for _, part := range []string{"75.0%", "always the commonest: 80.0%",
		"data_lookup                     0  none"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, &out)
		}
	}
}

func TestExpected(t *testing.T) {
	if got := expected([]float64{5, 3, 12.5}); got != "3 to 12.5" {
		t.Error(got)
	}
}
