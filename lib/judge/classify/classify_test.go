package classify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/record/event"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func classifier(t testing.TB, o Options) *Classifier {
	t.Helper()
	o.Now = func() time.Time { return noon }
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run sends lines through a fresh stage.
func run(t testing.TB, c *Classifier, lines string) []event.Classified {
	t.Helper()
	var out []event.Classified
	for _, line := range bytes.Split(bytes.TrimSpace(raw(t, c, lines)), []byte("\n")) {
		var e event.Classified
		if err := ndjson.Check(line); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func raw(t testing.TB, c *Classifier, lines string) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := stream.Run(t.Context(), stream.Input{Stdin: strings.NewReader(lines), After: -1},
		stream.Output{Stdout: &out}, c.Stage())
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// says is an event with this content.
func says(content string) string {
	return fmt.Sprintf(`{"platform":"local","chat_id":"dev","message_id":"1","create_time":"2026-01-01T00:00:00Z","content":%s,"thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":["bob"]}`,
		ndjson.AppendString(nil, content)) + "\n"
}

// ev is an event with what a test needs of it; later members replace earlier ones.
func ev(members ...string) string {
	m := map[string]any{"platform": "p", "chat_id": "c", "message_id": "m",
		"create_time": "2026-01-01T00:00:00Z",
		"content":     "hm well", "thread_id": nil, "sender": map[string]string{"id": "ana", "type": "user"},
		"mentions": []string{}}
	for _, s := range members {
		if err := json.Unmarshal([]byte("{"+s+"}"), &m); err != nil {
			panic(err)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func TestWho(t *testing.T) {
	o := Options{Config: config.Classifier{BotID: "tri", BotIDs: []string{"tri2"}},
		Team: config.Team{Members: []string{"bob", "eve"}}}
	q := `"content":"why is it down?"`
	for _, tt := range []struct{ name, in, class, flags string }{
		{"a person asks", ev(q), "actionable", "question"},
		{"the bot is called", ev(`"mentions":["bob","tri2"]`), "actionable", "mention"},
		{"the bot is thanked", ev(`"mentions":["tri"],"content":"thanks"`), "actionable", "mention ack"},
		{"our own question", ev(q, `"sender":{"id":"tri","type":"user"}`), "ambient", "question"},
		{"our own, mentioning us", ev(q, `"sender":{"id":"tri2","type":"bot"},"mentions":["tri"]`),
			"ambient", "mention"},
		{"another bot", ev(q, `"sender":{"id":"ci","type":"bot"}`), "ambient", ""},
		{"deleted", ev(q, `"deleted":true`), "ambient", "question"},
		{"edited", ev(q, `"edited_at":"2026-01-01T00:01:00Z"`), "actionable", "question"},
		{"team to team", ev(q, `"sender":{"id":"bob","type":"user"},"mentions":["eve"]`), "ambient",
			"question chatter"},
		{"team to bot", ev(`"sender":{"id":"bob","type":"user"},"mentions":["eve","tri"]`),
			"actionable", "mention"},
		{"guest to team", ev(`"mentions":["eve"]`), "ambient", ""},
		{"team to guest", ev(`"sender":{"id":"bob","type":"user"},"mentions":["ana"]`), "ambient", ""},
		{"thread_id missing, mentions null", ev(`"mentions":null`), "ambient", ""},
	} {
		e := run(t, classifier(t, o), tt.in)[0]
		var flags []string
		for _, f := range []struct {
			name string
			set  bool
		}{{"mention", e.IsBotMention}, {"question", e.IsQuestion}, {"ack", e.IsAckOrEmoji},
			{"chatter", e.IsInternalChatter}} {
			if f.set {
				flags = append(flags, f.name)
			}
		}
		if got := strings.Join(flags, " "); e.Classification != tt.class || got != tt.flags {
			t.Errorf("%s: %s (%s) %v, want %s (%s)", tt.name, e.Classification, got, e.Reasons,
				tt.class, tt.flags)
		}
	}
	o.Config.OtherBots = "classify"
	if e := run(t, classifier(t, o),
		ev(q, `"sender":{"id":"ci","type":"bot"}`))[0]; e.Classification != "actionable" {
		t.Error("other_bots: classify is not heeded")
	}
}

func TestThreadInFlight(t *testing.T) {
	c := classifier(t, Options{Config: config.Classifier{BotID: "tri"}})
	at := func(seq int, id, thread, content, when string) string {
		return ev(fmt.Sprintf(`"seq":%d,"message_id":%q,"thread_id":%s,"content":%q,"create_time":%q`, seq,
			id, thread, content, when))
	}
	const day1, day2, day3 = "2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z", "2026-01-02T08:00:01Z"
	out := run(t, c,
		at(0, "1", "null", "why is it down?", day1)+ // opens 1
			at(1000, "2", `"1"`, "it says timeout", day1)+
			at(4000, "5", `"1"`, "a day later", day2)+
			at(5000, "6", `"1"`, "and more of the same", day3)+
			at(6000, "7", "null", "how to restart", day1)+ // opens 7
			at(6000+generation, "8", `"7"`, "just inside", day1)+
			at(6000+Window, "9", `"7"`, "just outside", day1)+
			at(6002+Window, "10", "null", "why is it down?", day1)+
			at(6003+Window, "11", `"10"`, "ok thanks", day1)+
			at(6004+Window, "12", `"10"`, "that was quick", "2026-01-01T08:10:00Z"))
	want := []string{
		"actionable false", "actionable true", "actionable true", "ambient false",
		"actionable false", "actionable true", "ambient false", "actionable false", "ack true", "ack false",
	}
	for i, e := range out {
		if got := fmt.Sprint(e.Classification, " ", e.MentionsThreadWithInflight); got != want[i] {
			t.Errorf("record %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestSplice(t *testing.T) {
	c := classifier(t, Options{})
	const need = `"platform":"p","chat_id":"c","message_id":"m","create_time":"2026-01-01T00:00:00Z","sender":{"id":"a","type":"user"}`
	for _, in := range []string{
		`{"content":"hm",` + need + `}`,
		` { "x" : 1.50 , "content" : "h\u006d" , ` + need + ` } `,
		`{"lang":"xx","reasons":[],"content":"hm",` + need + `}`,
		`{"content":"hm","classification":"ack",` + need +
			`,"classifier_version":"1","other":{"lang":"kept"}}`,
	} {
		once := raw(t, c, in+"\n")
		if err := ndjson.Check(bytes.TrimSpace(once)); err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		if twice := raw(t, c, string(once)); !bytes.Equal(once, twice) {
			t.Errorf("classified again:\n%s%s", once, twice)
		}
		for _, part := range []string{`1.50`, `h\u006d`, `{"lang":"kept"}`} {
			if strings.Contains(in, part) && !bytes.Contains(once, []byte(part)) {
				t.Errorf("%s is lost: %s", part, once)
			}
		}
	}
	got := string(raw(t, c, `{"content":"hm",`+need+`}`+"\n"))
	want := `{"content":"hm",` + need +
		`,"is_bot_mention":false,"is_question":false,"is_ack_or_emoji":true,"is_internal_chatter":false,"mentions_thread_with_inflight":false,` +
		`"classification":"ack","classifier_confidence":0.95,"classifier_version":"` + c.version +
		`","classified_at":"2026-01-02T12:00:00Z","reasons":["ack:words"]}` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestRefusals(t *testing.T) {
	c := classifier(t, Options{})
	for in, want := range map[string]string{
		ev(`"content":5`): "content is not a string", ev(`"content":null`): "content is not a string",
		`{}`: "platform is missing", ev(`"sender":"ana"`): "sender is not an object",
		ev(`"sender":{"name":"x"}`):     "sender.id is missing",
		ev(`"sender":{"id":7}`):         "sender.id is not a string",
		ev(`"mentions":[1]`):            "mentions is not a list of strings",
		ev(`"thread_id":7`):             "thread_id is not a string",
		ev(`"create_time":"yesterday"`): `create_time "yesterday" is not an RFC 3339 time`,
	} {
		var said string
		_, err := stream.Run(t.Context(),
			stream.Input{Stdin: strings.NewReader(in), After: -1, Say: func(f string, a ...any) {
				said = fmt.Sprintf(f, a...)
			}},
			stream.Output{Stdout: new(bytes.Buffer)}, c.Stage())
		if err == nil || said != "stdin:1: "+want {
			t.Errorf("%s: %q, %v; want %q", in, said, err, want)
		}
	}
}

// FuzzJudge: no text breaks the rules, and an ack asks nothing.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{"ok?", "<@U1> why", "`x", "```", "> q\n> r", ":+1:", "为什么", "’s", "+1",
		"a://b", "\u200d\ufe0f", "e\u0301"} {
		f.Add(s)
	}
	c, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v verdict
		var x reading
		body := []byte(strings.ToValidUTF8(s, ""))
		c.judgeText(unaddressed(body, [][]byte{[]byte("bob")}), &x, &v)
		if v.ack && v.mark {
			t.Errorf("%q both asks and acknowledges", s)
		}
	})
}

func BenchmarkPrepare(b *testing.B) {
	c := classifier(b, Options{})
	text, err := os.ReadFile("../../../../shared/data/chat/stripe.0.ndjson")
	if err != nil {
		b.Skip("left out: the real chat is not here")
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var scan ndjson.Scanner
	var e Event
	b.SetBytes(int64(len(text) / len(lines)))
	for i := 0; b.Loop(); i++ {
		line := lines[i%len(lines)]
		if err := scan.Scan(line); err != nil {
			b.Fatal(err)
		}
		if err := c.Prepare(ndjson.Record{Bytes: line, Seq: -1, Members: scan.Members}, &e); err != nil {
			b.Fatal(err)
		}
	}
}
