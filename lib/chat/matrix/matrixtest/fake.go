// Package matrixtest is a fake Matrix homeserver: the part of the client-server API that
// lib/chat/matrix uses, with injectable faults.
package matrixtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Seed uint64

	Cut        float64 // a sync is cut before its response
	Forget     float64 // a sync token is rejected as unknown
	Fail       float64 // any request: status 500 and nothing done
	Busy       float64 // any request: status 429, retry after a second
	LoseAnswer float64 // an event is stored, and the connection is cut
	FailAfter  float64 // an event is stored, and the response is status 500
}

// M is a JSON object.
type M = map[string]any

// Event is an event of a room.
type Event struct {
	ID, Room, Type, Sender string
	Content                M
	At                     int64
	Redacted               bool
	n                      int
}

// Server is one homeserver, "fake.test", with one bot.
type Server struct {
	URL, Token, Bot string

	http *httptest.Server

	mu      sync.Mutex
	faults  Faults
	chance  *rand.Rand
	events  []*Event
	byID    map[string]*Event
	txns    map[string]string
	clock   int64
	news    chan struct{}
	revoked bool
	rooms   []string
	typing  map[string][]string // by room, not sent yet
}

// New starts a server with two rooms.
func New() *Server {
	s := &Server{Token: "syt_secret", Bot: "@tri:fake.test", byID: map[string]*Event{},
		txns: map[string]string{}, news: make(chan struct{}),
		chance: rand.New(rand.NewPCG(0, 0)), rooms: []string{"!dev:fake.test", "!help:fake.test"},
		typing: map[string][]string{}}
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
	s.faults, s.chance = f, rand.New(rand.NewPCG(f.Seed, 3))
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

// Add adds an event of a user to a room and returns its id.
func (s *Server) Add(room, kind, sender string, content M) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(room, kind, sender, content).ID
}

func (s *Server) add(room, kind, sender string, content M) *Event {
	s.clock = max(s.clock+1, time.Now().UnixMilli())
	e := &Event{ID: fmt.Sprintf("$e%06d", len(s.events)), Room: room, Type: kind, Sender: sender,
		Content: content, At: s.clock, n: len(s.events) + 1}
	s.events = append(s.events, e)
	s.byID[e.ID] = e
	if kind == "m.room.redaction" {
		id, _ := content["redacts"].(string)
		if of := s.byID[id]; of != nil {
			of.Redacted, of.Content = true, M{}
		}
	}
	s.wake()
	return e
}

// Backdate makes all events of a room older.
func (s *Server) Backdate(room string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Room == room {
			e.At -= by.Milliseconds()
		}
	}
}

// Type sends a room's list of who types; it is not part of the history.
func (s *Server) Type(room string, users ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typing[room] = users
	s.wake()
}

// Garble adds an invalid event.
func (s *Server) Garble() {
	s.Add(s.rooms[0], "m.room.message", "@ana:fake.test",
		M{"msgtype": 5, "body": M{"a": strings.Repeat("x", 1<<20)}})
	s.Add(s.rooms[0], "m.room.redaction", "@ana:fake.test", M{"redacts": "$nothing"})
}

// Events returns the events of a room.
func (s *Server) Events(room string) (all []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Room == room {
			all = append(all, *e)
		}
	}
	return all
}

func (e *Event) json() M {
	m := M{"event_id": e.ID, "room_id": e.Room, "type": e.Type, "sender": e.Sender, "origin_server_ts": e.At,
		"content": e.Content}
	if e.Redacted {
		m["unsigned"] = M{"redacted_because": M{"type": "m.room.redaction"}}
	}
	return m
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code, text string, more M) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := M{"errcode": code, "error": text}
	maps.Copy(body, more)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	switch {
	case s.revoked || r.Header.Get("Authorization") != "Bearer "+s.Token:
		s.mu.Unlock()
		refuse(w, 401, "M_UNKNOWN_TOKEN", "Unknown token", nil)
		return
	case s.roll(s.faults.Busy):
		s.mu.Unlock()
		refuse(w, 429, "M_LIMIT_EXCEEDED", "Too many requests", M{"retry_after_ms": 1000})
		return
	case s.roll(s.faults.Fail):
		s.mu.Unlock()
		refuse(w, 500, "M_UNKNOWN", "Internal server error", nil)
		return
	}
	s.mu.Unlock()
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/_matrix/client/"), "/")
	p := strings.Split(rest, "/")
	switch {
	case rest == "account/whoami":
		answer(w, M{"user_id": s.Bot, "device_id": "D"})
	case rest == "sync":
		s.sync(w, r)
	case rest == "joined_rooms":
		answer(w, M{"joined_rooms": s.rooms})
	case p[0] == "profile":
		local, _, _ := strings.Cut(strings.TrimPrefix(p[1], "@"), ":")
		answer(w, M{"displayname": local})
	case p[0] == "rooms" && len(p) > 2:
		s.room(w, r, p[1], p[2:])
	default:
		refuse(w, 404, "M_UNRECOGNIZED", "Unrecognized request", nil)
	}
}

func (s *Server) room(w http.ResponseWriter, r *http.Request, room string, p []string) {
	if !slices.Contains(s.rooms, room) {
		refuse(w, 403, "M_FORBIDDEN", "not a member", nil)
		return
	}
	switch p[0] {
	case "state":
		if p[1] == "m.room.name" {
			answer(w, M{"name": strings.Trim(strings.Split(room, ":")[0], "!")})
			return
		}
		refuse(w, 404, "M_NOT_FOUND", "no such state", nil)
	case "joined_members":
		answer(w, M{"joined": M{"@ana:fake.test": M{}, "@ben:fake.test": M{}, s.Bot: M{}}})
	case "event":
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.byID[p[1]]; e != nil && e.Room == room {
			answer(w, e.json())
			return
		}
		refuse(w, 404, "M_NOT_FOUND", "Event not found.", nil)
	case "messages":
		s.messages(w, r, room)
	case "relations":
		s.relations(w, r, room, p[1], p[2])
	case "send", "redact":
		s.send(w, r, room, p)
	case "typing":
		answer(w, M{})
	default:
		refuse(w, 404, "M_UNRECOGNIZED", "Unrecognized request", nil)
	}
}

// sync returns the events after a token, of each room at most the newest limit.
func (s *Server) sync(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wait, _ := strconv.Atoi(q.Get("timeout"))
	deadline := time.After(time.Duration(wait) * time.Millisecond)
	var filter struct {
		Room struct {
			Rooms     []string
			Timeline  struct{ Limit int }
			Ephemeral struct{ Types []string }
		}
	}
	_ = json.Unmarshal([]byte(q.Get("filter")), &filter)
	limit := cmp.Or(filter.Room.Timeline.Limit, 10)
	for {
		s.mu.Lock()
		if s.revoked {
			s.mu.Unlock()
			refuse(w, 401, "M_UNKNOWN_TOKEN", "Unknown token", nil)
			return
		}
		if q.Get("since") != "" && s.roll(s.faults.Forget) {
			s.mu.Unlock()
			refuse(w, 400, "M_UNKNOWN_POS", "unknown position", nil)
			return
		}
		since, _ := strconv.Atoi(strings.TrimPrefix(q.Get("since"), "s"))
		join := M{}
		for _, room := range s.rooms {
			if len(filter.Room.Rooms) > 0 && !slices.Contains(filter.Room.Rooms, room) {
				continue
			}
			if page := s.timeline(room, since, limit); page != nil {
				join[room] = M{"timeline": page}
			}
		}
		if slices.Contains(filter.Room.Ephemeral.Types, "m.typing") {
			s.addTyping(join)
		}
		cut := len(join) > 0 && s.roll(s.faults.Cut)
		next, news := fmt.Sprintf("s%d", len(s.events)), s.news
		s.mu.Unlock()
		if cut {
			panic(http.ErrAbortHandler)
		}
		if len(join) > 0 || wait == 0 {
			answer(w, M{"next_batch": next, "rooms": M{"join": join}})
			return
		}
		select {
		case <-news:
		case <-deadline:
			wait = 0
		case <-r.Context().Done():
			return
		}
	}
}

// timeline returns a room's newest events after a position, at most limit, or nil if it has none. The caller
// holds the lock.
func (s *Server) timeline(room string, since, limit int) M {
	var events []M
	first := 0
	limited := false
	for i := len(s.events) - 1; i >= since; i-- {
		if s.events[i].Room != room {
			continue
		}
		if len(events) == limit {
			limited = true
			break
		}
		events, first = append(events, s.events[i].json()), s.events[i].n
	}
	if len(events) == 0 {
		return nil
	}
	slices.Reverse(events)
	return M{"events": events, "limited": limited, "prev_batch": fmt.Sprintf("t%d", first-1)}
}

// addTyping adds to each room who types there. Each list is sent once: there is one client. The caller
// holds the lock.
func (s *Server) addTyping(join M) {
	for room, users := range s.typing {
		of, ok := join[room].(M)
		if !ok {
			of = M{}
		}
		of["ephemeral"] = M{"events": []M{{"type": "m.typing", "content": M{"user_ids": users}}}}
		join[room] = of
	}
	clear(s.typing)
}

// messages returns the events before a token, newest first.
func (s *Server) messages(w http.ResponseWriter, r *http.Request, room string) {
	q := r.URL.Query()
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("from"), "t"))
	to, _ := strconv.Atoi(strings.TrimPrefix(q.Get("to"), "s"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	s.mu.Lock()
	defer s.mu.Unlock()
	chunk, end := []M{}, ""
	for i := from - 1; i >= to; i-- {
		if s.events[i].Room != room {
			continue
		}
		if len(chunk) == limit {
			end = fmt.Sprintf("t%d", i+1)
			break
		}
		chunk = append(chunk, s.events[i].json())
	}
	out := M{"chunk": chunk, "start": q.Get("from")}
	if end != "" {
		out["end"] = end
	}
	answer(w, out)
}

func (s *Server) relations(w http.ResponseWriter, r *http.Request, room, id, kind string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[id]; e == nil || e.Room != room {
		refuse(w, 404, "M_NOT_FOUND", "Unknown event", nil)
		return
	}
	var all []M
	for i := len(s.events) - 1; i >= 0; i-- {
		rel, _ := s.events[i].Content["m.relates_to"].(M)
		if rel["event_id"] == id && rel["rel_type"] == kind {
			all = append(all, s.events[i].json())
		}
	}
	const page = 5 // small, so that there are several pages
	out := M{"chunk": all[min(from, len(all)):min(from+page, len(all))]}
	if from+page < len(all) {
		out["next_batch"] = strconv.Itoa(from + page)
	}
	answer(w, out)
}

// send stores an event, once per transaction.
func (s *Server) send(w http.ResponseWriter, r *http.Request, room string, p []string) {
	var in M
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 60<<10))
	if err := d.Decode(&in); err != nil {
		refuse(w, 413, "M_TOO_LARGE", "event too large", nil)
		return
	}
	s.mu.Lock()
	key := strings.Join(p, "/")
	id, known := s.txns[key]
	switch {
	case known:
	case p[0] == "redact":
		id = s.add(room, "m.room.redaction", s.Bot, M{"redacts": p[1]}).ID
	default:
		if rel, _ := in["m.relates_to"].(M); rel != nil {
			if to, _ := rel["event_id"].(string); s.byID[to] == nil {
				s.mu.Unlock()
				refuse(w, 400, "M_UNKNOWN", "Can't send a relation to an event that is not there", nil)
				return
			}
		}
		id = s.add(room, p[1], s.Bot, in).ID
	}
	s.txns[key] = id
	lose, fail := s.roll(s.faults.LoseAnswer), s.roll(s.faults.FailAfter)
	s.mu.Unlock()
	switch {
	case lose:
		panic(http.ErrAbortHandler)
	case fail:
		refuse(w, 500, "M_UNKNOWN", "Internal server error", nil)
		return
	}
	answer(w, M{"event_id": id})
}
