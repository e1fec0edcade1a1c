package discordtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/gateway", s.connect)
	mux.HandleFunc("/gateway/", s.connect)
	for route, h := range map[string]func(*http.Request, M) (any, *refusal){
		"GET /gateway":     func(*http.Request, M) (any, *refusal) { return M{"url": s.gateway()}, nil },
		"GET /gateway/bot": s.gatewayBot,
		"GET /users/@me":   func(*http.Request, M) (any, *refusal) { return self(), nil },
		"GET /applications/@me": func(*http.Request, M) (any, *refusal) {
			return M{"id": Bot, "name": "tri", "flags": s.Flags}, nil
		},
		"GET /users/@me/guilds": func(*http.Request, M) (any, *refusal) {
			return []M{{"id": Guild, "name": "Fake"}}, nil
		},
		"GET /guilds/{g}": func(*http.Request, M) (any, *refusal) {
			return M{"id": Guild, "name": "Fake", "owner_id": Person("ana")["id"]}, nil
		},
		"GET /guilds/{g}/roles": func(*http.Request, M) (any, *refusal) {
			return s.roles(), nil
		},
		"GET /guilds/{g}/members/{u}": func(*http.Request, M) (any, *refusal) {
			return M{"user": self(), "roles": []string{BotRole}}, nil
		},
		"GET /guilds/{g}/channels":                            s.listChannels,
		"GET /guilds/{g}/threads/active":                      s.activeThreads,
		"GET /channels/{c}":                                   s.channel,
		"GET /channels/{c}/messages":                          s.listMessages,
		"GET /channels/{c}/messages/{m}":                      s.message,
		"POST /channels/{c}/messages":                         s.create,
		"PATCH /channels/{c}/messages/{m}":                    s.change,
		"DELETE /channels/{c}/messages/{m}":                   s.remove,
		"POST /channels/{c}/typing":                           s.typing,
		"POST /channels/{c}/messages/{m}/threads":             s.beginThread,
		"GET /channels/{c}/threads/archived/public":           s.archivedThreads,
		"PUT /channels/{c}/messages/{m}/reactions/{e}/@me":    s.react("+"),
		"DELETE /channels/{c}/messages/{m}/reactions/{e}/@me": s.react("-"),
		"POST /interactions/{i}/{token}/callback":             s.callback,
	} {
		method, path, _ := strings.Cut(route, " ")
		for _, version := range []string{"v9", "v10"} { // an older library uses 9
			mux.HandleFunc(method+" /api/"+version+path, s.handle(route, h))
		}
	}
	return mux
}

// handle decodes a request, applies faults, and responds.
func (s *Server) handle(route string, h func(*http.Request, M) (any, *refusal)) http.HandlerFunc {
	posts := route == "POST /channels/{c}/messages"
	parts := strings.Split(strings.TrimSuffix(route, "/{m}"), "/")
	kind := strings.Fields(route)[0] + " " + parts[len(parts)-1]
	return func(w http.ResponseWriter, r *http.Request) {
		in := M{}
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests[kind]++
		if !strings.HasPrefix(route, "POST /interactions") && !strings.HasSuffix(route, "/gateway") &&
			!s.authorized(r) {
			answer(w, nil, &refusal{401, 0, "401: Unauthorized"})
			return
		}
		switch {
		case s.roll(s.faults.Fail):
			w.WriteHeader(http.StatusInternalServerError)
			return
		case s.roll(s.faults.Busy):
			w.Header().Set("Retry-After", "1")
			w.Header().Set("X-RateLimit-Scope", "user")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"message":"You are being rate limited.","retry_after":1.5,"global":false}`))
			return
		}
		out, refused := h(r, in)
		if posts && refused == nil {
			if s.roll(s.faults.LoseAnswer) {
				panic(http.ErrAbortHandler)
			}
			if s.roll(s.faults.FailAfter) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
		}
		w.Header().Set("X-RateLimit-Bucket", "b")
		w.Header().Set("X-RateLimit-Limit", "5")
		w.Header().Set("X-RateLimit-Remaining", "4")
		w.Header().Set("X-RateLimit-Reset-After", "1.000")
		answer(w, out, refused)
	}
}

func answer(w http.ResponseWriter, out any, refused *refusal) {
	if out != nil || refused != nil { // an empty response is not JSON
		w.Header().Set("Content-Type", "application/json")
	}
	switch {
	case refused != nil:
		w.WriteHeader(refused.status)
		_ = json.NewEncoder(w).Encode(M{"code": refused.code, "message": refused.text})
	case out == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(out)
	}
}

var (
	noChannel = &refusal{404, 10003, "Unknown Channel"}
	noMessage = &refusal{404, 10008, "Unknown Message"}
	noPermit  = &refusal{403, 50013, "Missing Permissions"}
	noAccess  = &refusal{403, 50001, "Missing Access"}
)

func invalid(text string) *refusal { return &refusal{400, 50035, text} }

func (s *Server) gatewayBot(*http.Request, M) (any, *refusal) {
	return M{"url": s.gateway(), "shards": 1,
			"session_start_limit": M{"total": 1000, "remaining": 999, "reset_after": 1000,
				"max_concurrency": 1}},
		nil
}

func (s *Server) roles() []M {
	return []M{
		{"id": Guild, "name": "@everyone", "permissions": "66560", "position": 0, "color": 0, "hoist": false,
			"managed": false, "mentionable": false, "flags": 0},
		{"id": BotRole, "name": "tri", "permissions": strconv.FormatUint(309237713984&^s.Deny, 10),
			"position": 1, "color": 0, "hoist": false, "managed": true, "mentionable": false, "flags": 0,
			"tags": M{"bot_id": Bot}},
	}
}

// place returns the channel of a request, if the bot may see it.
func (s *Server) place(r *http.Request) (M, *refusal) {
	id := r.PathValue("c")
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return nil, invalid("Value is not snowflake.")
	}
	c := s.channels[id]
	switch {
	case c == nil:
		return nil, noChannel
	case c["hidden"] == true:
		return nil, noAccess
	}
	return c, nil
}

func (s *Server) channel(r *http.Request, _ M) (any, *refusal) {
	c, refused := s.place(r)
	if refused != nil {
		return nil, refused
	}
	return c, nil
}

func (s *Server) listChannels(*http.Request, M) (any, *refusal) {
	all := []M{}
	for _, id := range s.order {
		if c := s.channels[id]; c["type"] != 11 && c["type"] != 1 && c["type"] != 12 {
			all = append(all, c)
		}
	}
	return all, nil
}

func (s *Server) threads(archived bool, parent string) []M {
	all := []M{}
	for _, id := range s.order {
		c := s.channels[id]
		if meta, ok := c["thread_metadata"].(M); ok && meta["archived"] == archived &&
			(parent == "" || c["parent_id"] == parent) {
			all = append(all, c)
		}
	}
	return all
}

func (s *Server) activeThreads(*http.Request, M) (any, *refusal) {
	return M{"threads": s.threads(false, ""), "members": []M{}}, nil
}

// archivedThreads returns the threads, the last archived first.
func (s *Server) archivedThreads(r *http.Request, _ M) (any, *refusal) {
	c, refused := s.place(r)
	if refused != nil {
		return nil, refused
	}
	all := s.threads(true, c["id"].(string))
	at := func(m M) string { return m["thread_metadata"].(M)["archive_timestamp"].(string) }
	slices.SortFunc(all, func(a, b M) int { return strings.Compare(at(b), at(a)) })
	if before := r.URL.Query().Get("before"); before != "" {
		all = slices.DeleteFunc(all, func(m M) bool { return at(m) >= before })
	}
	more := len(all) > 100
	return M{"threads": all[:min(len(all), 100)], "members": []M{}, "has_more": more}, nil
}

// listMessages returns messages newest first, in both directions.
func (s *Server) listMessages(r *http.Request, _ M) (any, *refusal) {
	c, refused := s.place(r)
	if refused != nil {
		return nil, refused
	}
	if c["type"] == 15 {
		return nil, &refusal{400, 50024, "Cannot execute action on this channel type"}
	}
	q := r.URL.Query()
	if s.Deny&(1<<16) != 0 { // without the permission to read the history it is empty, without an error
		return []M{}, nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		limit = 50
	}
	if limit < 1 || limit > 100 {
		return nil, invalid("limit: int value should be between 1 and 100.")
	}
	ids := s.byPlace[c["id"].(string)]
	switch {
	case q.Get("after") != "":
		at, _ := strconv.ParseUint(q.Get("after"), 10, 64)
		i, _ := slices.BinarySearchFunc(ids, at+1, before)
		ids = ids[i:min(len(ids), i+limit)]
	case q.Get("before") != "":
		at, _ := strconv.ParseUint(q.Get("before"), 10, 64)
		i, _ := slices.BinarySearchFunc(ids, at, before)
		ids = ids[max(0, i-limit):i]
	default:
		ids = ids[max(0, len(ids)-limit):]
	}
	all := make([]M, 0, len(ids))
	for _, id := range ids {
		all = append(all, s.messages[id].Data)
	}
	slices.Reverse(all)
	return all, nil
}

func before(id string, at uint64) int {
	n, _ := strconv.ParseUint(id, 10, 64)
	switch {
	case n < at:
		return -1
	case n > at:
		return 1
	}
	return 0
}

// find returns the message of a request.
func (s *Server) find(r *http.Request) (*Message, *refusal) {
	c, refused := s.place(r)
	if refused != nil {
		return nil, refused
	}
	if c["type"] == 15 {
		return nil, &refusal{400, 50024, "Cannot execute action on this channel type"}
	}
	m := s.messages[r.PathValue("m")]
	if m == nil || m.Channel != c["id"] {
		return nil, noMessage
	}
	return m, nil
}

func (s *Server) message(r *http.Request, _ M) (any, *refusal) {
	m, refused := s.find(r)
	if refused != nil {
		return nil, refused
	}
	return m.Data, nil
}
