package lark

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
)

// What is known of people and chats is asked again after these times, and all of
// it is forgotten when it is more than maxKnown.
const (
	maxKnown   = 20000
	personTime = 6 * time.Hour
	roomTime   = 10 * time.Minute
	maxMembers = 5000 // of a chat that names are looked for
)

// person is somebody's name.
type person struct {
	Name  string
	asked time.Time
}

// room is a group, or a conversation of two.
type room struct {
	Name     string
	P2P      bool
	External bool // people of other organizations are in it
	Tenant   string
	asked    time.Time
}

// room looks a chat up. One that is not shown is private, so that it is heard only
// where it is named.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	now := c.api.Now()
	c.mu.Lock()
	r, ok := c.rooms[id]
	c.mu.Unlock()
	if ok && now.Sub(r.asked) < roomTime {
		return r, nil
	}
	got, err := c.read(ctx, "im/v1/chats/"+url.PathEscape(id), nil)
	switch status := httpapi.StatusOf(err); {
	case status == http.StatusNotFound || status == http.StatusBadRequest:
		r = room{P2P: true}
	case err != nil:
		return room{}, err
	default:
		r = room{
			Name: str(got, "name"), P2P: str(got, "chat_mode") == "p2p", External: got.Get("external").Bool(), Tenant: str(got, "tenant_key"),
		}
	}
	r.Name, r.asked = first(r.Name, id), now
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rooms) >= maxKnown {
		clear(c.rooms)
	}
	c.rooms[id] = r
	return r, nil
}

// forgetRoom has a chat looked up again: it was renamed, say.
func (c *Client) forgetRoom(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rooms, id)
}

// hears reports whether a chat is one to listen to.
func (c *Client) hears(ctx context.Context, id string) (room, bool, error) {
	if !chatID.MatchString(id) || c.chats != nil && !c.chats[id] {
		return room{}, false, nil
	}
	r, err := c.room(ctx, id)
	if err != nil {
		return room{}, false, err
	}
	return r, (c.chats != nil || !r.P2P) && (c.o.AllowExternal || !r.External), nil
}

// watched are the chats to listen to, as the platform knows them now.
func (c *Client) watched(ctx context.Context) (ids []string, err error) {
	if c.chats != nil {
		for id := range c.chats {
			ids = append(ids, id)
		}
		return ids, nil
	}
	err = c.pages(ctx, "im/v1/chats", url.Values{"page_size": {"100"}}, func(r gjson.Result) bool {
		if id := str(r, "chat_id"); chatID.MatchString(id) {
			ids = append(ids, id)
		}
		return true
	})
	return ids, err
}

// name is what somebody in a chat is called: an event says only who it is, and
// who may ask for a chat may ask for its members. Without an answer there is no
// name, and the message is heard all the same.
func (c *Client) name(ctx context.Context, chat, id string) string {
	if !userID.MatchString(id) {
		return ""
	}
	now := c.api.Now()
	c.mu.Lock()
	p, ok := c.people[id]
	c.mu.Unlock()
	if ok && now.Sub(p.asked) < personTime {
		return p.Name
	}
	found, n := map[string]person{id: {asked: now}}, 0
	in := url.Values{"member_id_type": {"open_id"}, "page_size": {"100"}}
	_ = c.pages(ctx, "im/v1/chats/"+url.PathEscape(chat)+"/members", in, func(r gjson.Result) bool {
		found[str(r, "member_id")] = person{str(r, "name"), now}
		n++
		return n < maxMembers
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.people) >= maxKnown {
		clear(c.people)
	}
	for id, p := range found {
		c.people[id] = p
	}
	return found[id].Name
}
