package teams

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/webhook"
)

const (
	keyLife     = 24 * time.Hour  // keys are asked for anew after it
	keyPatience = 3 * time.Minute // and, for one that we do not know, not before it
	maxToken    = 16 << 10        // bytes
)

// strict decodes base64url of which every bit counts.
var strict = base64.RawURLEncoding.Strict()

// claims are what a token says.
type claims struct {
	Issuer     string `json:"iss"`
	Audience   string `json:"aud"`
	Expires    int64  `json:"exp"`
	NotBefore  int64  `json:"nbf"`
	ServiceURL string `json:"serviceurl"`
	App        string `json:"appid"`
	Party      string `json:"azp"`
}

// keys are those of one issuer, as its OpenID metadata names them.
type keys struct {
	api  *httpapi.Client
	path string
	now  func() time.Time

	mu    sync.Mutex
	known map[string]key
	asked time.Time // when they were last asked for
}

type key struct {
	public       *rsa.PublicKey
	endorsements []string // the channels that its holder may speak for
}

func (c *Client) newKeys(address string) (*keys, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("openid_url %q: %w", address, err)
	}
	api, err := c.web(origin(address), nil)
	return &keys{api: api, path: u.EscapedPath(), now: c.o.Now}, err
}

// verify checks a token's signature and times, and gives what it says and the key
// that signed it. https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
func (k *keys) verify(ctx context.Context, token string) (claims, key, error) {
	var said claims
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return said, key{}, errors.New("not a token")
	}
	var header struct {
		Algorithm string `json:"alg"`
		ID        string `json:"kid"`
	}
	if err := decode(parts[0], &header); err != nil || header.Algorithm != "RS256" || header.ID == "" {
		return said, key{}, fmt.Errorf("header: algorithm %q: want RS256 and a key id", header.Algorithm)
	}
	signature, err := strict.DecodeString(parts[2])
	if err != nil {
		return said, key{}, fmt.Errorf("signature: %w", err)
	}
	signer, err := k.find(ctx, header.ID)
	if err != nil {
		return said, key{}, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(signer.public, crypto.SHA256, sum[:], signature); err != nil {
		return said, key{}, fmt.Errorf("signature: %w", err)
	}
	if err := decode(parts[1], &said); err != nil {
		return said, key{}, fmt.Errorf("claims: %w", err)
	}
	switch now := k.now(); {
	case said.Expires == 0 || now.After(time.Unix(said.Expires, 0).Add(webhook.Window)):
		return said, key{}, errors.New("expired")
	case now.Before(time.Unix(said.NotBefore, 0).Add(-webhook.Window)):
		return said, key{}, errors.New("not valid yet: is this machine's clock right?")
	}
	return said, signer, nil
}

func decode(part string, out any) error {
	b, err := strict.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// find is the key with an id. One that we do not know may be new.
func (k *keys) find(ctx context.Context, id string) (key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.known[id]
	if age := k.now().Sub(k.asked); age > keyLife || !ok && age > keyPatience {
		if known, err := k.fetch(ctx); err == nil {
			k.known, k.asked = known, k.now()
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

// fetch asks for the keys: the metadata says where they are.
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
	if err := at.Read(ctx, httpapi.Request{Method: http.MethodGet, Path: u.EscapedPath(), Query: u.Query()}, &set); err != nil {
		return nil, err
	}
	known := map[string]key{}
	for _, j := range set.Keys {
		n, err1 := base64.RawURLEncoding.DecodeString(j.N)
		e, err2 := base64.RawURLEncoding.DecodeString(j.E)
		if err1 != nil || err2 != nil || j.Type != "RSA" || len(n) < 256 || len(n) > 1024 || len(e) == 0 || len(e) > 4 {
			continue
		}
		known[j.ID] = key{public: &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, endorsements: j.Endorsements}
	}
	if len(known) == 0 {
		return nil, errors.New("the issuer has no RSA key")
	}
	return known, nil
}

// fromBotFramework checks the Authorization of a call that brings activity a.
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
	case said.Audience != c.o.AppID:
		return fmt.Errorf("meant for %q", said.Audience)
	case a.ChannelID != "msteams" || !slices.Contains(signer.endorsements, "msteams"):
		return fmt.Errorf("the key is not for channel %q", a.ChannelID)
	case said.ServiceURL == "" || said.ServiceURL != a.ServiceURL:
		return fmt.Errorf("service %q, and the activity names %q", said.ServiceURL, a.ServiceURL)
	}
	return nil
}

// changeTracker is the application that sends change notifications.
const changeTracker = "0bf30f3b-4a52-48df-9a82-234910c4a086"

// fromGraph checks a validation token of a notification with resource data.
// https://learn.microsoft.com/graph/change-notifications-with-resource-data
func (c *Client) fromGraph(ctx context.Context, token string) error {
	said, _, err := c.notices.verify(ctx, token)
	v1, v2 := "https://sts.windows.net/"+c.o.Tenant+"/", "https://login.microsoftonline.com/"+c.o.Tenant+"/v2.0"
	switch {
	case err != nil:
		return err
	case said.Issuer != v1 && said.Issuer != v2:
		return fmt.Errorf("issuer %q", said.Issuer)
	case said.Audience != c.o.AppID:
		return fmt.Errorf("meant for %q", said.Audience)
	case said.App != changeTracker && said.Party != changeTracker:
		return errors.New("not from the sender of change notifications")
	}
	return nil
}
