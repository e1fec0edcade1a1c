package notify

import (
	"os"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
)

func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestLogs(t *testing.T) {
	h := home(t)
	var got []string
	read := func(from int64) int64 {
		t.Helper()
		off, err := Asked(h, from, func(s Signal) error { got = append(got, s.ID); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return off
	}
	if read(0) != 0 {
		t.Error("a log that is not there has something in it")
	}
	if err := Ask(h, Signal{ID: "a", Text: "<b>"}, Signal{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	off := read(0)
	f, err := os.OpenFile(h.Path(LogName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"torn`); err != nil {
		t.Fatal(err)
	}
	if read(off) != off {
		t.Error("a torn line was read")
	}
	if err := Ask(h, Signal{ID: "c"}); err != nil { // cuts the torn tail
		t.Fatal(err)
	}
	read(off)
	if len(got) != 3 || got[0] != "a" || got[1] != "b" || got[2] != "c" {
		t.Errorf("read %q", got)
	}
	if err := Tell(h, Done{ID: "a", Outcome: Shown, MessageID: "7"}); err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := Told(h, 0, func(d Done) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestAllowed(t *testing.T) {
	c := config.Default()
	c.Gate.Chat = config.GateChat{Platform: "slack", ChatID: "ops"}
	c.Gate.Reactions.Enabled, c.Gate.Reactions.Chats = true, []string{"dev"}
	off := config.Default()
	off.Gate.Reactions.Chats = []string{"dev"}
	none := ""
	quiet := config.Default()
	quiet.Gate.Reactions.Enabled, quiet.Gate.Reactions.Chats, quiet.Gate.Reactions.Seen = true,
		[]string{"dev"}, &none
	for _, tt := range []struct {
		name string
		c    *config.Config
		s    Signal
		want bool
	}{
		{"card", c, Signal{Kind: Card, Platform: "slack", ChatID: "ops"}, true},
		{"recard", c, Signal{Kind: Recard, Platform: "slack", ChatID: "ops"}, true},
		{"card elsewhere", c, Signal{Kind: Card, Platform: "slack", ChatID: "dev"}, false},
		{"card on another platform", c, Signal{Kind: Card, Platform: "discord", ChatID: "ops"}, false},
		{"card without a channel", config.Default(), Signal{Kind: Card}, false},
		{"reaction", c, Signal{Kind: React, Platform: "slack", ChatID: "dev", Emoji: "👀", On: true}, true},
		{"reaction of a list", c, Signal{Kind: React, Platform: "slack", ChatID: "dev", Emoji: "📝", On: true},
			true},
		{"skipped", c, Signal{Kind: React, Platform: "slack", ChatID: "dev", Emoji: "⏩", On: true}, true},
		{"reaction elsewhere", c, Signal{Kind: React, Platform: "slack", ChatID: "ops", Emoji: "👀", On: true},
			false},
		{"another reaction", c, Signal{Kind: React, Platform: "slack", ChatID: "dev", Emoji: "🖕", On: true},
			false},
		{"removal of an earlier default", c,
			Signal{Kind: React, Platform: "slack", ChatID: "dev", Emoji: "⏳"}, true},
		{"removal elsewhere", c, Signal{Kind: React, Platform: "slack", ChatID: "ops", Emoji: "⏳"}, false},
		{"reactions are off", off, Signal{Kind: React, ChatID: "dev", Emoji: "👀", On: true}, false},
		{"no reaction", quiet, Signal{Kind: React, ChatID: "dev", Emoji: "", On: true}, false},
		{"a post", c, Signal{Kind: "post", Platform: "slack", ChatID: "ops"}, false},
	} {
		if err := Allowed(tt.c, &tt.s); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
