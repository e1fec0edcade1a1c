package teams

import (
	"context"
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
	maxKnown   = 10_000 // maximum number of cached people and rooms
)

// person is the cached information about a member of a chat.
type person struct {
	outside bool
	until   time.Time
}

// isExternal reports whether a member of a chat is a guest or belongs to another tenant.
// https://learn.microsoft.com/microsoftteams/platform/bots/how-to/get-teams-context
func (c *Client) isExternal(ctx context.Context, chatID, id string) (bool, error) {
	at, now := chatID+" "+id, c.o.Now()
	c.mu.Lock()
	p, ok := c.people[at]
	c.mu.Unlock()
	if ok && now.Before(p.until) {
		return p.outside, nil
	}
	var member struct {
		Name   string `json:"userPrincipalName"`
		Tenant string `json:"tenantId"`
		Role   string `json:"userRole"`
	}
	err := c.service.read(ctx, "v3/conversations/"+place(chatID)+"/members/"+place(id), nil, &member)
	switch s := httpapi.StatusOf(err); {
	case s == http.StatusNotFound || s == http.StatusForbidden || s == http.StatusBadRequest:
		p.outside = true // not a known member
	case err != nil:
		return false, fmt.Errorf("member %q of %s: %w", id, chatID, err)
	default:
		p.outside = strings.Contains(member.Name, "#EXT#") || strings.EqualFold(member.Role, "guest") ||
			strings.EqualFold(member.Role, "anonymous") ||
			c.o.Tenant != "" && member.Tenant != "" && !strings.EqualFold(member.Tenant, c.o.Tenant)
	}
	p.until = now.Add(personLife)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.people) >= maxKnown {
		clear(c.people)
	}
	c.people[at] = p
	return p.outside, nil
}

// directory returns the id by which Graph knows a mentioned account.
func (c *Client) directory(a account) string {
	if a.AAD != "" {
		return a.AAD
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.ids[a.ID]; id != "" {
		return id
	}
	return a.ID
}

// keepRoom stores what an activity contains about its chat and people, and reports whether any of it
// is new.
func (c *Client) keepRoom(a *activity) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.From.AAD != "" && !a.From.bot() {
		if len(c.ids) >= maxKnown {
			clear(c.ids)
		}
		c.ids[a.From.ID] = a.From.AAD
	}
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
	if n := c.rooms[chatID].Name; n != "" {
		return n
	}
	return chatID
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
