package mattermosttest

import (
	"encoding/json"
	"net/http"
)

// Reaction is a reaction to a post.
type Reaction struct {
	UserID    string `json:"user_id"`
	PostID    string `json:"post_id"`
	EmojiName string `json:"emoji_name"`
	CreateAt  int64  `json:"create_at"`
}

// React adds or removes a reaction of a user.
func (s *Server) React(userID, postID, name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.react(Reaction{UserID: userID, PostID: postID, EmojiName: name}, on)
}

func (s *Server) react(r Reaction, on bool) *refusal {
	p := s.byID[r.PostID]
	if p == nil {
		return &refusal{http.StatusNotFound, "app.post.get.app_error", "no post"}
	}
	kind := "reaction_removed"
	delete(s.reactions, r.UserID+r.PostID+r.EmojiName)
	if on {
		kind, r.CreateAt = "reaction_added", s.tick()
		s.reactions[r.UserID+r.PostID+r.EmojiName] = r
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	for _, k := range s.sockets {
		k.tell(kind, map[string]any{"reaction": string(text)}, map[string]any{"channel_id": p.ChannelID})
	}
	return nil
}

// Reactions returns the number of reactions to a post by short name.
func (s *Server) Reactions(postID string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, r := range s.reactions {
		if r.PostID == postID {
			n[r.EmojiName]++
		}
	}
	return n
}

func (s *Server) postReaction(u *User, r *http.Request) (any, *refusal) {
	var in Reaction
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.UserID != u.ID {
		return nil, &refusal{http.StatusBadRequest, "api.reaction.save_reaction.invalid.app_error", "invalid"}
	}
	return in, s.react(in, true)
}

func (s *Server) deleteReaction(u *User, r *http.Request) (any, *refusal) {
	if r.PathValue("user") != u.ID {
		return nil, &refusal{http.StatusForbidden, "api.context.permissions.app_error", "not yours"}
	}
	return struct{}{}, s.react(Reaction{UserID: u.ID, PostID: r.PathValue("id"),
		EmojiName: r.PathValue("name")}, false)
}

func (s *Server) patchPost(u *User, r *http.Request) (any, *refusal) {
	var in struct{ Message string }
	p := s.byID[r.PathValue("id")]
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || p == nil || p.UserID != u.ID {
		return nil, &refusal{http.StatusForbidden, "api.context.permissions.app_error", "not yours"}
	}
	p.Message, p.EditAt = in.Message, s.tick()
	p.UpdateAt = p.EditAt
	s.publish("post_edited", p, nil)
	return p, nil
}
