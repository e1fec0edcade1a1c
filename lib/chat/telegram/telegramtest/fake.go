// Package telegramtest is a fake of Telegram's Bot API: the methods that lib/chat/telegram uses,
// after https://core.telegram.org/bots/api, with injectable faults.
package telegramtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Seed uint64

	Cut        float64 // a poll is cut before its response
	Duplicate  float64 // a poll returns an update that was already confirmed
	Fail       float64 // any request: status 500 and nothing done
	Busy       float64 // any request: status 429, retry_after 1
	LoseAnswer float64 // a message is posted, and the connection is cut
	FailAfter  float64 // a message is posted, and the response is status 500
}

// M is a JSON object.
type M = map[string]any

// Server is the Bot API of one bot.
type Server struct {
	URL, Token string

	http *httptest.Server

	mu       sync.Mutex
	faults   Faults
	chance   *rand.Rand
	updates  []M   // unconfirmed
	done     []M   // the last confirmed updates
	next     int64 // update_id
	message  int64 // message_id, for all chats: the real API counts per chat
	sent     []Sent
	news     chan struct{}
	revoked  bool
	requests map[string]int
}

// Sent is a message of the bot.
type Sent struct {
	ID      int64
	ChatID  int64
	ReplyTo int64
	Text    string
	Request M
}

// BotID and BotName are the bot's.
const (
	BotID   = 77
	BotName = "tri_bot"
)

// New starts a server.
func New() *Server {
	s := &Server{Token: "77:secret", next: 1000, message: 1, news: make(chan struct{}),
		requests: map[string]int{}, chance: rand.New(rand.NewPCG(0, 0))}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetFaults sets the injected faults.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = f, rand.New(rand.NewPCG(f.Seed, 1))
}

// Revoke invalidates the token.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.wake()
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

func (s *Server) wake() {
	close(s.news)
	s.news = make(chan struct{})
}

// NextMessage returns a new message id.
func (s *Server) NextMessage() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message++
	return s.message
}

// Update queues an update of a kind.
func (s *Server) Update(kind string, body M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, M{"update_id": s.next, kind: body})
	s.next++
	s.wake()
}

// Renumber makes n the number of the next update, as after a week without any.
func (s *Server) Renumber(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.updates = n, nil
}

// Garble queues two invalid updates.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, M{"update_id": s.next, "message": "no object"},
		M{"update_id": s.next + 1, "message": M{"text": strings.Repeat("x", 3<<20), "chat": 5}})
	s.next += 2
	s.wake()
}

// Sent returns the bot's existing messages.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Sent(nil), s.sent...)
}

func refuse(w http.ResponseWriter, status int, text string, more M) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := M{"ok": false, "error_code": status, "description": text}
	maps.Copy(body, more)
	_ = json.NewEncoder(w).Encode(body)
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(M{"ok": true, "result": result})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+s.Token+"/")
	s.mu.Lock()
	switch {
	case !ok || s.revoked:
		s.mu.Unlock()
		refuse(w, http.StatusUnauthorized, "Unauthorized", nil)
		return
	case s.roll(s.faults.Busy):
		s.mu.Unlock()
		refuse(w, http.StatusTooManyRequests, "Too Many Requests: retry after 1",
			M{"parameters": M{"retry_after": 1}})
		return
	case s.roll(s.faults.Fail):
		s.mu.Unlock()
		refuse(w, http.StatusInternalServerError, "Internal Server Error", nil)
		return
	}
	s.requests[method]++
	s.mu.Unlock()
	var in M
	if r.ContentLength != 0 {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(w, http.StatusBadRequest, "Bad Request: can't parse", nil)
			return
		}
	}
	switch method {
	case "getMe":
		answer(w, M{"id": BotID, "is_bot": true, "first_name": "tri", "username": BotName,
			"can_read_all_group_messages": true})
	case "getWebhookInfo":
		answer(w, M{"url": "", "pending_update_count": 0})
	case "getChat":
		answer(w, M{"id": in["chat_id"], "type": "supergroup", "title": "Dev"})
	case "getChatMember":
		answer(w, M{"status": "member"})
	case "getUpdates":
		s.poll(w, r, in)
	case "sendMessage", "editMessageText":
		s.send(w, in, method)
	case "setMessageReaction":
		set, _ := in["reaction"].([]any)
		for _, r := range set {
			r, _ := r.(map[string]any)
			if !strings.Contains(reactions, fmt.Sprintf(" %v ", r["emoji"])) {
				refuse(w, http.StatusBadRequest, "Bad Request: REACTION_INVALID", nil)
				return
			}
		}
		answer(w, true)
	case "sendChatAction":
		answer(w, true)
	default:
		refuse(w, http.StatusNotFound, "Not Found", nil)
	}
}

// reactions are those that Telegram allows (https://core.telegram.org/bots/api#reactiontypeemoji), without
// sequences.
const reactions = " ❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 " +
	"🍾 💋 🖕 😈 😴 😭 🤓 👻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷 😡 "

func num(v any) int64 {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// poll confirms the updates below the offset and delays an empty response.
func (s *Server) poll(w http.ResponseWriter, r *http.Request, in M) {
	deadline := time.After(time.Duration(num(in["timeout"])) * time.Second)
	for {
		s.mu.Lock()
		if s.revoked {
			s.mu.Unlock()
			refuse(w, http.StatusUnauthorized, "Unauthorized", nil)
			return
		}
		offset := num(in["offset"])
		if n := len(s.updates); n > 0 && s.updates[n-1]["update_id"].(int64) < offset-1 {
			offset = 0 // beyond all numbers: the server sends what it has
		}
		for len(s.updates) > 0 && s.updates[0]["update_id"].(int64) < offset {
			s.done = append(s.done, s.updates[0])
			s.updates = s.updates[1:]
		}
		out := append([]M(nil), s.updates[:min(len(s.updates), int(num(in["limit"])))]...)
		if len(out) > 0 && len(s.done) > 0 && s.roll(s.faults.Duplicate) {
			out = append([]M{s.done[len(s.done)-1]}, out...)
		}
		cut := len(out) > 0 && s.roll(s.faults.Cut)
		news := s.news
		s.mu.Unlock()
		if cut {
			panic(http.ErrAbortHandler)
		}
		if len(out) > 0 {
			answer(w, out)
			return
		}
		select {
		case <-news:
		case <-deadline:
			answer(w, []M{})
			return
		case <-r.Context().Done():
			return
		}
	}
}

// send stores a message, or a new text of one.
func (s *Server) send(w http.ResponseWriter, in M, method string) {
	text, _ := in["text"].(string)
	chat := num(in["chat_id"])
	switch n := len(utf16.Encode([]rune(text))); {
	case chat >= 0 && chat != 5:
		refuse(w, http.StatusBadRequest, "Bad Request: chat not found", nil)
		return
	case n == 0 || n > 4096:
		refuse(w, http.StatusBadRequest, "Bad Request: message is too long", nil)
		return
	}
	reply, _ := in["reply_parameters"].(M)
	s.mu.Lock()
	s.message++
	m := Sent{ID: s.message, ChatID: chat, ReplyTo: num(reply["message_id"]), Text: text, Request: in}
	if method == "editMessageText" {
		m.ID = num(in["message_id"])
		for i := range s.sent {
			if s.sent[i].ID == m.ID {
				s.sent[i].Text, s.sent[i].Request = text, in
			}
		}
	} else {
		s.sent = append(s.sent, m)
	}
	lose, fail := s.roll(s.faults.LoseAnswer), s.roll(s.faults.FailAfter)
	s.mu.Unlock()
	switch {
	case lose:
		panic(http.ErrAbortHandler)
	case fail:
		refuse(w, http.StatusInternalServerError, "Internal Server Error", nil)
		return
	}
	answer(w, M{"message_id": m.ID, "date": time.Now().Unix(), "chat": M{"id": chat, "type": "supergroup"},
		"text": text})
}

// Person returns the account of a name.
func Person(name string) M {
	id := int64(100)
	for _, r := range name {
		id = id*31 + int64(r)
	}
	return M{"id": id % 1_000_000_007, "is_bot": false, "first_name": name, "username": name}
}

// Message returns the message object of an update. Mentions of @names are found as Telegram finds
// them.
func Message(id, chat, thread int64, person, text string) M {
	m := M{
		"message_id": id, "date": time.Now().Unix(), "from": Person(person), "text": text,
		"chat": M{"id": chat, "type": "supergroup", "title": fmt.Sprint("chat ", chat)},
	}
	if thread != 0 {
		m["message_thread_id"] = thread
		m["reply_to_message"] = M{"message_id": thread, "chat": M{"id": chat}}
	}
	var entities []M
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && text[i-1] != ' ' {
			continue
		}
		end := i + 1
		for end < len(text) && (text[end] == '_' || text[end] >= 'a' && text[end] <= 'z') {
			end++
		}
		if end-i > 5 { // names have at least five letters
			entities = append(entities, M{"type": "mention", "offset": len(utf16.Encode([]rune(text[:i]))),
				"length": end - i})
		}
	}
	if entities != nil {
		m["entities"] = entities
	}
	return m
}
