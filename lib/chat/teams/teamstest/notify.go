package teamstest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// subscription is a subscription of Graph.
type subscription struct {
	ID, Resource, At, Lifecycle, State, CertID string
	Expires                                    string
	key                                        *rsa.PublicKey
}

// subscribe handles /subscriptions. Both addresses are validated before a subscription is made,
// while the request waits.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request, words []string) {
	switch {
	case r.Method == http.MethodGet:
		all := []M{}
		for _, x := range s.subscriptions {
			all = append(all, x.json())
		}
		answer(w, 200, M{"value": all})
		return
	case r.Method == http.MethodPost:
		s.newSubscription(w, r)
		return
	}
	x := s.subscriptions[words[0]]
	switch {
	case x == nil:
		refuse(w, http.StatusNotFound, "ResourceNotFound")
	case r.Method == http.MethodDelete:
		delete(s.subscriptions, words[0])
		w.WriteHeader(http.StatusNoContent)
	default:
		var in M
		_ = json.NewDecoder(r.Body).Decode(&in)
		x.Expires, _ = in["expirationDateTime"].(string)
		answer(w, 200, x.json())
	}
}

func (x *subscription) json() M {
	return M{"id": x.ID, "resource": x.Resource, "notificationUrl": x.At, "expirationDateTime": x.Expires}
}

func (s *Server) newSubscription(w http.ResponseWriter, r *http.Request) {
	var in M
	_ = json.NewDecoder(r.Body).Decode(&in)
	str := func(name string) string { v, _ := in[name].(string); return v }
	x := &subscription{ID: fmt.Sprintf("sub-%d", len(s.subscriptions)+1), Resource: str("resource"),
		At: str("notificationUrl"), Lifecycle: str("lifecycleNotificationUrl"),
		State: str("clientState"), CertID: str("encryptionCertificateId"), Expires: str("expirationDateTime")}
	der, _ := base64.StdEncoding.DecodeString(str("encryptionCertificate"))
	cert, err := x509.ParseCertificate(der)
	if err != nil || len(x.State) > 128 {
		refuse(w, http.StatusBadRequest, "ExtensionError")
		return
	}
	for _, old := range s.subscriptions {
		if old.Resource == x.Resource {
			refuse(w, http.StatusConflict, "ExtensionError")
			return
		}
	}
	x.key = cert.PublicKey.(*rsa.PublicKey)
	s.mu.Unlock()
	good := reachable(x.At) && reachable(x.Lifecycle)
	s.mu.Lock()
	if !good {
		refuse(w, http.StatusBadRequest, "ValidationError")
		return
	}
	s.subscriptions[x.ID] = x
	answer(w, http.StatusCreated, x.json())
}

// reachable requests that an address return a token, as text.
func reachable(address string) bool {
	const token = "Validation: Testing client application reachability for subscription Request-Id: 1"
	resp, err := http.Post(address+"?validationToken="+url.QueryEscape(token), "text/plain", nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode == 200 && string(b) == token &&
		strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain")
}

// notify sends a notification to the subscribers of a chat, and repeats it until it is accepted.
func (s *Server) notify(m *Message, _ string) {
	for _, x := range s.subscriptions {
		if !strings.Contains(x.Resource, url.PathEscape(m.Chat)) && !strings.Contains(x.Resource, m.Chat) {
			continue
		}
		body := s.Notification(x.ID, x.State, x.CertID, x.key, s.message(m))
		s.done.Go(func() {
			for {
				resp, err := http.Post(x.At, "application/json", bytes.NewReader(body))
				if err == nil {
					resp.Body.Close()
				}
				if err == nil && resp.StatusCode == http.StatusAccepted {
					return
				}
				select {
				case <-s.end:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
}

// Notification returns a change notification with an encrypted message.
func (s *Server) Notification(id, state, certID string, key *rsa.PublicKey, message M) []byte {
	text, _ := json.Marshal(message)
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	pad := aes.BlockSize - len(text)%aes.BlockSize
	text = append(text, bytes.Repeat([]byte{byte(pad)}, pad)...)
	block, _ := aes.NewCipher(secret)
	data := make([]byte, len(text))
	cipher.NewCBCEncrypter(block, secret[:aes.BlockSize]).CryptBlocks(data, text)
	mac := hmac.New(sha256.New, secret)
	mac.Write(data)
	wrapped, _ := rsa.EncryptOAEP(sha1.New(), rand.Reader, key, secret, nil)
	encode := base64.StdEncoding.EncodeToString
	body, _ := json.Marshal(M{
		"validationTokens": []string{s.GraphToken()},
		"value": []M{{"subscriptionId": id, "clientState": state, "changeType": "created", "tenantId": Tenant,
			"encryptedContent": M{"data": encode(data), "dataSignature": encode(mac.Sum(nil)),
				"dataKey": encode(wrapped), "encryptionCertificateId": certID}}},
	})
	return body
}

// GraphToken returns the token of the sender of notifications.
func (s *Server) GraphToken() string {
	return s.Token(M{"iss": "https://sts.windows.net/" + Tenant + "/",
		"appid": "0bf30f3b-4a52-48df-9a82-234910c4a086"})
}
