// Package mattermosttest is a fake Mattermost server: the part of the REST and WebSocket API that
// lib/chat/mattermost uses, after the sources of version 9.9, with injectable faults. It is
// exported so that programs can be tested against it.
package mattermosttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is one fake server. Its zero value is not usable; see New.
type Server struct {
	URL string

	http *httptest.Server

	mu        sync.Mutex
	users     map[string]*User // by id
	channels  map[string]*Channel
	order     []string         // ids of channels, in order of creation
	posts     []*Post          // as stored
	byID      map[string]*Post // every post, including old versions
	pending   map[string]pending
	sockets   map[string]*socket // by connection id
	last      int64              // the clock, Unix ms, strictly increasing
	made      int                // number of ids used
	faults    Faults
	chance    *rand.Rand
	reactions map[string]Reaction
	requests  map[string]int // received, by method and path
	mute      bool           // send nothing on sockets
}

// User is an account. Token authenticates its requests.
type User struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	IsBot    bool   `json:"is_bot"`
	Roles    string `json:"roles"`
	Token    string `json:"-"`
}

// Channel is a chat. Everyone is a member of every channel except those they were removed from.
type Channel struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	DisplayName string          `json:"display_name"`
	DeleteAt    int64           `json:"delete_at"`
	out         map[string]bool // ids of users who are not members
}

// Post is a message.
type Post struct {
	ID         string         `json:"id"`
	CreateAt   int64          `json:"create_at"`
	UpdateAt   int64          `json:"update_at"`
	EditAt     int64          `json:"edit_at"`
	DeleteAt   int64          `json:"delete_at"`
	UserID     string         `json:"user_id"`
	ChannelID  string         `json:"channel_id"`
	RootID     string         `json:"root_id"`
	OriginalID string         `json:"original_id"`
	Message    string         `json:"message"`
	Type       string         `json:"type"`
	Props      map[string]any `json:"props"`
	Pending    string         `json:"pending_post_id"`
	Metadata   struct {
		Files  []map[string]any `json:"files,omitempty"`
		Embeds []map[string]any `json:"embeds,omitempty"`
	} `json:"metadata"`
}

// Faults are the probabilities of each fault, from 0 to 1.
type Faults struct {
	Seed uint64 `json:"seed"` // of the random numbers

	DropAnswer float64 `json:"drop_answer"` // the post is stored, the connection cut before the response
	LateAnswer float64 `json:"late_answer"` // the post is stored, the response is sent up to Late later
	LateStore  float64 `json:"late_store"`  // the post is stored up to Late later, in any case
	Late       string  `json:"late"`        // a duration: 50ms
	Fail       float64 `json:"fail"`        // any request: status 500 and nothing done
	FailAfter  float64 `json:"fail_after"`  // the post is stored, the response is status FailStatus
	FailStatus int     `json:"fail_status"` // default 500
	Limit      float64 `json:"limit"`       // any request: status 429, Retry-After 1
	Close      float64 `json:"close"`       // the socket is cut before an event
	Duplicate  float64 `json:"duplicate"`   // an event is sent twice
	Reorder    float64 `json:"reorder"`     // an event is sent after the next one
	Lose       float64 `json:"lose"`        // an event is counted but never sent
	StaleSince float64 `json:"stale_since"` // since returns an empty list (mattermost issue 34055)
	// Forget is how long pending ids are remembered; a duration, default 30s.
	Forget string `json:"forget"`
}

type pending struct {
	post string // "" while it is being stored
	at   time.Time
}

// New starts a server on addr, "" for a free port of the loopback.
func New(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		users: map[string]*User{}, channels: map[string]*Channel{}, byID: map[string]*Post{},
		pending: map[string]pending{}, sockets: map[string]*socket{}, requests: map[string]int{},
		reactions: map[string]Reaction{},
		chance:    rand.New(rand.NewPCG(0, 0)),
	}
	s.http = &httptest.Server{Listener: ln, Config: &http.Server{Handler: s.routes()}}
	s.http.Start()
	s.URL = s.http.URL
	return s, nil
}

// Close stops the server and closes every connection.
func (s *Server) Close() {
	s.CutSockets(true)
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetFaults replaces the faults and reseeds the random numbers.
func (s *Server) SetFaults(f Faults) error {
	for _, d := range []string{f.Late, f.Forget} {
		if _, err := time.ParseDuration(d); d != "" && err != nil {
			return fmt.Errorf("faults: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
	s.chance = rand.New(rand.NewPCG(f.Seed, f.Seed))
	return nil
}

// roll reports whether a fault of probability p happens. s.mu is held.
func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// id returns a new id in the server's format: 26 letters and digits.
func (s *Server) id() string {
	s.made++
	digits := fmt.Appendf(nil, "%026d", s.made)
	for i, d := range digits {
		digits[i] = "ybndrfg8ej"[d-'0']
	}
	return string(digits)
}

// tick returns the time, later at every call.
func (s *Server) tick() int64 {
	s.last = max(s.last+1, time.Now().UnixMilli())
	return s.last
}

// AddUser creates an account.
func (s *Server) AddUser(name string, bot bool) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &User{ID: s.id(), Username: name, IsBot: bot, Token: "token-of-" + name}
	s.users[u.ID] = u
	return *u
}

// AddChannel creates an open channel.
func (s *Server) AddChannel(name string) Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Channel{ID: s.id(), Type: "O", Name: name, DisplayName: strings.ToUpper(name[:1]) + name[1:],
		out: map[string]bool{}}
	s.channels[c.ID] = c
	s.order = append(s.order, c.ID)
	return *c
}

// AddDirect creates the direct channel of two users.
func (s *Server) AddDirect(a, b User) Channel {
	c := s.AddChannel(a.ID + "__" + b.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c.ID].Type, s.channels[c.ID].DisplayName = "D", ""
	for id := range s.users {
		s.channels[c.ID].out[id] = id != a.ID && id != b.ID
	}
	return *s.channels[c.ID]
}

// Remove takes a user out of a channel.
func (s *Server) Remove(channelID, userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channelID].out[userID] = true
}

// Revoke invalidates a user's token.
func (s *Server) Revoke(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID].Token = ""
}

// Say stores a post of a user.
func (s *Server) Say(p Post) (Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, refused := s.store(p)
	if refused != nil {
		return Post{}, refused
	}
	return *made, nil
}

// Type sends the typing event of a user.
func (s *Server) Type(channel, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.tell("typing", map[string]any{"user_id": user, "parent_id": ""},
			map[string]any{"channel_id": channel})
	}
}

// MakeGuest turns an account into a guest.
func (s *Server) MakeGuest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id].Roles = "system_guest"
}

// Edit changes a post's text. Like the real server, it keeps the old version as a separate deleted
// post, which since lists.
func (s *Server) Edit(id, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byID[id]
	if p == nil || p.DeleteAt != 0 {
		return &refusal{http.StatusNotFound, "app.post.get.app_error", "no post"}
	}
	before := *p
	before.ID, before.OriginalID = s.id(), p.ID
	p.Message, p.EditAt = text, s.tick()
	p.UpdateAt = p.EditAt
	before.DeleteAt, before.UpdateAt = p.UpdateAt, p.UpdateAt
	s.keep(&before)
	s.publish("post_edited", p, nil)
	return nil
}

// Delete deletes a post, and with a root its replies, for which there is no event.
func (s *Server) Delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byID[id]
	if p == nil || p.DeleteAt != 0 {
		return &refusal{http.StatusBadRequest, "app.post.get.app_error", "no post"}
	}
	before := *p // the event contains the post as it was
	at := s.tick()
	for _, q := range s.posts {
		if q.ID == id || q.RootID == id && q.DeleteAt == 0 {
			q.DeleteAt, q.UpdateAt, q.Message = at, at, ""
		}
	}
	s.publish("post_deleted", &before, nil)
	return nil
}

// Posts returns the existing posts, oldest first.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Post
	for _, p := range s.posts {
		if p.DeleteAt == 0 {
			out = append(out, *p)
		}
	}
	return out
}

// Requests returns how often a kind of request was received: "POST /posts".
func (s *Server) Requests(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[kind]
}

func (s *Server) keep(p *Post) {
	s.posts = append(s.posts, p)
	s.byID[p.ID] = p
}

// store checks and stores a new post. s.mu is held.
func (s *Server) store(p Post) (*Post, *refusal) {
	c, author := s.channels[p.ChannelID], s.users[p.UserID]
	switch {
	case c == nil || author == nil || c.out[p.UserID]:
		return nil, &refusal{http.StatusForbidden, "api.context.permissions.app_error",
			"You do not have the appropriate permissions."}
	case c.DeleteAt != 0:
		return nil, &refusal{http.StatusBadRequest, "api.post.create_post.can_not_post_to_deleted.error",
			"Can not post to deleted channel."}
	case len([]rune(p.Message)) > 16383:
		return nil, &refusal{http.StatusBadRequest, "model.post.is_valid.msg.app_error", "Invalid message."}
	case strings.ContainsRune(p.Message, 0):
		return nil, &refusal{http.StatusInternalServerError, "app.post.save.app_error",
			"Unable to save the Post."}
	}
	if p.RootID != "" {
		root := s.byID[p.RootID]
		if root == nil || root.DeleteAt != 0 || root.RootID != "" || root.ChannelID != p.ChannelID {
			return nil, &refusal{http.StatusBadRequest, "api.post.create_post.root_id.app_error",
				"Invalid RootId parameter."}
		}
		defer func() { root.UpdateAt = p.CreateAt }() // a reply updates the root's, as an edit does
	}
	if p.Props == nil {
		p.Props = map[string]any{}
	}
	if author.IsBot {
		p.Props["from_bot"] = "true"
	}
	if _, ok := p.Props["attachments"]; ok {
		p.Metadata.Embeds = []map[string]any{{"type": "message_attachment"}}
	} else if strings.Contains(p.Message, "://") {
		p.Metadata.Embeds = []map[string]any{{"type": "link"}}
	}
	p.ID, p.CreateAt = s.id(), s.tick()
	p.UpdateAt, p.EditAt, p.DeleteAt = p.CreateAt, 0, 0
	s.keep(&p)
	s.publish("posted", &p, author)
	return &p, nil
}

type refusal struct {
	Status  int    `json:"status_code"`
	ID      string `json:"id"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

// publish sends an event to every socket of the channel's members.
func (s *Server) publish(kind string, p *Post, author *User) {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it was parsed from JSON
	}
	for _, k := range s.sockets {
		if s.channels[p.ChannelID].out[k.user.ID] {
			continue
		}
		data := map[string]any{"post": string(text)}
		if author != nil {
			data["channel_display_name"] = s.channels[p.ChannelID].DisplayName
			data["channel_type"] = s.channels[p.ChannelID].Type
			data["sender_name"] = "@" + author.Username
			// The server tells each user only whether they are mentioned themselves.
			if strings.Contains(p.Message, "@"+k.user.Username) ||
				s.channels[p.ChannelID].Type == "D" && p.UserID != k.user.ID {
				data["mentions"] = fmt.Sprintf(`[%q]`, k.user.ID)
			}
		}
		k.tell(kind, data, map[string]any{"channel_id": p.ChannelID})
	}
}
