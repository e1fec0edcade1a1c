package teams

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // Graph encrypts its keys so
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
)

const (
	subscriptionLife = 55 * time.Minute // for more than an hour Graph has further requirements
	renewBefore      = 25 * time.Minute
	maxNotices       = 1000 // in one call
)

// subscriptions are the change notifications of one Run: Graph sends the messages of each watched
// chat, encrypted for a key that exists only in this process.
// https://learn.microsoft.com/graph/api/resources/subscription
type subscriptions struct {
	private *rsa.PrivateKey
	cert    string // base64 of DER
	id      string // of the certificate
	state   string // a secret that each notification must contain

	mu      sync.Mutex
	cleared bool // the subscriptions of an earlier run are deleted
	byChat  map[string]subscription
}

type subscription struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expirationDateTime"`
	At      string    `json:"notificationUrl"`
}

func newSubscriptions(now time.Time) (*subscriptions, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("teams: key for notifications: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour),
		NotAfter: now.AddDate(2, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, fmt.Errorf("teams: certificate for notifications: %w", err)
	}
	sum := sha256.Sum256(der)
	return &subscriptions{private: private, cert: base64.StdEncoding.EncodeToString(der),
		id:    hex.EncodeToString(sum[:8]),
		state: rand.Text() + rand.Text(), byChat: map[string]subscription{}}, nil
}

// subscribe makes missing subscriptions and renews those that expire soon. A chat without a
// subscription is reported once and is read by activities.
func (l *listening) subscribe(ctx context.Context) error {
	if l.watch == nil {
		return nil
	}
	if err := l.deleteEarlier(ctx); err != nil {
		return err
	}
	chats, err := l.watched(ctx)
	if err != nil {
		return err
	}
	for _, id := range chats {
		l.watch.mu.Lock()
		have, ok := l.watch.byChat[id]
		l.watch.mu.Unlock()
		now := l.o.Now()
		if ok && have.Expires.Sub(now) > renewBefore {
			continue
		}
		made, err := l.subscribeTo(ctx, id, have, now)
		switch s := httpapi.StatusOf(err); {
		case err == nil:
			l.watch.mu.Lock()
			l.watch.byChat[id] = made
			l.watch.mu.Unlock()
		case session.IsPermanent(err) || ctx.Err() != nil:
			return err
		case s == http.StatusNotFound && ok:
			l.drop(have.ID)
			return fmt.Errorf("subscription for %s is gone: %w", id, err)
		default:
			l.LogOnce("subscribe "+id, "teams: no change notifications of chat %s: %v", id, err)
		}
	}
	return nil
}

// subscribeTo renews a subscription, or makes one.
func (l *listening) subscribeTo(ctx context.Context, chatID string, have subscription,
	now time.Time) (made subscription, err error) {
	expires := now.Add(subscriptionLife).UTC().Format(time.RFC3339)
	if have.ID != "" {
		err = l.graph.do(ctx, httpapi.Request{Method: http.MethodPatch,
			Path: "subscriptions/" + place(have.ID), JSON: map[string]any{"expirationDateTime": expires}},
			&made, l.graph.api.Read)
	} else {
		path, pathErr := l.messages(ctx, chatID)
		if pathErr != nil {
			return made, pathErr
		}
		base := strings.TrimRight(l.o.PublicURL, "/")
		err = l.graph.do(ctx, httpapi.Request{Method: http.MethodPost, Path: "subscriptions",
			JSON: map[string]any{
				"changeType": "created,updated,deleted", "resource": "/" + path, "includeResourceData": true,
				"clientState":     l.watch.state,
				"notificationUrl": base + pathNotices, "lifecycleNotificationUrl": base + pathLifecycle,
				"expirationDateTime":    expires,
				"encryptionCertificate": l.watch.cert, "encryptionCertificateId": l.watch.id,
			}}, &made, l.graph.api.Read)
	}
	if err == nil && made.ID == "" {
		err = errors.New("the answer has no id")
	}
	if made.Expires.IsZero() {
		made.Expires = now.Add(subscriptionLife)
	}
	return made, err
}

// deleteEarlier deletes the subscriptions of an earlier run: their key is lost, and Graph allows one per
// chat.
func (l *listening) deleteEarlier(ctx context.Context) error {
	if l.watch.cleared {
		return nil
	}
	var all []subscription
	if err := pages(ctx, l.graph, "subscriptions", nil, func(page []subscription) (bool, error) {
		all = append(all, page...)
		return true, nil
	}); err != nil {
		return fmt.Errorf("list subscriptions: %w", err)
	}
	for _, s := range all {
		if s.At != strings.TrimRight(l.o.PublicURL, "/")+pathNotices {
			continue
		}
		err := l.graph.do(ctx, httpapi.Request{Method: http.MethodDelete,
			Path: "subscriptions/" + place(s.ID)}, nil, l.graph.api.Read)
		if err != nil && httpapi.StatusOf(err) != http.StatusNotFound {
			return fmt.Errorf("end subscription %s: %w", s.ID, err)
		}
	}
	l.watch.cleared = true
	return nil
}

// drop forgets a subscription that Graph has ended.
func (l *listening) drop(id string) {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	for chatID, s := range l.watch.byChat {
		if s.ID == id {
			delete(l.watch.byChat, chatID)
		}
	}
}

// notices is the body of a call from Graph.
// https://learn.microsoft.com/graph/api/resources/changenotificationcollection
type notices struct {
	Value  []notice `json:"value"`
	Tokens []string `json:"validationTokens"`
}

type notice struct {
	Subscription string   `json:"subscriptionId"`
	State        string   `json:"clientState"`
	Change       string   `json:"changeType"`
	Lifecycle    string   `json:"lifecycleEvent"`
	Sealed       *content `json:"encryptedContent"`
}

// content is an encrypted message.
type content struct {
	Data      string `json:"data"`
	Signature string `json:"dataSignature"`
	Key       string `json:"dataKey"`
	Cert      string `json:"encryptionCertificateId"`
}

// handleNotice processes change notifications and returns 202 when their contents are durable.
func (l *listening) handleNotice(ctx context.Context, call *webhook.Call) webhook.Answer {
	if token := call.Query.Get("validationToken"); token != "" && len(token) < 4096 {
		// As text, and escaped, so that the response cannot be used as a web page of this host.
		return webhook.Answer{Type: "text/plain; charset=utf-8", Body: []byte(html.EscapeString(token))}
	}
	var n notices
	if json.Unmarshal(call.Body, &n) != nil || len(n.Value) > maxNotices {
		return webhook.Answer{Status: http.StatusBadRequest}
	}
	if !l.genuine(ctx, &n) {
		return webhook.Refused()
	}
	call.Proved()
	for _, x := range n.Value {
		if x.Lifecycle != "" {
			l.lifecycle(x)
			continue
		}
		chatID, ok := l.watch.chat(x.Subscription)
		if !ok {
			continue // of an earlier run: the history has it
		}
		m, err := l.watch.open(x.Sealed)
		if err != nil {
			return webhook.Refused()
		}
		if m.check() == nil && !l.Take(ctx, delivery{chatID: chatID, message: m}) {
			return webhook.Answer{Status: http.StatusServiceUnavailable}
		}
	}
	return webhook.Answer{Status: http.StatusAccepted}
}

// genuine reports whether the whole call is from Graph: it contains the shared state and, for
// encrypted data, a valid token of the sender.
func (l *listening) genuine(ctx context.Context, n *notices) bool {
	sealed := false
	for _, x := range n.Value {
		if !webhook.Equal(x.State, l.watch.state) {
			return false
		}
		sealed = sealed || x.Sealed != nil
	}
	if sealed && len(n.Tokens) == 0 || len(n.Tokens) > 20 {
		return false
	}
	for _, t := range n.Tokens {
		if l.fromGraph(ctx, t) != nil {
			return false
		}
	}
	return true
}

// lifecycle marks a subscription to be renewed, or to be made again.
func (l *listening) lifecycle(x notice) {
	switch x.Lifecycle {
	case "subscriptionRemoved", "missed":
		l.drop(x.Subscription)
	case "reauthorizationRequired": // a renewal also reauthorizes
		l.watch.mu.Lock()
		defer l.watch.mu.Unlock()
		for id, s := range l.watch.byChat {
			if s.ID == x.Subscription {
				s.Expires = time.Time{}
				l.watch.byChat[id] = s
			}
		}
	}
}

// chat returns the chat of a subscription.
func (w *subscriptions) chat(id string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for chatID, s := range w.byChat {
		if s.ID == id {
			return chatID, true
		}
	}
	return "", false
}

// errSealed gives no reason, so that an attacker learns nothing from it.
var errSealed = errors.New("encrypted content cannot be opened")

// exact decodes base64 strictly: no unused bits may be set.
var exact = base64.StdEncoding.Strict()

// open decrypts a message: it decrypts the key by RSA-OAEP, then verifies the signature over the
// encrypted bytes, and only then decrypts these.
func (w *subscriptions) open(c *content) (*message, error) {
	if c == nil || c.Cert != w.id {
		return nil, errSealed
	}
	wrapped, err1 := exact.DecodeString(c.Key)
	signature, err2 := exact.DecodeString(c.Signature)
	data, err3 := exact.DecodeString(c.Data)
	if err1 != nil || err2 != nil || err3 != nil || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errSealed
	}
	secret, err := rsa.DecryptOAEP(sha1.New(), nil, w.private, wrapped, nil)
	if err != nil || len(secret) < aes.BlockSize {
		return nil, errSealed
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(data)
	if !hmac.Equal(mac.Sum(nil), signature) {
		return nil, errSealed
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, errSealed
	}
	text := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, secret[:aes.BlockSize]).CryptBlocks(text, data)
	pad := int(text[len(text)-1])
	if pad == 0 || pad > aes.BlockSize || pad > len(text) {
		return nil, errSealed
	}
	m := new(message)
	if json.Unmarshal(text[:len(text)-pad], m) != nil {
		return nil, errSealed
	}
	return m, nil
}
