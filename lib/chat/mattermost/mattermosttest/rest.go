package mattermosttest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sinceLimit is the maximum number of posts returned for since.
const sinceLimit = 1000

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for route, h := range map[string]func(*User, *http.Request) (any, *refusal){
		"GET /users/me":            func(u *User, _ *http.Request) (any, *refusal) { return u, nil },
		"GET /users/me/channels":   s.myChannels,
		"GET /users/{id}":          s.getUser,
		"POST /users/usernames":    s.getUsernames,
		"GET /channels/{id}":       s.getChannel,
		"GET /channels/{id}/posts": s.getPosts,
		"GET /posts/{id}":          s.getPost,
		"GET /posts/{id}/thread":   s.getThread,
		"POST /reactions":          s.postReaction,
		"PUT /posts/{id}/patch":    s.patchPost,
		"POST /users/me/typing":    func(*User, *http.Request) (any, *refusal) { return struct{}{}, nil },

		"DELETE /users/{user}/posts/{id}/reactions/{name}": s.deleteReaction,
	} {
		method, path, _ := strings.Cut(route, " ")
		mux.Handle(method+" /api/v4"+path, s.answer(route, h))
	}
	mux.HandleFunc("POST /api/v4/posts", s.createPost)
	mux.HandleFunc("GET /api/v4/websocket", s.connect)
	s.control(mux)
	return mux
}

// caller returns the user whose token a request has.
func (s *Server) caller(r *http.Request) *User {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, u := range s.users {
		if token != "" && u.Token == token {
			return u
		}
	}
	return nil
}

// enter counts a request, applies faults, and returns the caller. s.mu is held.
func (s *Server) enter(kind string, w http.ResponseWriter, r *http.Request) *User {
	s.requests[kind]++
	u := s.caller(r)
	switch {
	case u == nil:
		reply(w, &refusal{http.StatusUnauthorized, "api.context.session_expired.app_error",
			"Invalid or expired session, please login again."})
	case s.roll(s.faults.Limit):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "limit exceeded", http.StatusTooManyRequests)
	case s.roll(s.faults.Fail):
		reply(w, &refusal{http.StatusInternalServerError, "fake", "Something went wrong."})
	default:
		return u
	}
	return nil
}

func (s *Server) answer(kind string, h func(*User, *http.Request) (any, *refusal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		u := s.enter(kind, w, r)
		if u == nil {
			return
		}
		out, refused := h(u, r)
		if refused != nil {
			reply(w, refused)
			return
		}
		send(w, http.StatusOK, out)
	})
}

func reply(w http.ResponseWriter, r *refusal) { send(w, r.Status, r) }

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has disconnected does not need it
}

func (s *Server) createPost(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.enter("POST /posts", w, r)
	if u == nil {
		return
	}
	var p Post
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		reply(w, &refusal{http.StatusBadRequest, "api.context.invalid_body_param.app_error", err.Error()})
		return
	}
	p.UserID = u.ID
	made, refused := s.create(p)
	switch {
	case refused != nil:
		reply(w, refused)
	case s.roll(s.faults.DropAnswer):
		panic(http.ErrAbortHandler)
	case s.roll(s.faults.FailAfter):
		reply(w, &refusal{cmp.Or(s.faults.FailStatus, http.StatusInternalServerError), "fake",
			"Something went wrong, later."})
	case s.roll(s.faults.LateAnswer):
		stored := *made
		s.wait(s.late())
		send(w, http.StatusCreated, stored)
	default:
		send(w, http.StatusCreated, made)
	}
}

// create stores a post unless its pending id is known (App.CreatePost). Like the real server, it
// continues after the client has disconnected.
func (s *Server) create(p Post) (*Post, *refusal) {
	window, _ := time.ParseDuration(cmp.Or(s.faults.Forget, "30s")) // checked when it was set
	if seen, ok := s.pending[p.Pending]; ok && p.Pending != "" && time.Since(seen.at) < window {
		if seen.post == "" {
			return nil, &refusal{http.StatusInternalServerError, "api.post.deduplicate_create_post.pending",
				"Rejected post since another client is making the same request."}
		}
		return s.byID[seen.post], nil
	}
	s.pending[p.Pending] = pending{at: time.Now()}
	if s.roll(s.faults.LateStore) {
		s.wait(s.late())
	}
	made, refused := s.store(p)
	if refused != nil {
		delete(s.pending, p.Pending)
		return nil, refused
	}
	s.pending[p.Pending] = pending{post: made.ID, at: time.Now()}
	return made, nil
}

// late returns a random delay. s.mu is held.
func (s *Server) late() time.Duration {
	most, _ := time.ParseDuration(cmp.Or(s.faults.Late, "50ms"))
	return time.Duration(s.chance.Float64() * float64(most))
}

// wait sleeps with s.mu released.
func (s *Server) wait(d time.Duration) {
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
}

func (s *Server) myChannels(u *User, _ *http.Request) (any, *refusal) {
	out := []*Channel{}
	for _, id := range s.order {
		if !s.channels[id].out[u.ID] {
			out = append(out, s.channels[id])
		}
	}
	return out, nil
}

var (
	notFound = &refusal{http.StatusNotFound, "app.not_found", "Not found."}
	noAccess = &refusal{http.StatusForbidden, "api.context.permissions.app_error",
		"You do not have the appropriate permissions."}
)

func (s *Server) getUser(_ *User, r *http.Request) (any, *refusal) {
	if u := s.users[r.PathValue("id")]; u != nil {
		return u, nil
	}
	return nil, notFound
}

func (s *Server) getUsernames(_ *User, r *http.Request) (any, *refusal) {
	var names []string
	if err := json.NewDecoder(r.Body).Decode(&names); err != nil {
		return nil, &refusal{http.StatusBadRequest, "fake", err.Error()}
	}
	out := []*User{}
	for _, u := range s.users {
		if slices.Contains(names, u.Username) {
			out = append(out, u)
		}
	}
	return out, nil
}

func (s *Server) getChannel(u *User, r *http.Request) (any, *refusal) {
	c := s.channels[r.PathValue("id")]
	if c == nil || c.out[u.ID] {
		return nil, noAccess
	}
	return c, nil
}

func (s *Server) getPost(u *User, r *http.Request) (any, *refusal) {
	p := s.byID[r.PathValue("id")]
	switch {
	case p == nil || p.DeleteAt != 0:
		return nil, notFound
	case s.channels[p.ChannelID].out[u.ID]:
		return nil, noAccess
	}
	return p, nil
}

type list struct {
	Order   []string         `json:"order"`
	Posts   map[string]*Post `json:"posts"`
	HasNext bool             `json:"has_next"`
}

func listOf(posts []*Post) *list {
	l := &list{Order: []string{}, Posts: map[string]*Post{}}
	for _, p := range posts {
		if l.Posts[p.ID] == nil {
			l.Order = append(l.Order, p.ID)
		}
		l.Posts[p.ID] = p
	}
	return l
}

func newestFirst(a, b *Post) int { return cmp.Compare(b.CreateAt, a.CreateAt) }

// getPosts lists a channel: since a time (everything that changed, including deletions and old
// versions, the first thousand by the index), or a page of existing posts.
func (s *Server) getPosts(u *User, r *http.Request) (any, *refusal) {
	c := s.channels[r.PathValue("id")]
	if c == nil || c.out[u.ID] {
		return nil, noAccess
	}
	q := r.URL.Query()
	since, _ := strconv.ParseInt(q.Get("since"), 10, 64)
	before := s.byID[q.Get("before")]
	var found []*Post
	for _, p := range s.posts {
		switch {
		case p.ChannelID != c.ID:
		case since > 0 && p.UpdateAt > since:
			found = append(found, p)
		case since > 0:
		case p.DeleteAt == 0 && (before == nil || p.CreateAt < before.CreateAt):
			found = append(found, p)
		}
	}
	if since > 0 && s.roll(s.faults.StaleSince) {
		return listOf(nil), nil
	}
	if since > 0 {
		slices.SortStableFunc(found, func(a, b *Post) int { return cmp.Compare(a.UpdateAt, b.UpdateAt) })
		found = found[:min(len(found), sinceLimit)]
		slices.SortStableFunc(found, newestFirst)
		return listOf(found), nil
	}
	slices.SortStableFunc(found, newestFirst)
	size, _ := strconv.Atoi(cmp.Or(q.Get("per_page"), "60"))
	return listOf(found[:min(len(found), size, 200)]), nil
}

// getThread lists a thread, with the root on every page.
func (s *Server) getThread(u *User, r *http.Request) (any, *refusal) {
	root := s.byID[r.PathValue("id")]
	switch {
	case root == nil || root.DeleteAt != 0:
		return nil, notFound
	case s.channels[root.ChannelID].out[u.ID]:
		return nil, noAccess
	}
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("perPage"))
	from, _ := strconv.ParseInt(q.Get("fromCreateAt"), 10, 64)
	var found []*Post
	for _, p := range s.posts {
		later := p.CreateAt > from || p.CreateAt == from && p.ID > q.Get("fromPost")
		if (p.ID == root.ID || p.RootID == root.ID) && p.DeleteAt == 0 && later {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *Post) int {
		return cmp.Or(cmp.Compare(a.CreateAt, b.CreateAt), cmp.Compare(a.ID, b.ID))
	})
	more := size > 0 && len(found) > size
	if more {
		found = found[:size]
	}
	l := listOf(append([]*Post{root}, found...))
	l.HasNext = more
	return l, nil
}

// waitFor limits the time of a write to a socket.
func waitFor(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, 10*time.Second)
}
