package slack

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

// Lifetimes of cached people and chats.
const (
	personTime = 6 * time.Hour
	roomTime   = 10 * time.Minute
)

// person is a user account.
type person struct {
	Name     string
	Bot      bool
	External bool // a guest, or of another organization
}

// hidden reports whether err means that Slack does not show an object, or takes its id for none: a message
// may name anything.
func hidden(err error) bool {
	status := httpapi.StatusOf(err)
	return status == http.StatusNotFound || status == http.StatusBadRequest
}

// person looks up an account. One that Slack does not show has no name.
func (c *Client) person(ctx context.Context, id string) (person, error) {
	if !anyID.MatchString(id) {
		return person{}, nil
	}
	return c.people.Ask(id, func() (person, error) {
		self, err := c.me(ctx)
		if err != nil {
			return person{}, err
		}
		r, err := c.read(ctx, "users.info", url.Values{"user": {id}})
		switch {
		case hidden(err):
			return person{External: true}, nil // of another organization
		case err != nil:
			return person{}, err
		}
		return newPerson(r.Get("user"), self), nil
	})
}

func newPerson(u gjson.Result, self account) person {
	p := person{
		Name: cmp.Or(u.Get("profile.display_name").String(), u.Get("real_name").String(),
			u.Get("profile.real_name").String(), u.Get("name").String()),
		Bot: u.Get("is_bot").Bool() || u.Get("id").String() == "USLACKBOT",
	}
	team, enterprise := u.Get("team_id").String(), u.Get("enterprise_user.enterprise_id").String()
	p.External = u.Get("is_restricted").Bool() || u.Get("is_ultra_restricted").Bool() ||
		u.Get("is_stranger").Bool() ||
		self.foreign(team) && (enterprise == "" || enterprise != self.Enterprise)
	return p
}

// foreign reports whether a team belongs to another organization.
func (a account) foreign(team string) bool {
	return team != "" && a.Team != "" && team != a.Team && (a.Enterprise == "" || team != a.Enterprise)
}

// room is a channel or a conversation.
type room struct {
	Name    string
	Private bool // also a direct or group conversation
	Direct  string
	Shared  bool // with other organizations
	Member  bool
}

func newRoom(r gjson.Result) room {
	return room{
		Name: r.Get("name").String(), Private: r.Get("is_private").Bool() || r.Get("is_im").Bool() ||
			r.Get("is_mpim").Bool(), Direct: r.Get("user").String(),
		Shared: r.Get("is_ext_shared").Bool() || r.Get("is_pending_ext_shared").Bool(),
		Member: r.Get("is_member").Bool() || r.Get("is_im").Bool() || r.Get("is_mpim").Bool(),
	}
}

// room looks up a chat. One that Slack does not show counts as private, so that it is read only if
// it is watched by id.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	return c.rooms.Ask(id, func() (room, error) {
		got, err := c.read(ctx, "conversations.info", url.Values{"channel": {id}})
		switch {
		case hidden(err):
			return room{Private: true, Name: id}, nil
		case err != nil:
			return room{}, err
		}
		r := newRoom(got.Get("channel"))
		if r.Direct != "" && r.Name == "" {
			p, err := c.person(ctx, r.Direct)
			if err != nil {
				return room{}, err
			}
			r.Name = p.Name
		}
		r.Name = cmp.Or(r.Name, id)
		return r, nil
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
	return r, (c.chats != nil || !r.Private) && (c.o.AllowExternal || !r.Shared), nil
}

// watched returns the chats to read, requested anew.
func (c *Client) watched(ctx context.Context) (ids []string, err error) {
	if c.chats != nil {
		return slices.Collect(maps.Keys(c.chats)), nil
	}
	in := url.Values{"types": {"public_channel"}, "exclude_archived": {"true"}, "limit": {"200"}}
	err = c.pages(ctx, "users.conversations", in, "channels", func(r gjson.Result) {
		if id := r.Get("id").String(); chatID.MatchString(id) {
			ids = append(ids, id)
		}
	})
	return ids, err
}
