package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// FromRecords is the feed of events that are already normalized. They are checked, and kept unchanged
// except for their seq.
func FromRecords(in stream.Input) Feed {
	return func(ctx context.Context, _ Open, keep func([]Item) error) error {
		in.After = -1
		return readRecords(ctx, in, keep, checked)
	}
}

// FromText is the feed of plain lines, each a message that sender wrote just now.
func FromText(in io.Reader, sender string, now func() time.Time) Feed {
	return func(ctx context.Context, open Open, keep func([]Item) error) error {
		_, to, err := open("text")
		if err != nil {
			return err
		}
		prefix := now().UTC().Format("20060102T150405.000000-")
		text := lines(ctx, in)
		for {
			var b *batch
			select {
			case <-ctx.Done():
				return ctx.Err()
			case b = <-text:
			}
			if b.err == io.EOF {
				return nil
			}
			if b.err != nil {
				return fmt.Errorf("read text: %w", b.err)
			}
			items, err := b.items(prefix, sender, to.Logf, now)
			if err == nil {
				err = keep(items)
			}
			if err != nil {
				return err
			}
		}
	}
}

// items turns the batch's lines into messages.
func (b *batch) items(prefix, sender string, say func(string, ...any), now func() time.Time) ([]Item, error) {
	items := make([]Item, 0, len(b.Lines))
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.Long {
			say("stdin:%d: longer than %d bytes: only its beginning is kept", l.Line, ndjson.MaxLine)
		}
		item, err := encode(&event.Event{
			Platform: "text", ChatID: "stdin", ChatName: "stdin", MsgType: "text",
			MessageID: prefix + strconv.FormatInt(l.Line, 10), CreateTime: text.Timestamp(now()),
			Content: strings.ToValidUTF8(strings.TrimRight(string(l.Bytes), "\r"), "\uFFFD"),
			Sender:  event.Sender{ID: sender, Type: "user", Name: sender},
		}, say)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

type batch struct {
	ndjson.Batch
	err error
}

// lines reads in the background, since a read from a terminal does not return when ctx ends.
func lines(ctx context.Context, in io.Reader) <-chan *batch {
	ch := make(chan *batch)
	go func() {
		r := ndjson.NewReader(in, "stdin", 0, 0)
		for {
			b := new(batch)
			b.err = r.Next(&b.Batch)
			select {
			case <-ctx.Done():
				return
			case ch <- b:
			}
			if b.err != nil {
				return
			}
		}
	}()
	return ch
}

// readRecords passes records through stream.Run, which detects live input, and keeps together what it writes
// together.
func readRecords(ctx context.Context, in stream.Input, keep func([]Item) error,
	check func(ndjson.Record, *Item) error) error {
	k := &keeper{keep: keep}
	_, err := stream.Run(ctx, in, stream.Output{Stdout: k}, stream.Stage[Item]{
		Prepare: check,
		Emit: func(dst []byte, item *Item) ([]byte, error) {
			k.ids = append(k.ids, item.ID)
			return append(append(dst, item.Body...), '\n'), nil
		},
	})
	return err
}

// keeper keeps the lines written to it. Their identities are added to ids beforehand, in the same order.
type keeper struct {
	ids  []Hash
	keep func([]Item) error
}

func (k *keeper) Write(lines []byte) (int, error) {
	var items []Item
	for line := range bytes.Lines(lines) {
		items = append(items, Item{ID: k.ids[len(items)], Body: line[:len(line)-1]})
	}
	k.ids = k.ids[:copy(k.ids, k.ids[len(items):])]
	if err := k.keep(items); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// checked makes the item of a record, or returns an error that names the missing or invalid field.
func checked(rec ndjson.Record, item *Item) error {
	var e event.Event
	for _, f := range []struct {
		key  string
		to   *string
		some bool // must not be empty
	}{
		{"platform", &e.Platform, true}, {"chat_id", &e.ChatID, true}, {"chat_name", &e.ChatName, false},
		{"message_id", &e.MessageID, true}, {"create_time", &e.CreateTime, true},
		{"msg_type", &e.MsgType, true},
		{"content", &e.Content, false},
	} {
		raw := rec.Get(f.key)
		if raw == nil {
			return fmt.Errorf("event lacks %q", f.key)
		}
		text, ok := ndjson.Text(nil, raw)
		if !ok || f.some && len(text) == 0 {
			return fmt.Errorf("event: %q is %.40s, not a text", f.key, raw)
		}
		*f.to = string(text)
	}
	if _, err := time.Parse(time.RFC3339Nano, e.CreateTime); err != nil {
		return fmt.Errorf("event: create_time %.40q is not RFC 3339", e.CreateTime)
	}
	if err := checkRest(&rec, &e); err != nil {
		return err
	}
	if len(rec.Bytes) > maxBody {
		return fmt.Errorf("event: %d bytes leave no room for a seq in a line of %d", len(rec.Bytes),
			ndjson.MaxLine)
	}
	*item = Item{ID: hashOf(&e), Body: withoutSeq(&rec)}
	return nil
}

// checkRest checks the fields that are not plain strings.
func checkRest(rec *ndjson.Record, e *event.Event) error {
	sender := rec.Get("sender")
	id, kind := gjson.GetBytes(sender, "id"), gjson.GetBytes(sender, "type")
	switch thread := rec.Get("thread_id"); {
	case sender == nil:
		return fmt.Errorf(`event lacks "sender"`)
	case id.Type != gjson.String || id.Str == "":
		return fmt.Errorf("event: sender.id is %.40q, not a text", id.Raw)
	case kind.Str != "user" && kind.Str != "bot":
		return fmt.Errorf(`event: sender.type is %.40q, neither "user" nor "bot"`, kind.Str)
	case thread == nil:
		return fmt.Errorf(`event lacks "thread_id" (null when it stands alone)`)
	case string(thread) != "null" && (thread[0] != '"' || len(thread) == 2):
		return fmt.Errorf("event: thread_id is %.40s, neither null nor a text", thread)
	}
	if rec.Get("mentions") == nil {
		return fmt.Errorf(`event lacks "mentions" ([] for none)`)
	}
	if _, ok := ndjson.Strings(nil, rec.Get("mentions")); !ok {
		return fmt.Errorf("event: mentions is not a list of texts")
	}
	for key, to := range map[string]*string{"edited_at": &e.EditedAt, "edit_id": &e.EditID} {
		raw := rec.Get(key)
		text, ok := ndjson.Text(nil, raw)
		if raw != nil && !ok {
			return fmt.Errorf("event: %q is %.40s, not a text", key, raw)
		}
		*to = string(text)
	}
	switch deleted := string(rec.Get("deleted")); deleted {
	case "", "false":
	case "true":
		e.Deleted = true
	default:
		return fmt.Errorf("event: deleted is %.40s, neither true nor false", deleted)
	}
	return nil
}

// withoutSeq returns the record's object without its original seq and without surrounding space. It is
// never empty: it contains the checked fields.
func withoutSeq(rec *ndjson.Record) []byte {
	b := rec.Bytes
	for _, m := range rec.Members {
		if string(m.Key) != "seq" {
			continue
		}
		start, end := m.Start, m.End
		if rest := bytes.TrimLeft(b[end:], " \t\r"); rest[0] == ',' {
			end = len(b) - len(rest) + 1
		} else { // the last member: the comma precedes it
			start = bytes.LastIndexByte(b[:start], ',')
		}
		b = append(b[:start:start], b[end:]...)
		break
	}
	return bytes.TrimSpace(b)
}
