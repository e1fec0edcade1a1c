package mattermost

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
)

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	IsBot    bool   `json:"is_bot"`
	Roles    string `json:"roles"`     // "system_user", "system_guest", with spaces between
	RemoteID string `json:"remote_id"` // set: an account of another server, in a shared channel
}

// isExternal reports whether the account is a guest or of another server.
func (u *user) isExternal() bool {
	return u.RemoteID != "" || slices.Contains(strings.Fields(u.Roles), "system_guest")
}

// learn caches an account.
func (c *Client) learn(u user) user {
	u.Username = strings.ToLower(u.Username)
	c.people.Put(u.ID, u)
	c.names.Put(u.Username, u.ID)
	return u
}

// person looks up an account. If the server does not show it, only the id is set.
func (c *Client) person(ctx context.Context, id string) (user, error) {
	if !validID(id) {
		return user{}, nil
	}
	return c.people.Ask(id, func() (user, error) {
		var u user
		err := c.get(ctx, "users/"+id, nil, &u)
		switch {
		case httpapi.IsUnreadable(err):
			return user{ID: id}, nil
		case err != nil:
			return user{}, err
		}
		return c.learn(u), nil
	})
}

// handle matches possible user names: lower-case letters, digits, and '.', '-', '_'
// (model.IsValidUsername), at most 64 characters.
var handle = lazyregexp.New(`(?i)(?:^|[^\w@])@([a-z0-9][a-z0-9._-]{0,63})`)

// maxMentions is how many mentions of one message are looked up; real messages have fewer.
const maxMentions = 50

// handles returns the names that text may mention, each with and without final dots, dashes and
// underscores, which may be punctuation, as the server does.
func handles(text string) [][]string {
	var all [][]string
	for _, m := range handle.FindAllStringSubmatch(text, maxMentions) {
		name := strings.ToLower(m[1])
		forms := []string{name}
		for strings.ContainsRune("._-", rune(name[len(name)-1])) {
			name = name[:len(name)-1]
			forms = append(forms, name)
		}
		all = append(all, forms)
	}
	return all
}

// mentions returns the ids of the accounts that text mentions, in order.
func (c *Client) mentions(ctx context.Context, text string) ([]string, error) {
	ids := []string{}
	found := handles(text)
	if len(found) == 0 {
		return ids, nil
	}
	known, err := c.idsOf(ctx, slices.Concat(found...))
	if err != nil {
		return nil, err
	}
	for _, forms := range found {
		for _, name := range forms {
			if id := known[name]; id != "" {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
				break
			}
		}
	}
	return ids, nil
}

// idsOf maps user names to ids, as far as they exist.
func (c *Client) idsOf(ctx context.Context, names []string) (map[string]string, error) {
	known := map[string]string{}
	var missing []string
	for _, name := range names {
		if id, ok := c.names.Get(name); ok {
			known[name] = id
		} else if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	var users []user
	if err := c.ask(ctx, "users/usernames", missing, &users); err != nil {
		return nil, err
	}
	for _, name := range missing {
		c.names.Put(name, "")
	}
	for _, u := range users {
		known[c.learn(u).Username] = u.ID
	}
	return known, nil
}

// room is a channel, or a direct or group conversation.
type room struct {
	ID          string `json:"id"`
	Type        string `json:"type"` // O open, P private, D direct, G group
	Name        string `json:"name"` // of a direct channel: both ids, joined by "__"
	DisplayName string `json:"display_name"`
	DeleteAt    int64  `json:"delete_at"`
}

const (
	direct = "D"
	group  = "G"
)

// watched returns the ids of the chats to watch, requested anew.
func (c *Client) watched(ctx context.Context) (ids []string, err error) {
	if c.chats != nil {
		return slices.Collect(maps.Keys(c.chats)), nil
	}
	var rooms []room
	if err := c.get(ctx, "users/me/channels", nil, &rooms); err != nil {
		return nil, err
	}
	for _, r := range rooms {
		if r.DeleteAt == 0 && r.Type != direct && r.Type != group {
			ids = append(ids, r.ID)
			c.rooms.Put(r.ID, r)
		}
	}
	return ids, nil
}

// watches reports whether a chat is watched.
func (c *Client) watches(chatID string) bool { return c.chats == nil || c.chats[chatID] }

// room looks up a chat. If the bot cannot see it any more, only the id is set.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	if !validID(id) {
		return room{}, nil
	}
	return c.rooms.Ask(id, func() (r room, err error) {
		if err = c.get(ctx, "channels/"+id, nil, &r); httpapi.IsUnreadable(err) {
			return room{ID: id, Name: id}, nil
		}
		return r, err
	})
}

// title returns the display name of the chat.
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

// accepts reports whether a post is accepted: in a watched chat, not from outside unless that is
// allowed, and in a direct or group conversation only if it is watched by id.
func (c *Client) accepts(ctx context.Context, p *post) (bool, error) {
	if !c.watches(p.ChannelID) {
		return false, nil
	}
	if c.chats == nil {
		r, err := c.room(ctx, p.ChannelID)
		if err != nil || r.Type == direct || r.Type == group {
			return false, err
		}
	}
	if c.o.AllowExternal {
		return true, nil
	}
	u, err := c.person(ctx, p.UserID)
	return err == nil && !u.isExternal(), err
}
