// Package larktest is a fake Lark server: the part of the Open API, the long connection
// and the webhooks that lib/chat/lark uses, after https://open.larksuite.com/document,
// with faults on demand. Where the documentation is silent a comment says so.
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

// Faults are how often, between 0 and 1, things go wrong.
type Faults struct {
	Seed uint64

	Cut       float64 // the connection ends before an event, which is not sent again
	Duplicate float64 // an event comes twice
	Reorder   float64 // it comes after the next one
	Lose      float64 // it never comes

	Fail       float64 // a request: status 500 and nothing done
	Busy       float64 // a request: status 429, come back after a second
	LoseAnswer float64 // a message stands, and the connection is cut
	FailAfter  float64 // a message stands, and the answer is an error
}

// M is a JSON object.
type M = map[string]any

// Who and what there is from the beginning.
const (
	Tenant, App, BotUser, BotName = "tenant1", "cli_a1b2c3d4e5f60708", "ou_tri", "tri"
)

// Server is one organization with one app.
type Server struct {
	URL                   string
	Secret                string // of the app
	EncryptKey, Token     string // of its webhooks
	Scopes                []string
	MaxPart               int // bytes of a payload that go into one frame
	ExpiresIn             int // seconds that a token is good for
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

// Request is a call of the Open API, as it came.
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
		Secret: "app-secret", EncryptKey: "encrypt key", Token: "verification", MaxPart: 4096, ExpiresIn: 7200,
		Scopes: []string{"im:message", "im:message.group_msg", "im:message:send_as_bot", "im:chat:readonly"},
		users:  map[string]M{}, chats: map[string]*group{}, messages: map[string]M{}, topics: map[string][]M{}, reactions: map[string][]M{},
		uuids: map[string]string{}, tokens: map[string]bool{}, chance: rand.New(rand.NewPCG(0, 0)),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	// Lark posts an event five times, and waits 15 s, 5 min, 1 h and 6 h between them.
	s.line = wire.Line{Roll: s.roll, Frames: s.frames, Tries: 5, Call: func(url string, event []byte, _ int) bool {
		status, _ := s.Call(url, event)
		return status == http.StatusOK
	}}
	s.line.Open()
	return s
}

// Close ends it.
func (s *Server) Close() {
	s.mu.Lock()
	s.line.Close()
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetFaults makes it misbehave.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = f, rand.New(rand.NewPCG(f.Seed, 1))
	s.line.Release()
}

// Revoke changes the app's secret, and takes its tokens away.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	clear(s.tokens)
}

// Expire takes the tokens away that there are.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// AddUser makes a person.
func (s *Server) AddUser(name, tenant string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "ou_" + name
	s.users[id] = M{"member_id": id, "member_id_type": "open_id", "name": name, "tenant_key": tenant}
	return id
}

// AddChat makes a group that the bot is in; more is put into what is told of it.
func (s *Server) AddChat(id, name string, more M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := M{"name": name, "chat_mode": "group", "chat_type": "private", "external": false, "tenant_key": Tenant, "chat_status": "normal"}
	maps.Copy(info, more)
	s.chats[id] = &group{info: info}
}

// tick gives out the next time, in milliseconds: no two are the same.
func (s *Server) tick() string {
	s.clock = max(s.clock+1, time.Now().UnixMilli())
	return strconv.FormatInt(s.clock, 10)
}

var handle = regexp.MustCompile(`@(tri|all)\b`)

// typed is a text as a client sends it: who is mentioned becomes a mark.
func typed(text string) (content string, mentions []M) {
	text = handle.ReplaceAllStringFunc(text, func(name string) string {
		if name == "@all" {
			return "@_all"
		}
		if mentions == nil {
			mentions = []M{{"key": "@_user_1", "id": BotUser, "id_type": "open_id", "name": BotName, "tenant_key": Tenant}}
		}
		return "@_user_1"
	})
	b, _ := json.Marshal(M{"text": text})
	return string(b), mentions
}

// Say is a person writing a text, in the topic of a message where thread is one.
func (s *Server) Say(chat, user, thread, text string) string {
	content, mentions := typed(text)
	return s.Send(chat, user, thread, "text", content, mentions)
}

// Send is a person sending a message of any kind.
func (s *Server) Send(chat, user, thread, kind, content string, mentions []M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(chat, thread, M{
		"msg_type": kind, "body": M{"content": content}, "mentions": mentions,
		"sender": M{"id": user, "id_type": "open_id", "sender_type": "user", "tenant_key": s.users[user]["tenant_key"], "sender_name": s.users[user]["name"]},
	})
	s.tell(m)
	return m["message_id"].(string)
}

// add stores a message. The first answer in a topic makes one of its root.
func (s *Server) add(chat, thread string, m M) M {
	s.ids++
	id := fmt.Sprintf("om_%08x", s.ids)
	m["message_id"], m["chat_id"], m["deleted"], m["updated"] = id, chat, false, false
	at := s.tick()
	m["create_time"], m["update_time"] = at, at
	m["message_app_link"] = "https://applink.larksuite.com/client/chat/open?openChatId=" + chat + "&position=" + strconv.Itoa(s.ids)
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

// tell sends the event of a person's message. What a bot says, no bot hears.
func (s *Server) tell(m M) {
	by := m["sender"].(M)
	if by["sender_type"] != "user" {
		return
	}
	is := M{"chat_type": "group", "message_type": m["msg_type"], "content": m["body"].(M)["content"]}
	for _, k := range []string{"message_id", "root_id", "parent_id", "thread_id", "create_time", "update_time", "chat_id"} {
		if m[k] != nil {
			is[k] = m[k]
		}
	}
	if s.chats[m["chat_id"].(string)].info["chat_mode"] == "p2p" {
		is["chat_type"] = "p2p"
	}
	var mentions []M
	for _, who := range m["mentions"].([]M) {
		mentions = append(mentions, M{"key": who["key"], "id": M{"open_id": who["id"], "union_id": "on_1", "user_id": ""}, "name": who["name"], "tenant_key": Tenant, "mentioned_type": "bot"})
	}
	if mentions != nil {
		is["mentions"] = mentions
	}
	sender := M{"sender_id": M{"open_id": by["id"], "union_id": "on_2", "user_id": "u2"}, "sender_type": "user", "tenant_key": by["tenant_key"]}
	s.deliver("im.message.receive_v1", M{"sender": sender, "message": is})
}

// Edit is a person changing a text. That an edit comes as the message once more is
// what bots report; the documentation only has update_time.
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

// Recall takes a message back.
func (s *Server) Recall(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	if m == nil {
		return fmt.Errorf("no message %s", id)
	}
	m["deleted"], m["updated"], m["update_time"], m["body"] = true, true, s.tick(), M{"content": "This message was recalled"}
	s.deliver("im.message.recalled_v1", M{"message_id": id, "chat_id": m["chat_id"], "recall_time": m["update_time"], "recall_type": "message_owner"})
	return nil
}

// React is a person setting a reaction, or taking it away.
func (s *Server) React(id, user, name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "im.message.reaction.created_v1"
	if !on {
		kind = "im.message.reaction.deleted_v1"
	}
	s.deliver(kind, M{"message_id": id, "reaction_type": M{"emoji_type": name}, "operator_type": "user", "user_id": M{"open_id": user}, "action_time": s.tick()})
}

// Click is a person pressing a button of a card.
func (s *Server) Click(id, user string, value M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver("card.action.trigger", M{
		"operator": M{"tenant_key": Tenant, "user_id": "u2", "open_id": user}, "token": "c-1", "host": "im_message",
		"action":  M{"tag": "button", "value": value},
		"context": M{"open_message_id": id, "open_chat_id": s.messages[id]["chat_id"]},
	})
}

// Messages are a chat's, and of its topics, as they are stored, in their order.
func (s *Server) Messages(chat string) []M {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []M{}
	for _, m := range s.messages {
		if m["chat_id"] == chat {
			all = append(all, maps.Clone(m))
		}
	}
	slices.SortFunc(all, func(a, b M) int { return strings.Compare(a["create_time"].(string), b["create_time"].(string)) })
	return all
}

// Requests are the calls that came, whose path ends so.
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

// Age makes a message older than it is.
func (s *Server) Age(id string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	at, _ := strconv.ParseInt(m["create_time"].(string), 10, 64)
	m["create_time"] = strconv.FormatInt(at-d.Milliseconds(), 10)
	m["update_time"] = m["create_time"]
}
