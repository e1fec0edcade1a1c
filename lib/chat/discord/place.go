package discord

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tri/lib/base/httpapi"
)

// Types of channels (resources/channel#channel-object-channel-types).
const (
	kindText          = 0
	kindDirect        = 1
	kindVoice         = 2 // also has a text chat
	kindGroup         = 3
	kindAnnouncement  = 5
	kindNewsThread    = 10
	kindPublicThread  = 11
	kindPrivateThread = 12
	kindStage         = 13
	kindForum         = 15
	kindMedia         = 16
)

// place is a channel, a thread (a channel whose parent is the chat) or a private conversation.
type place struct {
	ID         string `json:"id"`
	Kind       int    `json:"type"`
	Guild      string `json:"guild_id"`
	Parent     string `json:"parent_id"` // of a channel the category, of a thread the chat
	Name       string `json:"name"`
	Last       string `json:"last_message_id"`
	Recipients []user `json:"recipients"`
	Overwrites []struct {
		ID    string `json:"id"`
		Allow string `json:"allow"`
		Deny  string `json:"deny"`
	} `json:"permission_overwrites"`
	Thread struct {
		Archived   bool   `json:"archived"`
		ArchivedAt string `json:"archive_timestamp"`
	} `json:"thread_metadata"`
}

func (p *place) isThread() bool {
	return p.Kind == kindNewsThread || p.Kind == kindPublicThread || p.Kind == kindPrivateThread
}

func (p *place) isPrivate() bool {
	return p.Kind == kindDirect || p.Kind == kindGroup || p.Kind == kindPrivateThread
}

// hasMessages reports whether the place can contain messages; in a forum only its threads do.
func (p *place) hasMessages() bool {
	switch p.Kind {
	case kindText, kindDirect, kindVoice, kindGroup, kindAnnouncement, kindStage:
		return true
	}
	return p.isThread()
}

func (p *place) hasThreads() bool {
	switch p.Kind {
	case kindText, kindAnnouncement, kindForum, kindMedia:
		return true
	}
	return false
}

// chat returns the id of the chat: the place itself, or the parent of a thread.
func (p *place) chat() string {
	if p.isThread() && p.Parent != "" {
		return p.Parent
	}
	return p.ID
}

type role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions string `json:"permissions"`
	Tags        struct {
		Bot string `json:"bot_id"`
	} `json:"tags"`
}

func (c *Client) keep(p place) {
	if validID(p.ID) {
		c.places.Put(p.ID, p)
	}
}

func (c *Client) keepRoles(guild string, roles []role) map[string]role {
	all := make(map[string]role, len(roles))
	for _, r := range roles {
		all[r.ID] = r
	}
	c.roles.Put(guild, all)
	return all
}

// place looks up a channel. If the bot may not see it, only the id is set.
func (c *Client) place(ctx context.Context, id string) (place, error) {
	p, ok := c.places.Get(id)
	if ok || !validID(id) {
		return p, nil
	}
	switch err := c.get(ctx, "channels/"+id, nil, &p); {
	case httpapi.IsUnreadable(err) || httpapi.StatusOf(err) == http.StatusBadRequest:
		return place{ID: id}, nil // anybody can write <#ID>
	case err != nil:
		return place{}, err
	}
	c.keep(p)
	return p, nil
}

// role looks up a role; its name is "" if it is unknown.
func (c *Client) role(ctx context.Context, guild, id string) (role, error) {
	all, ok := c.roles.Get(guild)
	if ok || !validID(guild) {
		return all[id], nil
	}
	var roles []role
	if err := c.get(ctx, "guilds/"+guild+"/roles", nil, &roles); err != nil && !httpapi.IsUnreadable(err) {
		return role{}, err
	}
	return c.keepRoles(guild, roles)[id], nil
}

// accepts reports whether messages in a place are to be read: in a watched chat or a thread of one;
// in a private place only if it is watched by its own id.
func (c *Client) accepts(p *place) bool {
	switch {
	case c.chats[p.ID]:
		return true
	case p.isPrivate():
		return false
	case c.chats == nil:
		return p.Guild != ""
	}
	return c.chats[p.chat()]
}

// watched returns the places whose history is to be read: chats, and their threads with messages
// after since. The list is requested anew.
func (c *Client) watched(ctx context.Context, since func(chatID string) time.Time) ([]place, error) {
	guilds, chats, err := c.watchedChats(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]place{}
	for _, p := range chats {
		if p.hasMessages() {
			all[p.ID] = p
		}
		if !p.hasThreads() {
			continue
		}
		old, err := c.archived(ctx, p.ID, since(p.ID))
		if err != nil && !httpapi.IsUnreadable(err) {
			return nil, err
		}
		for _, t := range old {
			all[t.ID] = t
		}
	}
	for _, guild := range guilds {
		threads, err := c.active(ctx, guild)
		if err != nil && !httpapi.IsUnreadable(err) {
			return nil, err
		}
		for _, t := range threads {
			if c.accepts(&t) {
				all[t.ID] = t
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b place) int { return compareID(a.ID, b.ID) }), nil
}

// watchedChats returns the chats to watch and the guilds that they belong to.
func (c *Client) watchedChats(ctx context.Context) (guilds []string, chats []place, err error) {
	add := func(p place) {
		chats = append(chats, p)
		if p.Guild != "" && !slices.Contains(guilds, p.Guild) {
			guilds = append(guilds, p.Guild)
		}
	}
	for id := range c.chats {
		c.places.Forget(id) // its newest message has changed
		p, err := c.place(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		add(p)
	}
	if c.chats != nil {
		return guilds, chats, nil
	}
	mine, err := c.guilds(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, guild := range mine {
		var channels []place
		if err := c.get(ctx, "guilds/"+guild+"/channels", nil, &channels); err != nil && !httpapi.IsUnreadable(err) {
			return nil, nil, err
		}
		for _, p := range channels {
			if p.Guild = guild; p.hasMessages() || p.hasThreads() {
				c.keep(p)
				add(p)
			}
		}
	}
	return guilds, chats, nil
}

// guilds returns the ids of the servers that the bot is a member of.
func (c *Client) guilds(ctx context.Context) (ids []string, err error) {
	const page = 200
	after := "0"
	for {
		var some []place
		if err := c.get(ctx, "users/@me/guilds", url.Values{"limit": {strconv.Itoa(page)}, "after": {after}},
			&some); err != nil {
			return nil, err
		}
		for _, g := range some {
			if validID(g.ID) {
				ids, after = append(ids, g.ID), g.ID
			}
		}
		if len(some) < page {
			return ids, nil
		}
	}
}

type threads struct {
	Threads []place `json:"threads"`
	More    bool    `json:"has_more"`
}

// active returns the threads of a guild that are not archived.
func (c *Client) active(ctx context.Context, guild string) ([]place, error) {
	var l threads
	if err := c.get(ctx, "guilds/"+guild+"/threads/active", nil, &l); err != nil {
		return nil, err
	}
	for i := range l.Threads {
		l.Threads[i].Guild = guild
		c.keep(l.Threads[i])
	}
	return l.Threads, nil
}

// archived returns the public threads of a chat that were archived after since: one archived
// earlier has no newer message.
func (c *Client) archived(ctx context.Context, chatID string, since time.Time) (all []place, err error) {
	q := url.Values{"limit": {"100"}}
	for {
		var l threads
		if err := c.get(ctx, "channels/"+chatID+"/threads/archived/public", q, &l); err != nil {
			return all, err
		}
		for _, t := range l.Threads {
			at, err := time.Parse(time.RFC3339Nano, t.Thread.ArchivedAt)
			if err != nil || at.Before(since) {
				return all, nil // newest first
			}
			q.Set("before", t.Thread.ArchivedAt)
			c.keep(t)
			all = append(all, t)
		}
		if !l.More || len(l.Threads) == 0 {
			return all, nil
		}
	}
}

// where returns the place that contains a message of a chat: the chat itself or a thread of it. The
// message is nil if it was deleted.
func (c *Client) where(ctx context.Context, chatID, messageID string) (string, *message, error) {
	read := func(place string) (*message, error) {
		m := new(message)
		err := c.get(ctx, "channels/"+place+"/messages/"+messageID, nil, m)
		if httpapi.StatusOf(err) == http.StatusNotFound || httpapi.StatusOf(err) == http.StatusBadRequest {
			return nil, nil // a forum has no messages of its own: that is status 400
		}
		return m, err
	}
	if !validID(chatID) || !validID(messageID) {
		return "", nil, nil
	}
	m, err := read(chatID)
	if err != nil || m != nil && m.ID == messageID && m.Kind != typeStarter {
		return chatID, m, err
	}
	p, err := c.place(ctx, chatID)
	if err != nil || !p.hasThreads() {
		return "", nil, err
	}
	found, err := c.active(ctx, p.Guild)
	if err != nil && !httpapi.IsUnreadable(err) {
		return "", nil, err
	}
	old, err := c.archived(ctx, chatID, createdAt(messageID))
	if err != nil && !httpapi.IsUnreadable(err) {
		return "", nil, err
	}
	for _, t := range append(found, old...) {
		// The message is not older than its thread, nor newer than the thread's newest message.
		if t.Parent != chatID || compareID(t.ID, messageID) > 0 ||
			t.Last != "" && compareID(t.Last, messageID) < 0 {
			continue
		}
		if m, err := read(t.ID); err != nil || m != nil && m.ID == messageID {
			return t.ID, m, err
		}
	}
	return "", nil, nil
}
