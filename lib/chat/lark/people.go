package lark

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
)

// What is known of people and chats is asked again after these times.
const (
	personTime = 6 * time.Hour
	roomTime   = 10 * time.Minute
	maxMembers = 5000 // of a chat that names are looked for
)

// room is a group, or a conversation of two.
type room struct {
	Name     string
	P2P      bool
	External bool // people of other organizations are in it
	Tenant   string
}

// room looks a chat up. One that is not shown is private, so that it is heard only
// where it is named.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	return c.rooms.Ask(id, func() (room, error) {
		got, err := c.read(ctx, "im/v1/chats/"+url.PathEscape(id), nil)
		switch status := httpapi.StatusOf(err); {
		case status == http.StatusNotFound || status == http.StatusBadRequest:
			return room{P2P: true, Name: id}, nil
		case err != nil:
			return room{}, err
		}
		return room{
			Name: first(str(got, "name"), id), P2P: str(got, "chat_mode") == "p2p", External: got.Get("external").Bool(), Tenant: str(got, "tenant_key"),
		}, nil
	})
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
	if name, ok := c.people.Get(id); ok {
		return name
	}
	found, n := map[string]string{id: ""}, 0
	in := url.Values{"member_id_type": {"open_id"}, "page_size": {"100"}}
	_ = c.pages(ctx, "im/v1/chats/"+url.PathEscape(chat)+"/members", in, func(r gjson.Result) bool {
		found[str(r, "member_id")] = str(r, "name")
		n++
		return n < maxMembers
	})
	for id, name := range found {
		c.people.Put(id, name)
	}
	return found[id]
}
