package mattermost

import (
	"slices"
	"strings"
	"testing"

	"tri/lib/record/event"
)

// TestLeft: a chat that the bot may not read any more does not prevent others from being read.
func TestLeft(t *testing.T) {
	w := newWorld(t)
	w.server.Remove(w.chats[0], w.bot.ID)
	c := w.client()
	c.chats = map[string]bool{w.chats[0]: true, w.chats[1]: true}
	e := hear(t, c, nil)
	id := w.Say(w.chats[1], "ana", "", "here")
	e.until("the message", has(id))
	if _, said := e.heard(); len(said) != 1 || !strings.Contains(said[0], w.chats[0]) {
		t.Errorf("said: %q", said)
	}
}

// TestDirect: a message in a private chat with the bot mentions it.
func TestDirect(t *testing.T) {
	w := newWorld(t)
	d := w.server.AddDirect(w.people["ana"], w.bot)
	unnamed := hear(t, w.client(), nil)
	w.Say(d.ID, "ana", "", "is this private?")
	mark := w.Say(w.chats[0], "ana", "", "said in the open")
	unnamed.until("the open message", has(mark))
	if es, _ := unnamed.heard(); slices.ContainsFunc(es, func(v event.Event) bool {
		return v.ChatID == d.ID
	}) {
		t.Error("a private conversation that is not named is heard")
	}
	unnamed.stop()
	c := w.client()
	c.chats = map[string]bool{d.ID: true}
	e := hear(t, c, nil)
	id := w.Say(d.ID, "ana", "", "where is the retry limit?")
	es := e.until("the message", has(id))
	v := es[len(es)-1]
	if v.ChatName != "ana" || len(v.Mentions) != 1 || v.Mentions[0] != w.bot.ID {
		t.Errorf("came as %+v", v)
	}
}

// TestGuests: messages of guests and of people of other servers are left out, unless allowed.
func TestGuests(t *testing.T) {
	for _, allow := range []bool{false, true} {
		w := newWorld(t)
		guest := w.server.AddUser("guest", false)
		w.server.MakeGuest(guest.ID)
		w.people["guest"] = guest
		w.Say(w.chats[0], "guest", "", "said before")
		c := w.client()
		c.o.AllowExternal = allow
		e := hear(t, c, nil)
		w.Say(w.chats[0], "guest", "", "said now")
		e.until("the message", has(w.Say(w.chats[0], "ana", "", "the end")))
		es, _ := e.heard()
		n := 0
		for _, v := range es {
			if v.Sender.ID == guest.ID {
				n++
			}
		}
		if n > 0 != allow {
			t.Errorf("allowed %v: %d messages of a guest", allow, n)
		}
	}
}

func TestCrowd(t *testing.T) {
	for text, want := range map[string]bool{
		"@all": true, "hi @Channel!": true, "(@here)": true, "`@all`": true, "@all-hands": true,
		".@all.": true, "@here_": true, "_@all_": true,
		"@allotment": false, "a@all": false, "@hereby": false, "ana@here.example": false, "all": false,
	} {
		if got := crowd.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
