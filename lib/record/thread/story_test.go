package thread

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the stories' ends anew: read the difference")

const storiesFile = "testdata/stories"

// TestStories checks every field of a thread: each story of the file begins with its inputs and
// lists what the last input changed, what is then due, and what the orchestrator prints for that
// step.
func TestStories(t *testing.T) {
	text, err := os.ReadFile(storiesFile)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, story := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		words, _, _ := strings.Cut(story, "\n")
		fmt.Fprintf(&got, "%s\n%s\n", words, ending(t, words))
	}
	told := strings.TrimSuffix(got.String(), "\n")
	if *update {
		if err := os.WriteFile(storiesFile, []byte(told), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(text), "\n\n")
	for i, story := range strings.Split(told, "\n\n") {
		if i >= len(want) || strings.TrimSpace(story) != strings.TrimSpace(want[i]) {
			t.Errorf("got\n%s\nwant\n%s", story, want[min(i, len(want)-1)])
		}
	}
}

func ending(t *testing.T, words string) string {
	t.Helper()
	var th, before Thread
	var due []Effect
	for n, w := range strings.Split(words, ";") {
		before = th
		th, due = Apply(th, step(th, n, w))
	}
	var b strings.Builder
	from, to := reflect.ValueOf(before), reflect.ValueOf(th)
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if strings.HasPrefix(name, "Applied") || name == "StatusHistory" {
			continue
		}
		if got := plain(t, to.Field(i)); got != plain(t, from.Field(i)) {
			fmt.Fprintf(&b, "  %s %s\n", name, got)
		}
	}
	if n := len(th.Applied) - len(before.Applied); n != 1 {
		fmt.Fprintf(&b, "  %d inputs more\n", n)
	}
	for _, e := range due {
		fmt.Fprintf(&b, "  due: %s %s %v\n", e.Kind, e.RunID, e.Long)
	}
	for _, m := range th.Moves(&before) {
		fmt.Fprintf(&b, "  move: %s\n", plain(t, reflect.ValueOf(m)))
	}
	return b.String()
}

func plain(t *testing.T, v reflect.Value) string {
	t.Helper()
	b, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
