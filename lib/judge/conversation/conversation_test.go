package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// chat writes events from lines "seconds nick: text", numbered from 0; the text after " | " is added to
// the record unchanged.
func chat(t *testing.T, script string) []byte {
	t.Helper()
	var b []byte
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		line, extra, _ := strings.Cut(strings.TrimSpace(line), " | ")
		second, rest, ok := strings.Cut(line, " ")
		nick, says, ok2 := strings.Cut(rest, ": ")
		if !ok || !ok2 {
			t.Fatalf("line %q", line)
		}
		at, err := time.ParseDuration(second)
		if err != nil {
			t.Fatal(err)
		}
		if extra == "" {
			extra = `"thread_id":null`
		}
		if !strings.Contains(extra, `"message_id"`) {
			extra = fmt.Sprintf(`"message_id":"%d",`, i) + extra
		}
		b = fmt.Appendf(b,
			`{"platform":"irc","chat_id":"#a","create_time":%q,"content":%q,"sender":{"id":%q,"type":"user"},"mentions":[],%s}`+"\n",
			time.Unix(1e9, 0).Add(at).UTC().Format(time.RFC3339), says, nick, extra)
	}
	return b
}

func thread(t *testing.T, in []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := stream.Run(context.Background(), stream.Input{Stdin: bytes.NewReader(in), After: -1},
		stream.Output{Stdout: &out}, Stage()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestConversations holds what a reader would say of small rooms: for each
// message the root of its conversation, "-" where it begins one, and the reason.
func TestConversations(t *testing.T) {
	for _, tt := range []struct{ name, chat, want string }{
		{"two questions at once", `
			0s ana: hi, how do I mount an ntfs partition in a virtual machine?
			20s bob: does anyone know why apt says the lock file is held by another process?
			40s cat: ana: share it with the machine, in its settings
			60s dan: bob: is some other apt running right now?
			80s ana: where in the settings?
			90s bob: no
			100s cat: ana: shared folders
			110s ana: thanks cat`,
			"- - 0:addressed-by-name 1:addressed-by-name 0:same-person 1:same-person 0:addressed-by-name 0:addressed-by-name"},
		{"a name at the end, one with an at, one in other letters", `
			0s ana: hello everybody, my sound stopped working after the upgrade to the new kernel today
			10s Bob_: hello, which mirror is the fastest one for packages in europe at the moment please?
			20s cat: did you reboot, ana?
			30s dan: @bob the german one
			40s eve: BOB|away: or the swiss`,
			"- - 0:addressed-by-name 1:addressed-by-name 1:addressed-by-name"},
		{"the same person goes on", `
			0s ana: my build fails
			5s ana: it says that the linker is missing`,
			"- 0:same-person"},
		{"an open question is answered", `
			0s ana: which port is the server on?
			15s bob: 8080`,
			"- 0:answers-open-question"},
		{"a quote leads further than any rule", `
			0s ana: one thing
			1h bob: hello, a new and entirely different question about something that nobody has ever asked?
			1h cat: this | "reply_to_id":"0","thread_id":null
			1h dan: ana: no, that | "reply_to_id":"1"`,
			"- - 0:quoted 1:quoted"},
		{"a quote of what nobody has seen decides nothing", `
			0s ana: which port is the server on?
			15s bob: 8080 | "reply_to_id":"99"`,
			"- 0:answers-open-question"},
		{"edits and deletions stay where their message is", `
			0s ana: my build fails
			5s ana: it says that the linker is missin
			9s ana: it says that the linker is missing | "message_id":"1","edited_at":"2001-09-09T01:47:00Z"
			9s ana: my build fails! | "message_id":"0","edited_at":"2001-09-09T01:47:00Z"
			9s ana:   | "message_id":"1","deleted":true
			9s ana:   | "message_id":"77","deleted":true`,
			"- 0:same-person 0:same-message - 0:same-message -"},
		{"a platform's thread is not touched, and can be quoted", `
			0s ana: which port is the server on?
			5s bob: 8080 | "thread_id":"0"
			9s cat: no, 9090 | "reply_to_id":"1"
			9s dan: a root of its own | "message_id":"r","thread_id":"r"`,
			"- 0: 0:quoted r:"},
		{"the next day is another conversation", `
			0s ana: my build fails
			30h ana: my screen is black`,
			"- -"},
		{"a clock that goes back", `
			5h ana: my build fails
			0s ana: it says that the linker is missing`,
			"- 0:same-person"},
		{"newcomers with the same words", `
			0s ana: why does the payment retry fail with error 500 on staging?
			6s ben: where is the payment retry limit of staging set?
			12s cho: hi all, the payment retry on staging has been failing with error 500 since noon
			18s dan: payment retry on staging: is error 500 known?
			24s ana: only since the last deploy
			30s ben: the retry limit I mean`,
			"- - - - 0:same-person 1:same-person"},
		{"a newcomer who names the asker", `
			0s ana: why does the payment retry fail with error 500 on staging?
			6s ben: ana: on which staging?`,
			"- 0:addressed-by-name"},
		{"a nick that is a word", `
			0s the: hello, how do I change my password on the server of the company?
			10s ana: the cat sat on the mat, and the dog on the cat, as the dog does
			300s bob: hello all, where is the log of the proxy kept on the disk of the new machine?
			310s cat: near the others`,
			"- 0:answers-open-question - 2:answers-open-question"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := chat(t, tt.chat)
			var got []string
			for line := range bytes.Lines(thread(t, in)) {
				var e struct {
					ThreadID       *string `json:"thread_id"`
					ThreadInferred string  `json:"thread_inferred"`
				}
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				switch {
				case e.ThreadID == nil && e.ThreadInferred == "":
					got = append(got, "-")
				case e.ThreadID == nil:
					t.Errorf("a reason and no thread: %s", line)
				default:
					got = append(got, *e.ThreadID+":"+e.ThreadInferred)
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
			again := thread(t, thread(t, in))
			if !bytes.Equal(again, thread(t, in)) {
				t.Error("run over its own output it says something else")
			}
		})
	}
}

// TestSameName: two people of one name are two.
func TestSameName(t *testing.T) {
	var in []byte
	for i, m := range [][3]string{
		{"U1", "Alex", "how do I set the timeout of the proxy in the gateway?"},
		{"U9", "Bea", "lunch at noon in the kitchen"},
		{"U2", "Alex", "the printer on floor three needs new toner"},
	} {
		in = fmt.Appendf(in, `{"platform":"slack","chat_id":"c","message_id":"%d","create_time":%q,"content":%q,`+
			`"sender":{"id":%q,"name":%q},"thread_id":null}`+"\n", i,
			time.Unix(1e9+int64(i)*240, 0).UTC().Format(time.RFC3339), m[2], m[0], m[1])
	}
	if out := string(thread(t, in)); strings.Contains(out, samePerson) {
		t.Error(out)
	}
}

// TestSplice holds the bytes of a record: nothing but the thread changes.
func TestSplice(t *testing.T) {
	for _, tt := range []struct{ in, root, want string }{
		{`{"a": 1 , "thread_id" : null , "b":"é\u0041" } `, "7",
			`{"a": 1 , "thread_id" : "7" , "b":"é\u0041","thread_inferred":"why" } `},
		{`{"a": 1 , "thread_id" : null }`, "", `{"a": 1 , "thread_id" : null }`},
		{`{"a":1}`, `q"\`, `{"a":1,"thread_id":"q\"\\","thread_inferred":"why"}`},
		{`{"thread_inferred":"old", "thread_id":"3", "a":1}`, "", `{"thread_id":null, "a":1}`},
		{`{"thread_id":"3","thread_inferred":"old"}`, "", `{"thread_id":null}`},
		{`{"thread_id":"3","thread_inferred":"old"}`, "4", `{"thread_id":"4","thread_inferred":"why"}`},
		{`{"a":1, "thread_inferred":"old", "thread_id":"3"}`, "4",
			`{"a":1, "thread_id":"4","thread_inferred":"why"}`},
		{`{"a":1, "thread_inferred":"old"}`, "4", `{"a":1,"thread_id":"4","thread_inferred":"why"}`},
	} {
		var scan ndjson.Scanner
		if err := scan.Scan([]byte(tt.in)); err != nil {
			t.Fatal(err)
		}
		var s spans
		s.find(scan.Members)
		if got := string(s.splice(nil, []byte(tt.in), tt.root, "why")); got != tt.want {
			t.Errorf("%s with %q:\ngot  %s\nwant %s", tt.in, tt.root, got, tt.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	good := string(bytes.TrimSpace(chat(t, "0s ana: hi")))
	for _, tt := range []struct{ old, new, want string }{
		{`"platform":"irc",`, ``, "platform is missing"},
		{`"content":"hi"`, `"content":7`, "content is not a string"},
		{`"sender":{"id":"ana","type":"user"}`, `"sender":[]`, "sender is not an object"},
		{`"id":"ana",`, ``, "sender.id is missing"},
		{`"mentions":[]`, `"mentions":{}`, "mentions is not a list of strings"},
		{`"thread_id":null`, `"thread_id":[]`, "thread_id is not a string"},
		{`2001-09-09T`, `yesterday `, "is not an RFC 3339 time"},
	} {
		line := strings.Replace(good, tt.old, tt.new, 1)
		var scan ndjson.Scanner
		if err := scan.Scan([]byte(line)); err != nil || line == good {
			t.Fatal(line, err)
		}
		err := prepare(ndjson.Record{Bytes: []byte(line), Members: scan.Members}, new(Event))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", line, err, tt.want)
		}
	}
}

// FuzzRecord holds that whatever a record says, it comes out as a record whose
// other members are what they were.
func FuzzRecord(f *testing.F) {
	f.Add("why is it down?", "ana", `"thread_id":null`, "x: 8080")
	f.Add("@ana: 接続 できません？", "a|away_", `"thread_inferred":"x","thread_id":"1"`, "　、？ : @ ??")
	f.Add("\xe3", "", `"mentions":["", "ana"],"edited_at":"2001-09-09T01:47:00Z"`, "ก็ไม่รู้")
	f.Fuzz(func(t *testing.T, says, nick, extra, then string) {
		var in []byte
		for i, text := range []string{says, then} {
			content, err := json.Marshal(text)
			if err != nil {
				t.Skip()
			}
			sender, err := json.Marshal(nick)
			if err != nil {
				t.Skip()
			}
			line := fmt.Appendf(nil,
				`{"platform":"p","chat_id":"c","message_id":"%d","create_time":"2001-09-09T01:46:40Z","content":%s,"sender":{"id":%s},%s}`, i, content, sender, extra)
			if ndjson.Check(line) != nil {
				t.Skip()
			}
			in = append(append(in, line...), '\n')
		}
		var out bytes.Buffer
		_, err := stream.Run(context.Background(), stream.Input{Stdin: bytes.NewReader(in), After: -1},
			stream.Output{Stdout: &out}, Stage())
		if err != nil {
			return // refused by name
		}
		if a, b := members(t, in), members(t, out.Bytes()); a != b {
			t.Errorf("%s became %s", a, b)
		}
	})
}

// members are the records without what tri-thread may change.
func members(t *testing.T, lines []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(lines) {
		err := ndjson.Members(bytes.TrimSuffix(line, []byte("\n")), func(key, value []byte) error {
			if name := string(key); name != "thread_id" && name != "thread_inferred" &&
				name != `"thread_id"` && name != `"thread_inferred"` {
				fmt.Fprintf(&b, "%s=%s\n", key, value)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return b.String()
}
