package mattermost

import (
	"cmp"
	"context"
	"net/http"
	"strings"
)

// room is a channel, or a direct or group conversation.
type room struct {
	ID          string `json:"id"`
	Type        string `json:"type"` // O open, P private, D direct, G group
	Name        string `json:"name"` // of a direct one: both ids, joined by "__"
	DisplayName string `json:"display_name"`
	DeleteAt    int64  `json:"delete_at"`
}

const (
	direct = "D"
	group  = "G"
)

// watched are the ids of the chats to watch, as the server knows them now.
func (c *Client) watched(ctx context.Context) ([]string, error) {
	if c.chats != nil {
		ids := make([]string, 0, len(c.chats))
		for id := range c.chats {
			ids = append(ids, id)
		}
		return ids, nil
	}
	var rooms []room
	if err := c.get(ctx, "users/me/channels", nil, &rooms); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(rooms))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rooms {
		if r.DeleteAt == 0 && r.Type != direct && r.Type != group {
			ids = append(ids, r.ID)
			c.rooms[r.ID] = r
		}
	}
	return ids, nil
}

// watches reports whether a chat is one of the watched.
func (c *Client) watches(chatID string) bool { return c.chats == nil || c.chats[chatID] }

// room looks a chat up. One that we may not see any more has its id only.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	c.mu.Lock()
	r, ok := c.rooms[id]
	c.mu.Unlock()
	if ok || !validID(id) {
		return r, nil
	}
	err := c.get(ctx, "channels/"+id, nil, &r)
	switch {
	case statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusForbidden:
		return room{ID: id, Name: id}, nil
	case err != nil:
		return room{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rooms) >= maxKnown {
		clear(c.rooms)
	}
	c.rooms[id] = r
	return r, nil
}

// forgetRoom has the chat looked up again: it was renamed, say.
func (c *Client) forgetRoom(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rooms, id)
}

// title is what people call the chat.
func (c *Client) title(ctx context.Context, r room, self user) (string, error) {
	if r.DisplayName != "" || r.Type != direct {
		return cmp.Or(r.DisplayName, r.Name, r.ID), nil
	}
	a, b, _ := strings.Cut(r.Name, "__")
	if a == self.ID {
		a = b
	}
	u, err := c.person(ctx, a)
	return cmp.Or(u.Username, r.Name), err
}
