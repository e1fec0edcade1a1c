package event

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/ndjson"
)

var errCause = errors.New("cause")

func complete(t testing.TB, f *Filler, line string) (string, error) {
	t.Helper()
	var s ndjson.Scanner
	if err := s.Scan([]byte(line)); err != nil {
		t.Fatal(err)
	}
	rec := ndjson.Record{Bytes: []byte(line), Source: "stdin", Line: 7, Seq: -1, Members: s.Members}
	rec.Seq = ndjson.Seq(rec.Get("seq"))
	whole, err := f.Complete(rec, errCause)
	return string(whole), err
}

func filler(say func(string, ...any)) *Filler {
	return &Filler{Fill: true, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }, Say: say}
}

func TestFill(t *testing.T) {
	const others = `,"chat_name":"","msg_type":"text","thread_id":null,"mentions":[]}`
	for _, tt := range []struct{ line, want string }{
		{`{"text":"why?"}`,
			`{"text":"why?","platform":"text","chat_id":"stdin","message_id":"7","create_time":"2023-11-14T22:13:20Z",` +
				`"content":"why?","sender":{"id":"unknown","type":"user"}` + others},
		{`{"is":1,"to":"b","txt":"why?"}`,
			`{"is":1,"to":"b","txt":"why?","platform":"text","chat_id":"stdin","message_id":"7",` +
				`"create_time":"2023-11-14T22:13:20Z","content":"why?","sender":{"id":"unknown","type":"user"}` + others},
		{`{"content":"a\n","user":"a\"b","ts":12.50,"channel":"dev"} `,
			`{"content":"a\n","user":"a\"b","ts":12.50,"channel":"dev","platform":"text","chat_id":"dev","message_id":"12.50",` +
				`"create_time":"2023-11-14T22:13:20Z","sender":{"id":"a\"b","type":"user"}` + others},
		{`{"content":"a","author":{"id":"u1"},"platform":"p","chat_id":"c","message_id":"m","time":"2026-01-02T03:04:05Z","mentions":["x"],"chat_name":"n"}`,
			`{"content":"a","author":{"id":"u1"},"platform":"p","chat_id":"c","message_id":"m","time":"2026-01-02T03:04:05Z","mentions":["x"],"chat_name":"n",` +
				`"create_time":"2026-01-02T03:04:05Z","sender":{"id":"u1"},"msg_type":"text","thread_id":null}`},
	} {
		if got, err := complete(t, filler(nil), tt.line); err != nil || got != tt.want {
			t.Errorf("%s\n%s, %v\n%s", tt.line, got, err, tt.want)
		}
	}
}

func TestFaults(t *testing.T) {
	const rest = `"platform":"p","chat_id":"c","message_id":"m","create_time":"2026-01-02T03:04:05Z"`
	for _, tt := range []struct {
		fill       bool
		line, want string
	}{
		{true, `{"contnet":7}`, `content ("contnet"?) is missing`},
		{true, `{"mist":7}`, `content is missing`},
		{false, `{"seq":5,"text":"x"}`,
			`platform, chat_id, message_id, create_time, content ("text"?) and sender are missing`},
		{true, `{"seq":5,"text":"x"}`,
			`platform, chat_id, message_id, create_time, content ("text"?) and sender are missing`},
		{true, `{"content":7,"sender":"ana","mentions":"x","create_time":"now"}`,
			`create_time "now" is not an RFC 3339 time; ` +
				`content is not a string; sender is not an object: {"id":"ana","type":"user"}?; mentions is not a list of strings`},
		{true, `{"content":"x","sender":{}}`, `sender.id is missing`},
		{true, `{"content":"x","sender":{"id":7}}`, `sender is not an object with an id`},
		{true, `{` + rest + `,"content":"x","sender":{"id":"a"}}`, `cause`},
	} {
		f := filler(nil)
		f.Fill = tt.fill
		if got, err := complete(t, f, tt.line); err == nil || err.Error() != tt.want {
			t.Errorf("%s\n%s, %v\n%s", tt.line, got, err, tt.want)
		}
	}
}

func TestFillIsReportedOnce(t *testing.T) {
	var said []string
	f := filler(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	for range 3 {
		if _, err := complete(t, f, `{"text":"x","user":"ana"}`); err != nil {
			t.Fatal(err)
		}
	}
	const want = `content is taken from "text"; sender is taken from "user"; filled in: platform, chat_id, message_id, create_time (said once)`
	if len(said) != 1 || !strings.HasSuffix(said[0], want) {
		t.Errorf("%q", said)
	}
}

// FuzzFill: a completed record begins with the bytes of the record, and is an event.
func FuzzFill(f *testing.F) {
	f.Add(`{"text":"why?"}`)
	f.Add(`{}`)
	f.Add(`{"content":"\ud83d","user":{"id":""},"ts":1e9,"id":""}`)
	f.Add(`{"body":"x","chat":"","from":"\u0000","date":"2026-01-02T03:04:05+01:00"}`)
	f.Fuzz(func(t *testing.T, line string) {
		if ndjson.Check([]byte(line)) != nil {
			return
		}
		whole, err := complete(t, filler(nil), line)
		if err != nil {
			return
		}
		if err := ndjson.Check([]byte(whole)); err != nil {
			t.Fatalf("%s: %v", whole, err)
		}
		body := bytes.TrimRight([]byte(line), " \t\r\n")
		if !strings.HasPrefix(whole, string(body[:len(body)-1])) {
			t.Fatalf("%s does not begin with %s", whole, body)
		}
	})
}
