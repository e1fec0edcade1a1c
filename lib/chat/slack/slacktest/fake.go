// Package slacktest is a fake Slack workspace: the Web API, Socket Mode and webhooks that
// lib/chat/slack uses, after https://docs.slack.dev, with injectable faults. Comments mark
// behaviour that is not documented.
package slacktest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/chat/chattest/wire"
)

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Seed uint64

	Cut       float64 // the connection ends before an event, which is not sent again
	Duplicate float64 // an event is sent twice
	Reorder   float64 // it is sent after the next one
	Lose      float64 // it is never sent

	Fail       float64 // a request: status 500 and nothing done
	Busy       float64 // a request: status 429, Retry-After: 1
	LoseAnswer float64 // a message is posted, and the connection is cut
	FailAfter  float64 // a message is posted, and the response is an error
}

// M is a JSON object.
type M = map[string]any

// What exists from the beginning.
const (
	Team, App, BotUser, BotID, BotName = "T0TEAM", "A0APP", "U0TRI", "B0TRI", "tri"
	Scopes                             = "app_mentions:read,channels:history,channels:read,chat:write,groups:history,groups:read,im:history,im:read,metadata.message:read,mpim:history,mpim:read,reactions:read,reactions:write,users:read"
)

// Server is one workspace with one app.
type Server struct {
	URL                        string // of the Web API, with a trailing slash
	BotToken, AppToken, Secret string
	GrantedScopes              string

	http *httptest.Server

	mu       sync.Mutex
	faults   Faults
	chance   *rand.Rand
	clock    int64 // microseconds of the last ts
	ago      time.Duration
	users    map[string]M
	channels map[string]*channel
	line     wire.Line
	revoked  bool
	offline  bool // Socket Mode is switched off
	events   int
	acks     map[string]bool
	requests []Request
}

// Request is a received call of the Web API.
type Request struct {
	Method string
	Args   M
}

type channel struct {
	info     M
	messages []M // by ts
}

// New starts a server.
func New() *Server {
	s := &Server{
		BotToken: "xoxb-1-fake", AppToken: "xapp-1-" + App + "-1-fake", Secret: "signing",
		GrantedScopes: Scopes,
		users:         map[string]M{}, channels: map[string]*channel{}, acks: map[string]bool{},
		chance: rand.New(rand.NewPCG(0, 0)),
	}
	s.users[BotUser] = M{"id": BotUser, "team_id": Team, "name": BotName, "is_bot": true,
		"profile": M{"display_name": BotName, "bot_id": BotID}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/api/"
	// Slack posts an event four times, and waits a minute and five minutes before the last attempts.
	s.line = wire.Line{Roll: s.roll, Tries: 4, Call: func(url string, event []byte, try int) bool {
		return s.Call(url, event, try) == http.StatusOK
	}}
	s.line.Open()
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.mu.Lock()
	s.line.Close()
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetFaults sets the injected faults.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = f, rand.New(rand.NewPCG(f.Seed, 1))
	s.line.Release()
}

// Revoke invalidates the tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// Ago moves the clock back by d for later messages. The clock never goes back before earlier ones.
func (s *Server) Ago(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ago = d
}

// AddUser creates a person; more is added to the response of users.info.
func (s *Server) AddUser(name string, more M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "U0" + strings.ToUpper(name)
	s.users[id] = M{"id": id, "team_id": Team, "name": name, "real_name": name, "is_bot": false,
		"profile": M{"display_name": name}}
	maps.Copy(s.users[id], more)
	return id
}

// AddChannel creates a chat that the bot is a member of.
func (s *Server) AddChannel(id, name string, more M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := M{"id": id, "name": name, "is_channel": true, "is_private": false, "is_member": true,
		"is_ext_shared": false, "context_team_id": Team}
	maps.Copy(info, more)
	s.channels[id] = &channel{info: info}
}

// tick returns the next ts.
func (s *Server) tick() string {
	s.clock = max(s.clock+1, time.Now().Add(-s.ago).UnixMicro())
	return fmt.Sprintf("%d.%06d", s.clock/1e6, s.clock%1e6)
}

// Say posts a message as a client does: text is escaped, names become mentions, addresses links,
// emoji names. more is added to the message.
func (s *Server) Say(chat, user, thread, text string, more M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := M{"type": "message", "user": user, "text": s.typed(text), "team": Team}
	maps.Copy(m, more)
	return s.add(chat, thread, m)
}

// add stores a message and sends its event.
func (s *Server) add(chat, thread string, m M) string {
	c := s.channels[chat]
	m["ts"] = s.tick()
	if thread != "" {
		m["thread_ts"] = thread
		if root := c.find(thread); root != nil {
			root["thread_ts"], root["latest_reply"] = thread, m["ts"]
			n, _ := root["reply_count"].(int)
			root["reply_count"] = n + 1
		}
	}
	c.messages = append(c.messages, m)
	s.tell(chat, maps.Clone(m))
	return m["ts"].(string)
}

// tell sends a message's event, and, if the bot is mentioned, the second one that an app gets.
func (s *Server) tell(chat string, m M) {
	delete(m, "metadata")
	m["channel"], m["event_ts"], m["channel_type"] = chat, m["ts"], "channel"
	s.deliver(m)
	if text, _ := m["text"].(string); strings.Contains(text, "<@"+BotUser+">") && m["user"] != BotUser {
		again := maps.Clone(m)
		again["type"] = "app_mention"
		delete(again, "channel_type")
		s.deliver(again)
	}
}

func (c *channel) index(ts string) int {
	i, ok := slices.BinarySearchFunc(c.messages, ts, func(m M, ts string) int {
		return strings.Compare(m["ts"].(string), ts)
	})
	if !ok {
		return -1
	}
	return i
}

func (c *channel) find(ts string) M {
	if c == nil {
		return nil
	}
	if i := c.index(ts); i >= 0 {
		return c.messages[i]
	}
	return nil
}

// Edit changes a message. Slack's edited.ts has whole seconds.
func (s *Server) Edit(chat, ts, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(chat, ts, M{"text": s.typed(text)})
}

func (s *Server) change(chat, ts string, now M) error {
	m := s.channels[chat].find(ts)
	if m == nil {
		return fmt.Errorf("no message %s", ts)
	}
	was := maps.Clone(m)
	maps.Copy(m, now)
	m["edited"] = M{"user": m["user"], "ts": fmt.Sprintf("%d.000000", time.Now().Unix())}
	at := s.tick()
	s.deliver(M{"type": "message", "subtype": "message_changed", "hidden": true, "channel": chat, "ts": at,
		"event_ts": at, "message": maps.Clone(m), "previous_message": was})
	return nil
}

// Unfurl adds a link preview: a change without an edit.
func (s *Server) Unfurl(chat, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.channels[chat].find(ts)
	was, at := maps.Clone(m), s.tick()
	m["attachments"] = []M{{"fallback": "a preview", "from_url": "https://example.com"}}
	s.deliver(M{"type": "message", "subtype": "message_changed", "hidden": true, "channel": chat, "ts": at,
		"event_ts": at, "message": maps.Clone(m), "previous_message": was})
}

// Delete deletes a message. The first message of a thread leaves a tombstone.
func (s *Server) Delete(chat, ts string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[chat]
	i := c.index(ts)
	if i < 0 {
		return fmt.Errorf("no message %s", ts)
	}
	m, at := c.messages[i], s.tick()
	was := maps.Clone(m)
	if n, _ := m["reply_count"].(int); n > 0 {
		maps.DeleteFunc(m, func(k string, _ any) bool {
			return k != "ts" && k != "thread_ts" && k != "reply_count" && k != "latest_reply"
		})
		maps.Copy(m, M{"type": "message", "subtype": "tombstone", "text": "This message was deleted.",
			"user": "USLACKBOT", "hidden": true})
		s.deliver(M{"type": "message", "subtype": "message_changed", "hidden": true, "channel": chat,
			"ts": at, "event_ts": at, "message": maps.Clone(m), "previous_message": was})
		return nil
	}
	c.messages = slices.Delete(c.messages, i, i+1)
	s.deliver(M{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": chat, "ts": at,
		"event_ts": at, "deleted_ts": ts, "previous_message": was})
	return nil
}

// React adds or removes a reaction of a person.
func (s *Server) React(chat, ts, user, name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "reaction_added"
	if !on {
		kind = "reaction_removed"
	}
	s.deliver(M{"type": kind, "user": user, "reaction": name,
		"item":      M{"type": "message", "channel": chat, "ts": ts},
		"item_user": s.channels[chat].find(ts)["user"], "event_ts": s.tick()})
}

// Click clicks a button of a card as a person.
func (s *Server) Click(chat, ts, user, action, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interact(M{
		"type": "block_actions", "api_app_id": App, "team": M{"id": Team},
		"user":      M{"id": user, "username": "ana", "name": "ana", "team_id": Team},
		"container": M{"type": "message", "message_ts": ts, "channel_id": chat}, "channel": M{"id": chat},
		"message": M{"ts": ts},
		"actions": []M{{"type": "button", "block_id": "tri", "action_id": action, "value": value,
			"action_ts": s.tick()}},
	})
}

// Messages returns a chat's messages as stored.
func (s *Server) Messages(chat string) []M {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []M{}
	for _, m := range s.channels[chat].messages {
		all = append(all, maps.Clone(m))
	}
	return all
}

// Requests returns the received calls of a method.
func (s *Server) Requests(method string) (all []M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Method == method {
			all = append(all, r.Args)
		}
	}
	return all
}
