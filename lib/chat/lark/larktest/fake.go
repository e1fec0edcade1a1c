// Package larktest is a fake Lark server: the part of the Open API, the long connection and the
// webhooks that lib/chat/lark uses, after https://open.larksuite.com/document, with injectable
// faults. Comments mark behaviour that is not documented.
package larktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
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
	Busy       float64 // a request: status 429, retry after a second
	LoseAnswer float64 // a message is posted, and the connection is cut
	FailAfter  float64 // a message is posted, and the response is an error
}

// M is a JSON object.
type M = map[string]any

// What exists from the beginning.
const (
	Tenant, App, BotUser, BotName = "tenant1", "cli_a1b2c3d4e5f60708", "ou_tri", "tri"
)

// Server is one organization with one app.
type Server struct {
	URL                   string
	Secret                string // the app's secret
	EncryptKey, Token     string // of the app's webhooks
	Scopes                []string
	MaxPart               int // maximum bytes of a payload in one frame
	ExpiresIn             int // lifetime of a token in seconds
	http                  *httptest.Server
	mu                    sync.Mutex
	faults                Faults
	chance                *rand.Rand
	clock                 int64 // milliseconds of the last message
	ids                   int
	users                 map[string]M
	chats                 map[string]*group
	messages              map[string]M
	topics                map[string][]M
	reactions             map[string][]M
	uuids                 map[string]string
	tokens                map[string]bool
	line                  wire.Line
	revoked               bool
	events, acked, failed int
	requests              []Request
}

// Request is a received call of the Open API.
type Request struct {
	Method, Path string
	Args         M
}

type group struct {
	info     M
	messages []M // by create_time
}

// New starts a server.
func New() *Server {
	s := &Server{
		Secret: "app-secret", EncryptKey: "encrypt key", Token: "verification", MaxPart: 4096,
		ExpiresIn: 7200,
		Scopes: []string{"im:message", "im:message.group_msg", "im:message:send_as_bot",
			"im:chat:readonly"},
		users: map[string]M{}, chats: map[string]*group{}, messages: map[string]M{},
		topics: map[string][]M{}, reactions: map[string][]M{},
		uuids: map[string]string{}, tokens: map[string]bool{}, chance: rand.New(rand.NewPCG(0, 0)),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	// Lark posts an event five times, with delays of 15 s, 5 min, 1 h and 6 h.
	s.line = wire.Line{Roll: s.roll, Frames: s.frames, Tries: 5,
		Call: func(url string, event []byte, _ int) bool {
			status, _ := s.Call(url, event)
			return status == http.StatusOK
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

// Revoke changes the app's secret and invalidates its tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	clear(s.tokens)
}

// Expire invalidates the existing tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// AddUser creates a person.
func (s *Server) AddUser(name, tenant string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "ou_" + name
	s.users[id] = M{"member_id": id, "member_id_type": "open_id", "name": name, "tenant_key": tenant}
	return id
}

// AddChat creates a group that the bot is in; more is added to its description.
func (s *Server) AddChat(id, name string, more M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := M{"name": name, "chat_mode": "group", "chat_type": "private", "external": false,
		"tenant_key": Tenant, "chat_status": "normal"}
	maps.Copy(info, more)
	s.chats[id] = &group{info: info}
}

// tick returns the next time, in milliseconds, strictly increasing.
func (s *Server) tick() string {
	s.clock = max(s.clock+1, time.Now().UnixMilli())
	return strconv.FormatInt(s.clock, 10)
}

var handle = regexp.MustCompile(`@(tri|all)\b`)

// typed returns a text as a client sends it: mentions become placeholders.
func typed(text string) (content string, mentions []M) {
	text = handle.ReplaceAllStringFunc(text, func(name string) string {
		if name == "@all" {
			return "@_all"
		}
		if mentions == nil {
			mentions = []M{{"key": "@_user_1", "id": BotUser, "id_type": "open_id", "name": BotName,
				"tenant_key": Tenant}}
		}
		return "@_user_1"
	})
	b, _ := json.Marshal(M{"text": text})
	return string(b), mentions
}

// Say posts a text of a person, in the topic of thread if it is not "".
func (s *Server) Say(chat, user, thread, text string) string {
	content, mentions := typed(text)
	return s.Send(chat, user, thread, "text", content, mentions)
}

// Send posts a message of any type of a person.
func (s *Server) Send(chat, user, thread, kind, content string, mentions []M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(chat, thread, M{
		"msg_type": kind, "body": M{"content": content}, "mentions": mentions,
		"sender": M{"id": user, "id_type": "open_id", "sender_type": "user",
			"tenant_key": s.users[user]["tenant_key"], "sender_name": s.users[user]["name"]},
	})
	s.tell(m)
	return m["message_id"].(string)
}

// add stores a message. The first reply to a message creates its topic.
func (s *Server) add(chat, thread string, m M) M {
	s.ids++
	id := fmt.Sprintf("om_%08x", s.ids)
	m["message_id"], m["chat_id"], m["deleted"], m["updated"] = id, chat, false, false
	at := s.tick()
	m["create_time"], m["update_time"] = at, at
	m["message_app_link"] = "https://applink.larksuite.com/client/chat/open?openChatId=" + chat +
		"&position=" + strconv.Itoa(s.ids)
	if root := s.messages[thread]; root != nil {
		if r, ok := root["root_id"].(string); ok {
			m["parent_id"], root = root["message_id"], s.messages[r]
		} else {
			m["parent_id"] = root["message_id"]
		}
		if root["thread_id"] == nil {
			topic := "omt_" + strings.TrimPrefix(root["message_id"].(string), "om_")
			root["thread_id"], s.topics[topic] = topic, []M{root}
		}
		topic := root["thread_id"].(string)
		m["root_id"], m["thread_id"], s.topics[topic] = root["message_id"], topic, append(s.topics[topic], m)
	} else {
		s.chats[chat].messages = append(s.chats[chat].messages, m)
	}
	s.messages[id] = m
	return m
}

// tell sends the event of a person's message. There are no events for messages of bots.
func (s *Server) tell(m M) {
	by := m["sender"].(M)
	if by["sender_type"] != "user" {
		return
	}
	is := M{"chat_type": "group", "message_type": m["msg_type"], "content": m["body"].(M)["content"]}
	for _, k := range []string{"message_id", "root_id", "parent_id", "thread_id", "create_time",
		"update_time", "chat_id"} {
		if m[k] != nil {
			is[k] = m[k]
		}
	}
	if s.chats[m["chat_id"].(string)].info["chat_mode"] == "p2p" {
		is["chat_type"] = "p2p"
	}
	var mentions []M
	for _, who := range m["mentions"].([]M) {
		mentions = append(mentions, M{"key": who["key"],
			"id": M{"open_id": who["id"], "union_id": "on_1", "user_id": ""}, "name": who["name"],
			"tenant_key": Tenant, "mentioned_type": "bot"})
	}
	if mentions != nil {
		is["mentions"] = mentions
	}
	sender := M{"sender_id": M{"open_id": by["id"], "union_id": "on_2", "user_id": "u2"},
		"sender_type": "user", "tenant_key": by["tenant_key"]}
	s.deliver("im.message.receive_v1", M{"sender": sender, "message": is})
}

// Edit changes a text. That an edit arrives as the message sent again is known from reports of
// bots; the documentation only has update_time.
func (s *Server) Edit(id, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	if m == nil {
		return fmt.Errorf("no message %s", id)
	}
	content, mentions := typed(text)
	m["body"], m["mentions"], m["updated"], m["update_time"] = M{"content": content}, mentions, true, s.tick()
	s.tell(m)
	return nil
}

// Recall recalls a message.
func (s *Server) Recall(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	if m == nil {
		return fmt.Errorf("no message %s", id)
	}
	m["deleted"], m["updated"], m["update_time"], m["body"] = true, true, s.tick(),
		M{"content": "This message was recalled"}
	s.deliver("im.message.recalled_v1", M{"message_id": id, "chat_id": m["chat_id"],
		"recall_time": m["update_time"], "recall_type": "message_owner"})
	return nil
}

// React adds or removes a reaction of a person.
func (s *Server) React(id, user, name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "im.message.reaction.created_v1"
	if !on {
		kind = "im.message.reaction.deleted_v1"
	}
	s.deliver(kind, M{"message_id": id, "reaction_type": M{"emoji_type": name}, "operator_type": "user",
		"user_id": M{"open_id": user}, "action_time": s.tick()})
}

// Click clicks a button of a card as a person.
func (s *Server) Click(id, user string, value M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver("card.action.trigger", M{
		"operator": M{"tenant_key": Tenant, "user_id": "u2", "open_id": user}, "token": "c-1",
		"host":    "im_message",
		"action":  M{"tag": "button", "value": value},
		"context": M{"open_message_id": id, "open_chat_id": s.messages[id]["chat_id"]},
	})
}

// Messages returns the messages of a chat and of its topics as stored, in order.
func (s *Server) Messages(chat string) []M {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []M{}
	for _, m := range s.messages {
		if m["chat_id"] == chat {
			all = append(all, maps.Clone(m))
		}
	}
	slices.SortFunc(all, func(a, b M) int {
		return strings.Compare(a["create_time"].(string), b["create_time"].(string))
	})
	return all
}

// Requests returns the received calls whose path ends with suffix.
func (s *Server) Requests(method, suffix string) (all []M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) {
			all = append(all, r.Args)
		}
	}
	return all
}

// Age moves the time of a message back by d.
func (s *Server) Age(id string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	at, _ := strconv.ParseInt(m["create_time"].(string), 10, 64)
	m["create_time"] = strconv.FormatInt(at-d.Milliseconds(), 10)
	m["update_time"] = m["create_time"]
}
