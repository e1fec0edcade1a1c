package lark

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

func TestFrame(t *testing.T) {
	f := frame{Seq: 300, Log: 1 << 63, Service: 33, Method: methodData,
		Headers: []header{{"type", "event"}, {"sum", "1"}}, Encoding: "e", Type: "t",
		Payload: []byte(`{"a":1}`), LogNew: "l"}
	got, err := parseFrame(f.bytes())
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v", got, err)
	}
	// A ping as the official client writes it.
	ping := frame{Service: 33, Headers: []header{{"type", "ping"}}}
	want := []byte("\x08\x00\x10\x00\x18\x21\x20\x00\x2a\x0c\x0a\x04type\x12\x04ping\x32\x00\x3a\x00\x42\x00\x4a\x00")
	if got := ping.bytes(); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	// Unknown fields are skipped.
	more := append(f.bytes(), 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x5d, 1, 2, 3, 4, 0x62, 1, 'x', 0x68, 7)
	if got, err := parseFrame(more); err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range f.bytes() {
		if got, err := parseFrame(f.bytes()[:i]); err == nil && len(got.LogNew) > 0 {
			t.Errorf("cut at %d: %+v", i, got)
		}
	}
}

func part(id string, sum, seq int, payload string) *frame {
	return &frame{Headers: []header{{"message_id", id}, {"sum", fmt.Sprint(sum)}, {"seq", fmt.Sprint(seq)}},
		Payload: []byte(payload)}
}

func TestJoin(t *testing.T) {
	var j joiner
	for i, p := range []struct {
		f    *frame
		want string
	}{
		{part("a", 1, 0, "whole"), "whole"}, {part("", 0, 0, "whole"), "whole"},
		{part("a", 3, 2, "c"), ""}, {part("b", 2, 1, "y"), ""}, {part("a", 3, 0, "a"), ""},
		{part("a", 3, 0, "a"), ""}, {part("b", 2, 0, "x"), "xy"}, {part("a", 3, 1, "b"), "abc"},
		{part("a", 3, 1, "b"), ""}, {part("c", 2, 2, "x"), ""}, {part("c", 2, -1, "x"), ""},
		{part("c", 1<<30, 1, "x"), ""}, {part("", 2, 1, "x"), ""},
		{part("d", 2, 0, ""), ""}, {part("d", 2, 1, ""), ""},
	} {
		got, ok := j.join(p.f)
		if string(got) != p.want || ok != (p.want != "") && i < 13 {
			t.Errorf("%d: %q, %v, want %q", i, got, ok, p.want)
		}
	}
	for i := range 10 * maxPartial {
		j.join(part(fmt.Sprint(i), 2, 0, "x"))
	}
	if len(j.parts) > maxPartial {
		t.Errorf("%d payloads wait", len(j.parts))
	}
}

func FuzzFrame(f *testing.F) {
	f.Add((&frame{Seq: 1, Headers: []header{{"type", "event"}}, Payload: []byte("x")}).bytes())
	f.Add([]byte{0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseFrame(b)
		if err != nil {
			return
		}
		again, err := parseFrame(got.bytes())
		if got.Payload == nil {
			got.Payload = []byte{}
		}
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%+v, then %+v, %v", got, again, err)
		}
		var j joiner
		j.join(&got)
	})
}
