package classify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/stream"
	"tri/lib/record/event"
)

// edits is a room in which a message is edited: lines "seconds id who text"; the time of an edit is that of
// its message.
func edits(t *testing.T, script string) []event.Classified {
	t.Helper()
	var in, out bytes.Buffer
	for line := range strings.Lines(strings.TrimSpace(script)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		second, err := time.ParseDuration(f[0])
		if err != nil {
			t.Fatal(err)
		}
		id, edit := strings.CutSuffix(f[1], "!")
		id, deletion := strings.CutSuffix(id, "-")
		e := event.Event{Platform: "p", ChatID: "c", MessageID: id, Content: f[3], Mentions: []string{},
			Sender:     event.Sender{ID: f[2], Type: "user"},
			CreateTime: time.Unix(1e9, 0).Add(second).UTC().Format(time.RFC3339)}
		if deletion {
			e.Deleted, e.EditID, e.Content = true, "deleted", ""
		}
		if edit {
			e.EditedAt = "2031-01-01T00:00:00Z"
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "%s\n", b)
	}
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Run(context.Background(), stream.Input{Stdin: &in, After: -1},
		stream.Output{Stdout: &out}, c.Stage()); err != nil {
		t.Fatal(err)
	}
	var all []event.Classified
	for line := range bytes.Lines(out.Bytes()) {
		var e event.Classified
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestEdited: an edit is judged as its message, not as what its writer says now, and the messages after it
// are judged as they are without it.
func TestEdited(t *testing.T) {
	for _, tt := range []struct{ name, chat, want string }{
		{"a greeting of the morning, while its writer is being helped", `
			-3h m ana good morning everybody, the build is green again
			0s q ana how do I set the retry limit of the gateway on staging?
			60s a bob set GATEWAY_RETRIES in the env file
			-3h m! ana good morning everybody, the build is green again!
			90s f ana it still gives up after one attempt
			120s g ana the env file has it and the pods were restarted`, event.Ambient},
		{"a message of last week", `
			-200h m ana good morning everybody, the build is green again
			0s q ana how do I set the retry limit of the gateway on staging?
			60s a bob set GATEWAY_RETRIES in the env file
			-200h m! ana good morning everybody, the build is green again!
			90s f ana it still gives up after one attempt`, event.Ambient},
		{"of a person who does not help", `
			-3h m cat the bike room is closed until friday
			0s q ana how do I set the retry limit of the gateway on staging?
			-3h m! cat the bike room is closed until monday
			30s a bob set GATEWAY_RETRIES in the env file
			90s f ana it still gives up after one attempt`, event.Ambient},
		{"the question itself", `
			0s q ana how do I set the retry limit of the gateway?
			0s q! ana how do I set the retry limit of the gateway on staging?
			60s a bob set GATEWAY_RETRIES in the env file
			90s f ana it still gives up after one attempt`, event.Actionable},
		{"thanks edited to thanks", `
			0s q ana how do I set the retry limit of the gateway?
			60s a bob set GATEWAY_RETRIES in the env file
			70s k ana thanks
			80s n ana but it still gives up after one attempt
			70s k! ana thanks!
			200s f ana it says timeout after one attempt`, event.Ack},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := edits(t, tt.chat)
			i := slices.IndexFunc(got, func(e event.Classified) bool { return e.EditedAt != "" })
			if got[i].Classification != tt.want {
				t.Errorf("the edit is %s for %v, want %s", got[i].Classification, got[i].Reasons, tt.want)
			}
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(tt.chat), "\n"), func(l string) bool {
				return strings.Contains(l, "! "+got[i].Sender.ID+" ")
			})
			want := edits(t, strings.Join(lines, "\n"))
			for j, e := range slices.Delete(got, i, i+1) {
				if w := want[j]; e.Classification != w.Classification || !slices.Equal(e.Reasons, w.Reasons) {
					t.Errorf("%s is %s for %v, without the edit %s for %v", e.MessageID, e.Classification,
						e.Reasons, w.Classification, w.Reasons)
				}
			}
		})
	}
}

// TestAskedByEdit: a question that an edit made of a message is followed up as any.
func TestAskedByEdit(t *testing.T) {
	got := edits(t, `
		0s q ana the retry limit of the gateway on staging
		0s q! ana how do I set the retry limit of the gateway on staging?
		60s a bob set GATEWAY_RETRIES in the env file
		90s f ana it still gives up after one attempt`)
	for i, want := range []string{event.Ambient, event.Actionable, event.Ambient, event.Actionable} {
		if got[i].Classification != want {
			t.Errorf("%d is %s for %v, want %s", i, got[i].Classification, got[i].Reasons, want)
		}
	}
}

// TestDeleted: who deletes their question is not being helped, and what they say next follows up nothing.
func TestDeleted(t *testing.T) {
	for _, tt := range []struct{ name, chat, want string }{
		{"alone", `
			0s q ana how do I set the retry limit of the gateway on staging?
			20s q- ana -
			30s f ana it still gives up after one attempt`, event.Ambient},
		{"another question stays", `
			0s p ana how do I set the timeout of the gateway on staging?
			10s m bob good morning everybody
			20s q ana how do I set the retry limit of the gateway on staging?
			0s p- ana -
			60s a bob set GATEWAY_RETRIES in the env file
			90s f ana it still gives up after one attempt`, event.Actionable},
		{"another message", `
			0s q ana how do I set the retry limit of the gateway on staging?
			10s m ana it is urgent
			10s m- ana -
			30s f ana it still gives up after one attempt`, event.Actionable},
	} {
		got := edits(t, tt.chat)
		if e := got[len(got)-1]; e.Classification != tt.want {
			t.Errorf("%s: it is %s for %v, want %s", tt.name, e.Classification, e.Reasons, tt.want)
		}
	}
}
