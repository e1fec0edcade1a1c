package mattermosttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// control lets another process play the people and break things:
//
//	GET  /_fake/world   who and what there is, with tokens
//	GET  /_fake/posts   the posts that stand, oldest first
//	POST /_fake/post    {"user", "channel", "root", "message"}, by name; gives the post
//	POST /_fake/edit    {"id", "message"}
//	POST /_fake/delete  {"id"}
//	POST /_fake/faults  Faults
//	POST /_fake/cut     {"forget"}: break the sockets
func (s *Server) control(mux *http.ServeMux) {
	type asked struct {
		ID, User, Channel, Root, Message string
		Forget                           bool
	}
	for route, h := range map[string]func(asked) (any, error){
		"GET /_fake/world": func(asked) (any, error) { return s.World(), nil },
		"GET /_fake/posts": func(asked) (any, error) { return s.Posts(), nil },
		"POST /_fake/post": func(a asked) (any, error) {
			w := s.World()
			return s.Say(Post{UserID: w.Users[a.User].ID, ChannelID: w.Channels[a.Channel], RootID: a.Root,
				Message: a.Message})
		},
		"POST /_fake/edit":   func(a asked) (any, error) { return struct{}{}, s.Edit(a.ID, a.Message) },
		"POST /_fake/delete": func(a asked) (any, error) { return struct{}{}, s.Delete(a.ID) },
		"POST /_fake/cut":    func(a asked) (any, error) { s.CutSockets(a.Forget); return struct{}{}, nil },
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			var a asked
			if err := decode(r, &a); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			out, err := h(a)
			finish(w, out, err)
		})
	}
	mux.HandleFunc("POST /_fake/faults", func(w http.ResponseWriter, r *http.Request) {
		var f Faults
		if err := decode(r, &f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		finish(w, struct{}{}, s.SetFaults(f))
	})
}

func decode(r *http.Request, v any) error {
	if r.Method == http.MethodGet {
		return nil
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	return nil
}

func finish(w http.ResponseWriter, out any, err error) {
	refused := (*refusal)(nil)
	switch {
	case errors.As(err, &refused):
		reply(w, refused)
	case err != nil:
		reply(w, &refusal{http.StatusBadRequest, "fake", err.Error()})
	default:
		send(w, http.StatusOK, out)
	}
}

// World lists the accounts and channels.
type World struct {
	URL      string             `json:"url"`
	Users    map[string]Account `json:"users"`    // by name
	Channels map[string]string  `json:"channels"` // ids by name
}

// Account is a user with the access token.
type Account struct {
	User
	Token string `json:"token"`
}

// World describes the server.
func (s *Server) World() World {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := World{URL: s.URL, Users: map[string]Account{}, Channels: map[string]string{}}
	for _, u := range s.users {
		w.Users[u.Username] = Account{User: *u, Token: u.Token}
	}
	for _, c := range s.channels {
		w.Channels[c.Name] = c.ID
	}
	return w
}
