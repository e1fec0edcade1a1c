package event

import (
	"strings"
	"testing"

	"tri/lib/base/ndjson"
)

// TestHeader: a field that is missing or of another type is named, and nothing of an event is kept for the
// next.
func TestHeader(t *testing.T) {
	full := `{"platform":"p","chat_id":"c","message_id":"1","thread_id":"0","thread_inferred":"quoted",` +
		`"reply_to_id":"0","content":"a\nb","create_time":"2026-01-02T03:04:05Z","edited_at":"x","deleted":true,` +
		`"sender":{"id":"u","name":"Ann","type":"bot"},"mentions":["v","w"]}`
	var h Header
	read := func(line string) error {
		var s ndjson.Scanner
		if err := s.Scan([]byte(line)); err != nil {
			t.Fatal(err)
		}
		return h.Read(&ndjson.Record{Bytes: []byte(line), Members: s.Members}, 1)
	}
	if err := read(full); err != nil || string(h.Content) != "a\nb" || h.Created != 1767323045 ||
		string(h.Sender)+string(h.Name)+string(h.Type) != "uAnnbot" || len(h.Mentions) != 1 ||
		string(h.Thread)+string(h.Quotes) != "00" || !h.Deleted || !h.Edited || !h.Inferred {
		t.Errorf("%v: %+v", err, h)
	}
	bare := `{"platform":"p","chat_id":"c","message_id":"1","thread_id":null,"content":"",` +
		`"create_time":"2026-01-02T03:04:05Z","sender":{"id":"u"},"mentions":null}`
	if err := read(bare); err != nil || h.Thread != nil || h.Quotes != nil || h.Name != nil ||
		h.Type != nil || h.Deleted || h.Edited || h.Inferred || len(h.Mentions) != 0 {
		t.Errorf("%v: %+v", err, h)
	}
	for old, want := range map[string]string{
		`"platform":"p",`: "platform is missing", `"content":"",`: "content is missing",
		`,"sender":{"id":"u"}`: "sender is missing", `"id":"u"`: "sender.id is missing",
	} {
		if err := read(strings.Replace(bare, old, "", 1)); err == nil || err.Error() != want {
			t.Errorf("without %s: %v", old, err)
		}
	}
	for old, want := range map[string]string{
		`"chat_id":"c"`: "chat_id is not a string", `"sender":{"id":"u"}`: "sender is not an object",
		`"id":"u"`: "sender.id is not a string", `"thread_id":null`: "thread_id is not a string",
		`"mentions":null`: "mentions is not a list of strings",
	} {
		key, _, _ := strings.Cut(old, ":")
		if err := read(strings.Replace(bare, old, key+":3", 1)); err == nil || err.Error() != want {
			t.Errorf("%s is a number: %v", key, err)
		}
	}
}
