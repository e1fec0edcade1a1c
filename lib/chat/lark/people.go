package lark

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
)

// Lifetimes and limits of cached people and chats.
const (
	personTime = 6 * time.Hour
	roomTime   = 10 * time.Minute
	maxMembers = 5000 // members of a chat whose names are read
)

// room is a group, or a conversation of two.
type room struct {
	Name     string
	P2P      bool
	External bool // it has members of other organizations
	Tenant   string
}

// room looks up a chat. One that is not accessible counts as private, so that it is read only if it
// is watched by id.
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
			Name: cmp.Or(str(got, "name"), id), P2P: str(got, "chat_mode") == "p2p",
			External: got.Get("external").Bool(), Tenant: str(got, "tenant_key"),
		}, nil
	})
}

// watches reports whether a chat is to be read.
func (c *Client) watches(ctx context.Context, id string) (room, bool, error) {
	if !chatID.MatchString(id) || c.chats != nil && !c.chats[id] {
		return room{}, false, nil
	}
	r, err := c.room(ctx, id)
	if err != nil {
		return room{}, false, err
	}
	return r, (c.chats != nil || !r.P2P) && (c.o.AllowExternal || !r.External), nil
}

// watched returns the chats to read, requested anew.
func (c *Client) watched(ctx context.Context) (ids []string, err error) {
	if c.chats != nil {
		return slices.Collect(maps.Keys(c.chats)), nil
	}
	err = c.pages(ctx, "im/v1/chats", url.Values{"page_size": {"100"}}, func(r gjson.Result) bool {
		if id := str(r, "chat_id"); chatID.MatchString(id) {
			ids = append(ids, id)
		}
		return true
	})
	return ids, err
}

// name returns the name of a member of a chat: an event contains only the id, and an app that may
// read a chat may list its members. Without a response the name is empty, and the message is
// emitted anyway.
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
