package mattermost

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// maxKnown bounds what is remembered of people and of names that are nobody's.
// Past it everything is forgotten and asked again.
const maxKnown = 20000

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	IsBot    bool   `json:"is_bot"`
	Roles    string `json:"roles"`     // "system_user", "system_guest", with spaces between
	RemoteID string `json:"remote_id"` // set: somebody of another server, in a shared channel
}

// outside reports whether the account is a guest's or another server's.
func (u *user) outside() bool {
	return u.RemoteID != "" || slices.Contains(strings.Fields(u.Roles), "system_guest")
}

// people is what we know of accounts. byName maps a user name to an id, "" when
// nobody has it. Client.mu guards it.
type people struct {
	byID   map[string]user
	byName map[string]string
}

func (p *people) keep(u user) {
	u.Username = strings.ToLower(u.Username)
	p.byID[u.ID] = u
	p.keepName(u.Username, u.ID)
}

func (p *people) keepName(name, id string) {
	if len(p.byName) >= maxKnown {
		clear(p.byName)
		clear(p.byID)
	}
	p.byName[name] = id
}

// person looks an account up. It is no reason to lose a message that the server
// does not tell now who wrote it: then only the id is known.
func (c *Client) person(ctx context.Context, id string) (user, error) {
	c.mu.Lock()
	u, ok := c.people.byID[id]
	c.mu.Unlock()
	if ok || !validID(id) {
		return u, nil
	}
	err := c.get(ctx, "users/"+id, nil, &u)
	switch {
	case statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusForbidden:
		u = user{ID: id}
	case err != nil:
		return user{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.people.keep(u)
	return u, nil
}

// handle finds what could be user names: lower case letters, digits, and '.',
// '-', '_' (model.IsValidUsername), at most 64 long.
var handle = regexp.MustCompile(`(?i)(?:^|[^\w@])@([a-z0-9][a-z0-9._-]{0,63})`)

// maxMentions of one message are looked up; nobody addresses more.
const maxMentions = 50

// handles are the names that text may mention, each with and without the dots,
// dashes and underscores that may belong to the sentence instead, as the server
// tries them.
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

// mentions are the ids of the people whom text addresses, in order.
func (c *Client) mentions(ctx context.Context, text string) ([]string, error) {
	ids := []string{}
	found := handles(text)
	if len(found) == 0 {
		return ids, nil
	}
	known, err := c.names(ctx, slices.Concat(found...))
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

// names maps user names to ids, as far as they are anybody's.
func (c *Client) names(ctx context.Context, names []string) (map[string]string, error) {
	known := map[string]string{}
	var missing []string
	c.mu.Lock()
	for _, name := range names {
		id, ok := c.people.byName[name]
		if ok {
			known[name] = id
		} else if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return known, nil
	}
	var users []user
	if err := c.ask(ctx, "users/usernames", missing, &users); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range missing {
		c.people.keepName(name, "")
	}
	for _, u := range users {
		c.people.keep(u)
		known[strings.ToLower(u.Username)] = u.ID
	}
	return known, nil
}
