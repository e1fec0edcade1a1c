package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
)

// TestHuge: a text or a name that fits no record is cut, and said.
func TestHuge(t *testing.T) {
	e := message(1)
	e.Content = strings.Repeat("\x01é", 1<<20)
	e.Sender.Name, e.ChatName = "ana"+strings.Repeat("\u2028", 1<<20), strings.Repeat("c", 1<<20)
	e.Mentions = append([]string{"tri"}, slices.Repeat([]string{"U\x01"}, 1<<20)...)
	said := 0
	item, err := encode(&e, func(string, ...any) { said++ })
	if err != nil || len(item.Body) > maxBody || said != 1 || ndjson.Check(item.Body) != nil ||
		!bytes.Contains(item.Body, []byte(`"tri"`)) || !bytes.Contains(item.Body, []byte(`"name":"ana`)) {
		t.Errorf("%d bytes, said %d, %v", len(item.Body), said, err)
	}
	e.MessageID = strings.Repeat("x", 2<<20)
	if _, err := encode(&e, func(string, ...any) {}); err == nil {
		t.Error("an endless id is accepted")
	}
}

// TestTimes: a time that later stages would refuse is replaced, in the same way at each delivery.
func TestTimes(t *testing.T) {
	for at, want := range map[string]string{"287396-10-12T08:59:00Z": "1970-01-01T00:00:00Z",
		"-001-12-31T23:59:59Z":        "1970-01-01T00:00:00Z",
		"2026-11-23T08:00:00.5+02:00": "2026-11-23T08:00:00.5+02:00"} {
		e := message(1)
		e.CreateTime, e.EditedAt = at, at
		item, err := encode(&e, func(string, ...any) {})
		back, _ := identify(append([]byte(`{"seq":0,`), item.Body[1:]...))
		if err != nil || back.CreateTime != want || back.EditedAt != want || hashOf(&back) != item.ID {
			t.Errorf("%s: %s, %s, %v", at, back.CreateTime, back.EditedAt, err)
		}
	}
}

// TestRecords: records keep their bytes except seq; a record that is not an event is refused with the name
// of the field.
func TestRecords(t *testing.T) {
	good := `"platform":"p","chat_id":"c","chat_name":"","message_id":"%s","create_time":"2024-01-01T00:00:00Z","msg_type":"text","content":"x","thread_id":null,"sender":{"id":"a","type":"user"},"mentions":[]`
	fill := func(id string) string { return fmt.Sprintf(good, id) }
	in := strings.Join([]string{
		`{` + fill("1") + `,"more":{"a":[1, 2]}}`,
		` { "seq" : 99 , ` + fill("2") + `}`,
		`{` + fill("3") + `, "seq": 99 }`,
		`{"a":1,"seq":99,` + fill("4") + `}`,
		`{` + fill("1") + `}`, // seen
		`{` + fill("1") + `,"edited_at":"x","deleted":false}`,
	}, "\n")
	want := `{"seq":0,` + fill("1") + `,"more":{"a":[1, 2]}}
{"seq":N,  ` + fill("2") + `}
{"seq":N,` + fill("3") + ` }
{"seq":N,"a":1,` + fill("4") + `}
{"seq":N,` + fill("1") + `,"edited_at":"x","deleted":false}
`
	var out bytes.Buffer
	err := Run(context.Background(), options(nil, &out),
		FromRecords(stream.Input{Stdin: strings.NewReader(in)}))
	if err != nil {
		t.Fatal(err)
	}
	checkSeq(t, out.Bytes())
	got := out.String()
	for line := range strings.Lines(got) {
		_, seq := identify([]byte(line))
		want = strings.Replace(want, "N", fmt.Sprint(seq), min(1, int(seq)))
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	for change, reason := range map[string]string{
		`"platform":"p"|`:                         `lacks "platform"`,
		`"chat_id":"c"|"chat_id":""`:              `"chat_id" is "", not a text`,
		`"content":"x"|"content":5`:               `"content" is 5`,
		`"2024-01-01T00:00:00Z"|"yesterday"`:      `not RFC 3339`,
		`"thread_id":null|"thread_id":""`:         `thread_id is ""`,
		`"thread_id":null|"x":0`:                  `lacks "thread_id"`,
		`"type":"user"|"type":"dog"`:              `sender.type is "dog"`,
		`{"id":"a","type":"user"}|"ana"`:          `sender.id`,
		`"mentions":[]|"mentions":[1]`:            `not a list of texts`,
		`"mentions":[]|"mentions":[],"deleted":1`: `deleted is 1`,
		`"mentions":[]|"mentions":[],"edit_id":1`: `"edit_id" is 1`,
	} {
		old, new, _ := strings.Cut(change, "|")
		line := "{" + strings.Replace(fill("1"), old, new, 1) + "}"
		if new == "" {
			line = strings.Replace(line, "{,", "{", 1)
		}
		var said []string
		err := Run(context.Background(), options(nil, io.Discard), FromRecords(stream.Input{
			Stdin: strings.NewReader(line), Say: func(f string, args ...any) {
				said = append(said, fmt.Sprintf(f, args...))
			},
		}))
		if status, _ := sysexit.Of(err); status != sysexit.Data ||
			!strings.Contains(strings.Join(said, "\n"), reason) {
			t.Errorf("%s: said %q, %v", line, said, err)
		}
	}
}

// TestSet holds many, in a slice and in a map.
func TestSet(t *testing.T) {
	s := newSet()
	for i := range 40000 {
		e := message(i)
		if h := hashOf(&e); s.has(h) {
			t.Fatalf("%d is there before it is added", i)
		} else {
			s.add(h)
		}
	}
	if len(s.sorted) == 0 || len(s.recent) == 0 {
		t.Errorf("%d sorted, %d recent: one half is not tested", len(s.sorted), len(s.recent))
	}
	for i := range 40000 {
		if e := message(i); !s.has(hashOf(&e)) {
			t.Fatalf("%d is lost", i)
		}
	}
}
