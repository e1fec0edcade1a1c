package teams

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tri/lib/base/httpapi"
	"tri/lib/chat/webhook"
)

const (
	keyLife     = 24 * time.Hour   // age at which keys are fetched again
	keyPatience = 3 * time.Minute  // minimum age for fetching them again because of an unknown key
	keyRest     = 10 * time.Second // after a failed fetch, during which all calls wait
	maxToken    = 16 << 10         // bytes
)

// claims are the claims of a token.
type claims struct {
	jwt.RegisteredClaims
	ServiceURL string `json:"serviceurl"`
	App        string `json:"appid"`
	Party      string `json:"azp"`
}

// keys are the keys of one issuer, found by its OpenID metadata.
type keys struct {
	api    *httpapi.Client
	path   string
	now    func() time.Time
	parser *jwt.Parser

	mu    sync.Mutex
	known map[string]key
	asked time.Time // when they were last fetched
	due   time.Time // not fetched again before
}

type key struct {
	public       *rsa.PublicKey
	endorsements []string // the channels that its holder may sign for
}

func (c *Client) newKeys(address string) (*keys, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("openid_url %q: %w", address, err)
	}
	api, err := c.web(origin(address), nil)
	return &keys{api: api, path: u.EscapedPath(), now: c.o.Now, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithStrictDecoding(), jwt.WithAudience(c.o.AppID),
		jwt.WithExpirationRequired(), jwt.WithLeeway(webhook.Window), jwt.WithTimeFunc(c.o.Now))}, err
}

// verify checks a token's signature, times and audience, and returns its claims and the key that
// signed it. Neither go-oidc (RemoteKeySet) nor keyfunc returns that key or its endorsements.
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
func (k *keys) verify(ctx context.Context, token string) (said claims, signer key, err error) {
	if len(token) > maxToken {
		return said, key{}, errors.New("not a token")
	}
	_, err = k.parser.ParseWithClaims(token, &said, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if id == "" {
			return nil, errors.New("no key id")
		}
		var err error
		signer, err = k.find(ctx, id)
		return signer.public, err
	})
	return said, signer, err
}

// find returns the key with an id. The keys are fetched again if the id is unknown.
func (k *keys) find(ctx context.Context, id string) (key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.known[id]
	if now := k.now(); !now.Before(k.due) && (!ok || now.Sub(k.asked) > keyLife) {
		known, err := k.fetch(ctx)
		if k.due = k.now().Add(keyRest); err == nil {
			k.known, k.asked, k.due = known, k.now(), k.now().Add(keyPatience)
			found, ok = known[id]
		} else if !ok {
			return key{}, fmt.Errorf("keys: %w", err)
		}
	}
	if !ok {
		return key{}, errors.New("signed with a key that the issuer does not have")
	}
	return found, nil
}

// fetch requests the keys from the address in the metadata.
func (k *keys) fetch(ctx context.Context) (map[string]key, error) {
	var meta struct {
		URI string `json:"jwks_uri"`
	}
	if err := k.api.Read(ctx, httpapi.Request{Method: http.MethodGet, Path: k.path}, &meta); err != nil {
		return nil, err
	}
	u, err := url.Parse(meta.URI)
	if err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
		return nil, fmt.Errorf("keys are at %q: want https", meta.URI)
	}
	at, err := httpapi.New(httpapi.Options{Base: origin(meta.URI), Now: k.now})
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []struct {
			ID           string   `json:"kid"`
			Type         string   `json:"kty"`
			N            string   `json:"n"`
			E            string   `json:"e"`
			Endorsements []string `json:"endorsements"`
		} `json:"keys"`
	}
	if err := at.Read(ctx, httpapi.Request{Method: http.MethodGet, Path: u.EscapedPath(), Query: u.Query()},
		&set); err != nil {
		return nil, err
	}
	known := map[string]key{}
	for _, j := range set.Keys {
		n, err1 := base64.RawURLEncoding.DecodeString(j.N)
		e, err2 := base64.RawURLEncoding.DecodeString(j.E)
		if err1 != nil || err2 != nil || j.Type != "RSA" || len(n) < 256 || len(n) > 1024 ||
			len(e) == 0 || len(e) > 4 {
			continue
		}
		known[j.ID] = key{public: &rsa.PublicKey{N: new(big.Int).SetBytes(n),
			E: int(new(big.Int).SetBytes(e).Int64())}, endorsements: j.Endorsements}
	}
	if len(known) == 0 {
		return nil, errors.New("the issuer has no RSA key")
	}
	return known, nil
}

// fromBotFramework checks the Authorization header of a call that contains activity a.
func (c *Client) fromBotFramework(ctx context.Context, authorization string, a *activity) error {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return errors.New("no token")
	}
	said, signer, err := c.bot.verify(ctx, token)
	switch {
	case err != nil:
		return err
	case said.Issuer != "https://api.botframework.com":
		return fmt.Errorf("issuer %q", said.Issuer)
	case a.ChannelID != "msteams" || !slices.Contains(signer.endorsements, "msteams"):
		return fmt.Errorf("the key is not for channel %q", a.ChannelID)
	case said.ServiceURL == "" || said.ServiceURL != a.ServiceURL:
		return fmt.Errorf("service %q, and the activity names %q", said.ServiceURL, a.ServiceURL)
	}
	return nil
}

// changeTracker is the id of the application that sends change notifications.
const changeTracker = "0bf30f3b-4a52-48df-9a82-234910c4a086"

// fromGraph checks a validation token of a notification with resource data.
// https://learn.microsoft.com/graph/change-notifications-with-resource-data
func (c *Client) fromGraph(ctx context.Context, token string) error {
	said, _, err := c.notices.verify(ctx, token)
	v1, v2 := "https://sts.windows.net/"+c.o.Tenant+"/",
		"https://login.microsoftonline.com/"+c.o.Tenant+"/v2.0"
	switch {
	case err != nil:
		return err
	case said.Issuer != v1 && said.Issuer != v2:
		return fmt.Errorf("issuer %q", said.Issuer)
	case said.App != changeTracker && said.Party != changeTracker:
		return errors.New("not from the sender of change notifications")
	}
	return nil
}
