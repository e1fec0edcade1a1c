// Package discordtest is a fake Discord server: the part of the gateway and of REST, version 10,
// that a bot in one server uses, after https://discord.com/developers/docs, with injectable faults.
// It was checked with the official library of another language (scripts/peers/discord).
package discordtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// M is a JSON object.
type M = map[string]any

// Ids that exist in every server.
const (
	Guild    = "900000000000000001"
	Bot      = "900000000000000002"
	BotRole  = "900000000000000003" // made by Discord for a bot that is added
	Dev      = "900000000000000011"
	Help     = "900000000000000012"
	Forum    = "900000000000000013"
	Secret   = "900000000000000014" // a channel that is not watched
	Direct   = "900000000000000015"
	Category = "900000000000000016"
	Token    = "OTAwMDAwMDAwMDAwMDAwMDAy.fake.token"
)

// Faults are the probabilities of each fault, from 0 to 1.
type Faults struct {
	Seed       uint64
	Cut        float64 // the socket ends before an event
	Duplicate  float64 // an event is sent twice
	Reorder    float64 // an event is sent after the next one
	Lose       float64 // an event is counted but never sent
	Fail       float64 // any request: status 500 and nothing done
	Busy       float64 // any request: status 429
	LoseAnswer float64 // the message is posted, the connection is cut
	FailAfter  float64 // the message is posted, the response is status 500
}

// Message is a message that is not deleted.
type Message struct {
	ID, Channel string
	Author      string // "" for the bot
	Data        M      // as Discord returns it
}

type nonce struct {
	id string
	at time.Time
}

// Server is a fake Discord server.
type Server struct {
	URL string // with /api/v10
	// Interval is the interval of heartbeats, NonceTime how long a nonce is remembered. Set them before
	// the first client connects.
	Interval, NonceTime time.Duration
	// Flags are those of the application; Deny are the permissions in channels that the bot's role
	// lacks.
	Flags int64
	Deny  uint64

	http *httptest.Server

	mu       sync.Mutex
	last     uint64 // the last id used
	channels map[string]M
	order    []string            // of channels
	byPlace  map[string][]string // ids of messages by channel, oldest first
	messages map[string]*Message
	nonces   map[string]nonce
	sessions map[string]*session
	faults   Faults
	chance   *rand.Rand
	revoked  bool
	mute     bool
	close    int // close code sent in response to identify
	requests map[string]int
	answered map[string]int // by interaction: the type of the response
	reacted  []string
}

// New starts a server with a guild, two text channels, a forum, a secret channel and a private
// conversation with ana.
func New() *Server {
	s := &Server{
		Interval: 41250 * time.Millisecond, NonceTime: 5 * time.Minute, Flags: 1 << 18,
		channels: map[string]M{}, byPlace: map[string][]string{}, messages: map[string]*Message{},
		nonces:   map[string]nonce{},
		sessions: map[string]*session{}, requests: map[string]int{}, answered: map[string]int{},
		chance: rand.New(rand.NewPCG(0, 0)),
	}
	for i, c := range []struct {
		id, name string
		kind     int
	}{{Category, "Text", 4}, {Dev, "dev", 0}, {Help, "help", 0}, {Forum, "questions", 15},
		{Secret, "secret", 0}} {
		m := M{"id": c.id, "type": c.kind, "guild_id": Guild, "name": c.name, "position": i,
			"last_message_id": nil, "permission_overwrites": []M{}, "parent_id": nil}
		if c.kind != 4 {
			m["parent_id"] = Category
		}
		s.addChannel(m)
	}
	s.addChannel(M{"id": Direct, "type": 1, "last_message_id": nil, "recipients": []M{Person("ana")}})
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL + "/api/v10"
	return s
}

// Close stops the server and closes every connection.
func (s *Server) Close() {
	s.Cut(true)
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) addChannel(c M) {
	id := c["id"].(string)
	s.channels[id] = c
	s.order = append(s.order, id)
}

// Person returns a person's account.
func Person(name string) M {
	id := uint64(800000000000000000)
	for _, c := range name {
		id += uint64(c)
		id = id*7%100000000000000 + 800000000000000000
	}
	return M{"id": strconv.FormatUint(id, 10), "username": name, "discriminator": "0", "global_name": nil,
		"avatar": nil, "bot": false}
}

func self() M {
	return M{"id": Bot, "username": "tri", "discriminator": "0", "global_name": nil,
		"avatar": nil, "bot": true}
}

// id returns a new snowflake, later than all others.
func (s *Server) id() string {
	s.last = max(s.last+1, uint64(time.Now().UnixMilli()-1420070400000)<<22)
	return strconv.FormatUint(s.last, 10)
}

func timeOf(id string) time.Time {
	n, _ := strconv.ParseUint(id, 10, 64)
	return time.UnixMilli(int64(n>>22) + 1420070400000).UTC()
}

const stamp = "2006-01-02T15:04:05.000000-07:00"

// SetFaults replaces the faults and reseeds the random numbers.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
	s.chance = rand.New(rand.NewPCG(f.Seed, f.Seed))
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// Say posts a person's message in a channel or thread. more overwrites fields.
func (s *Server) Say(channel, person, text string, more M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store(channel, person, text, more).ID
}

// store stores a message and sends its event; author "" is the bot. s.mu is held.
func (s *Server) store(channel, author, text string, more M) *Message {
	id := s.id()
	if forced, ok := more["id"].(string); ok {
		id = forced
	}
	user := self()
	if author != "" {
		user = Person(author)
	}
	m := &Message{ID: id, Channel: channel, Author: author, Data: M{
		"id": id, "channel_id": channel, "author": user, "content": strings.TrimSpace(text),
		"timestamp":        timeOf(id).Format(stamp),
		"edited_timestamp": nil, "tts": false, "mention_everyone": false, "mentions": mentions(text),
		"mention_roles": []string{},
		"attachments":   []M{}, "embeds": []M{}, "pinned": false, "type": 0, "flags": 0, "components": []M{},
	}}
	maps.Copy(m.Data, more)
	s.messages[id] = m
	s.byPlace[channel] = append(s.byPlace[channel], id)
	if c := s.channels[channel]; c != nil {
		c["last_message_id"] = id
	}
	s.tell("MESSAGE_CREATE", s.overGateway(m))
	return m
}

// mentions returns who a text mentions: the bot, by its id.
func mentions(text string) []M {
	if strings.Contains(text, "<@"+Bot+">") || strings.Contains(text, "<@!"+Bot+">") {
		return []M{self()}
	}
	return []M{}
}

// overGateway returns a message with the fields that only the gateway has.
func (s *Server) overGateway(m *Message) M {
	out := M{}
	maps.Copy(out, m.Data)
	if c := s.channels[m.Channel]; c != nil && c["guild_id"] != nil {
		out["guild_id"] = c["guild_id"]
		out["member"] = M{"roles": []string{}, "joined_at": "2020-01-01T00:00:00Z", "deaf": false,
			"mute": false, "flags": 0}
		if m.Author == "" {
			out["member"].(M)["roles"] = []string{BotRole}
		}
	}
	return out
}

// Edit changes a message's text. Discord sends the whole message.
func (s *Server) Edit(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	m.Data["content"], m.Data["edited_timestamp"] = strings.TrimSpace(text), time.Now().UTC().Format(stamp)
	s.tell("MESSAGE_UPDATE", s.overGateway(m))
}

// Unfurl adds a link preview: an update without an edit that contains only some fields.
func (s *Server) Unfurl(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[id]
	m.Data["embeds"] = []M{{"title": "a page", "url": "https://example.test/"}}
	s.tell("MESSAGE_UPDATE", M{"id": id, "channel_id": m.Channel, "guild_id": Guild,
		"embeds": m.Data["embeds"]})
}

// Delete deletes messages: a single one, or several in bulk.
func (s *Server) Delete(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := s.messages[ids[0]].Channel
	for _, id := range ids {
		s.drop(id)
	}
	if len(ids) == 1 {
		s.tell("MESSAGE_DELETE", M{"id": ids[0], "channel_id": channel, "guild_id": Guild})
		return
	}
	s.tell("MESSAGE_DELETE_BULK", M{"ids": ids, "channel_id": channel, "guild_id": Guild})
}

func (s *Server) drop(id string) {
	m := s.messages[id]
	if m == nil {
		return
	}
	delete(s.messages, id)
	list := s.byPlace[m.Channel]
	for i := range list {
		if list[i] == id {
			s.byPlace[m.Channel] = append(list[:i:i], list[i+1:]...)
			break
		}
	}
}

// Tell sends an event unchanged.
func (s *Server) Tell(kind string, data M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(kind, data)
}

// Click clicks a button of a message as a person and returns the interaction's id.
func (s *Server) Click(person, message, customID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, m := s.id(), s.messages[message]
	s.tell("INTERACTION_CREATE", M{
		"id": id, "application_id": Bot, "type": 3, "token": "click-" + id, "version": 1,
		"channel_id": m.Channel, "guild_id": Guild,
		"data":    M{"custom_id": customID, "component_type": 2},
		"member":  M{"user": Person(person), "roles": []string{}, "permissions": "0", "nick": nil},
		"message": m.Data, "entitlements": []M{}, "app_permissions": "309237713984", "locale": "en-US",
		"guild_locale":                   "en-US",
		"authorizing_integration_owners": M{"0": Guild}, "context": 0, "attachment_size_limit": 10485760,
	})
	return id
}

// Answered returns the type of the response to an interaction, 0 for none.
func (s *Server) Answered(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered[id]
}

// Messages returns the messages of a place, oldest first.
func (s *Server) Messages(channel string) (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.byPlace[channel] {
		all = append(all, *s.messages[id])
	}
	return all
}

// Reacted returns the bot's reactions, added ("+") and removed ("-").
func (s *Server) Reacted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.reacted...)
}

// Requests returns how often a kind of request was received: "GET messages", "identify".
func (s *Server) Requests(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[kind]
}

// Channel sets a field of a channel without an event.
func (s *Server) Channel(id, field string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[id][field] = value
}

// HTTP returns the server's address, for clients that add the version themselves.
func (s *Server) HTTP() string { return s.http.URL }

// Revoke invalidates the token.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *Server) authorized(r *http.Request) bool {
	return !s.revoked && r.Header.Get("Authorization") == "Bot "+Token
}

// refusal is an error response of Discord.
type refusal struct {
	status, code int
	text         string
}

func (r *refusal) Error() string { return fmt.Sprint(r.status, " ", r.text) }
