package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"tri/lib/draft"
)

// account is what GET /users/me tells, of Mattermost's API reference, Users.
type account struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	IsBot    bool   `json:"is_bot"`
}

func (x *examination) mattermost(ctx context.Context) {
	const name = "chat mattermost"
	m := x.config.Chat.Mattermost
	token, err := x.config.Secret(m.TokenEnv, m.TokenFile)
	if err != nil {
		x.failed("token", "", err)
		return
	}
	x.ok("token", "there is one for mattermost") // never more than that
	me, err := x.me(ctx, m.URL, token)
	if err != nil {
		fix := ""
		if status := new(statusError); errors.As(err, &status) && status.code == http.StatusUnauthorized {
			fix = "make a new token for the bot account"
		}
		x.failed(name, fix, err)
		return
	}
	who := draft.Visible(me.Username)
	switch c := x.config.Classifier; {
	case me.ID != c.BotID && !slices.Contains(c.BotIDs, me.ID):
		x.warn(name, fmt.Sprintf("classifier.bot_id: %s", draft.Visible(me.ID)), "we are %s there, which the classifier does not know for ourselves", who)
	case !me.IsBot:
		x.warn(name, "make a bot account", "%s is a person's account", who)
	default:
		x.ok(name, "%s as %s", m.URL, who)
	}
}

type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("status %d %s", e.code, http.StatusText(e.code))
}

// me asks the server who we are. No error tells the token.
func (x *examination) me(ctx context.Context, url, token string) (*account, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/api/v4/users/me", nil)
	if err != nil {
		return nil, fmt.Errorf("reach mattermost: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := x.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach mattermost: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask mattermost who we are: %w", &statusError{resp.StatusCode})
	}
	me := new(account)
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(me); err != nil || me.ID == "" {
		return nil, fmt.Errorf("ask mattermost who we are: this is no Mattermost server (%v)", err)
	}
	return me, nil
}
