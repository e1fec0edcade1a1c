package report

import (
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/discussion"
)

// TestDiscuss: a discussion is found by its id, the key of its offer and its subject, and by nothing shorter;
// what personas said is printed in order, by name, and without control characters.
func TestDiscuss(t *testing.T) {
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lines := `{"id":"d-12345678","triggerType":"issue_review","triggerRef":"team/shop#4","status":"consensus","round":2,"consensusResult":"approved","decided_by":"x","contributions":[{"name":"Ann","lens":"look","round":2,"says":[]},{"name":"Bo","lens":"look","round":1,"says":[{"ref":"a.go:1","claim":"c\u001b[1m","result":"contradicts","note":"\u202eodd"}]},{"name":"Cy","lens":"look","round":1,"error":"it \u0007talks"}],"rulings":[{"persona":"x","round":1,"decision":"CHANGES","reasons":["later"]},{"persona":"x","round":2,"decision":"READY"}],"proposal":{"kind":"move_ready","issue":4}}
{"id":"d-12399999","triggerRef":"team/shop#5","status":"closed","round":1}
`
	if err := h.Replace(discussion.LogName, []byte(lines)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"d-12345678": 1, "forge.d-12345678": 1, "d-123": 2, "team/shop#4": 1,
		"d-12": 0, "d-124": 0, "team/shop": 0, "": 0, "142": 0} {
		if all, err := Discuss(h, config.Default(), name); err != nil || len(all) != want {
			t.Errorf("%q: %d, %v, want %d", name, len(all), err, want)
		}
	}
	all, err := Discuss(h, config.Default(), "team/shop#4")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := all.Print(&b); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"Bo (look): objections: 1", "a.go:1", "Cy (look): gave no answer: it ",
		"x: CHANGES", "later", "Ann (look): objections: 0", "x: READY", "Label issue 4: ready"} {
		i := strings.Index(b.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q after byte %d of\n%s", want, at, b.String())
		}
		at += i
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\u202e") {
		t.Errorf("%q", b.String())
	}
}
