package teams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tri/lib/base/httpapi"
)

const (
	personLife = time.Hour
	maxKnown   = 10_000 // maximum number of known rooms
)

// isExternal reports whether a member of a chat is a guest or belongs to another tenant.
// https://learn.microsoft.com/microsoftteams/platform/bots/how-to/get-teams-context
func (c *Client) isExternal(ctx context.Context, chatID, id string) (bool, error) {
	return c.outside.Ask(chatID+" "+id, func() (bool, error) {
		var member struct {
			Name   string `json:"userPrincipalName"`
			Tenant string `json:"tenantId"`
			Role   string `json:"userRole"`
		}
		err := c.service.read(ctx, "v3/conversations/"+place(chatID)+"/members/"+place(id), nil, &member)
		switch s := httpapi.StatusOf(err); {
		case s == http.StatusNotFound || s == http.StatusForbidden || s == http.StatusBadRequest:
			return true, nil // not a known member
		case err != nil:
			return false, fmt.Errorf("member %q of %s: %w", id, chatID, err)
		}
		return strings.Contains(member.Name, "#EXT#") || strings.EqualFold(member.Role, "guest") ||
			strings.EqualFold(member.Role, "anonymous") ||
			c.o.Tenant != "" && member.Tenant != "" && !strings.EqualFold(member.Tenant, c.o.Tenant), nil
	})
}

// directory returns the id by which Graph knows a mentioned account.
func (c *Client) directory(a account) string {
	if a.AAD != "" {
		return a.AAD
	}
	id, _ := c.ids.Get(a.ID)
	return cmp.Or(id, a.ID)
}

// keepRoom stores what an activity contains about its chat and people, and reports whether any of it
// is new.
func (c *Client) keepRoom(a *activity) bool {
	if a.From.AAD != "" && !a.From.bot() {
		c.ids.Put(a.From.ID, a.From.AAD)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, was := c.rooms[a.chat], c.rooms[a.chat]
	switch d := &a.ChannelData; {
	case d.Channel.Name != "" && (d.Channel.ID == "" || d.Channel.ID == a.chat):
		r.Name = d.Channel.Name
	case a.Conversation.Name != "":
		r.Name = a.Conversation.Name
	case r.Name == "":
		r.Name = d.Team.Name
	}
	if g := a.ChannelData.Team.Group; word.MatchString(g) && channel(a.chat) {
		r.Group = g
	}
	if r == was || len(c.rooms) >= maxKnown || a.about() && c.chats != nil && !c.chats[a.chat] {
		return false
	}
	c.rooms[a.chat] = r
	return true
}

// name returns a chat's name, or its id.
func (c *Client) name(chatID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.rooms[chatID].Name, chatID)
}

// group returns the team of a channel, "" if it is unknown.
func (c *Client) group(chatID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rooms[chatID].Group
}

// readChannels requests the channels of the configured teams.
func (c *Client) readChannels(ctx context.Context) error {
	var failed error
	for _, g := range c.o.Groups {
		var got struct {
			Value []struct {
				ID   string `json:"id"`
				Name string `json:"displayName"`
			} `json:"value"`
		}
		if err := c.graph.read(ctx, "teams/"+place(g)+"/channels", url.Values{"$select": {"id,displayName"}},
			&got); err != nil {
			failed = errors.Join(failed, fmt.Errorf("channels of team %s: %w", g, err))
			continue
		}
		c.mu.Lock()
		for _, r := range got.Value {
			if chatWord.MatchString(r.ID) {
				c.rooms[r.ID] = room{Name: r.Name, Group: g}
			}
		}
		c.mu.Unlock()
	}
	return failed
}

// errUnknownTeam is why a channel's history cannot be read.
var errUnknownTeam = errors.New("it is not known of which team the channel is: name the team under groups")

// messages returns Graph's path of the messages of a chat.
func (c *Client) messages(ctx context.Context, chatID string) (string, error) {
	if !channel(chatID) {
		return "chats/" + place(chatID) + "/messages", nil
	}
	g := c.group(chatID)
	if g == "" {
		if err := c.readChannels(ctx); err != nil {
			return "", err
		}
		if g = c.group(chatID); g == "" {
			return "", errUnknownTeam
		}
	}
	return "teams/" + place(g) + "/channels/" + place(chatID) + "/messages", nil
}

// messagePath returns Graph's path of a message.
func (c *Client) messagePath(ctx context.Context, chatID, root, id string) (string, error) {
	at, err := c.messages(ctx, chatID)
	if root != "" && root != id && channel(chatID) {
		return at + "/" + place(root, "replies", id), err
	}
	return at + "/" + place(id), err
}

// memory is the state saved over a restart; it is only a hint.
type memory struct {
	Rooms map[string]room `json:"rooms"`
}

// loadState restores the saved rooms.
func (l *listening) loadState() {
	var m memory
	if json.Unmarshal(l.State, &m) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range m.Rooms {
		if chatWord.MatchString(id) && (r.Group == "" || word.MatchString(r.Group)) {
			l.rooms[id] = r
		}
	}
}

// maxRooms keeps the saved state below the 64 KiB of chat.Handler.
const maxRooms = 150

func (l *listening) saveState() error {
	m := memory{Rooms: map[string]room{}}
	l.mu.Lock()
	for id, r := range l.rooms {
		if len(m.Rooms) < maxRooms && len(id)+len(r.Name)+len(r.Group) < 400 {
			m.Rooms[id] = r
		}
	}
	l.mu.Unlock()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.Save(b)
}
