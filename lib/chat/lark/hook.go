package lark

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/text"
	"tri/lib/chat/webhook"
)

// serve receives events by webhook
// (https://open.larksuite.com/document/server-docs/event-subscription-guide/event-subscription-configure-/request-url-configuration-case).
// A call is answered when its event is durable; the platform repeats calls that are not answered
// within three seconds, up to four times in six hours.
func (l *listening) serve(ctx context.Context) error {
	h := &hooked{key: l.o.EncryptKey, token: l.o.Token, Intake: webhook.NewIntake[gjson.Result](),
		Stamps: stamps(l.o.EncryptKey, l.api.Now)}
	return h.Run(ctx, l.o.Listener, l.o.Listen, h.plausible, h.handle, func(ctx context.Context) error {
		return l.loop(ctx, func(ctx context.Context) error { return l.receive(ctx, h.In) })
	})
}

// hooked handles the platform's calls.
type hooked struct {
	key, token string
	webhook.Intake[gjson.Result]
	webhook.Stamps
}

// handle answers one call. Every call is encrypted; all but the handshake are also signed.
func (h *hooked) handle(ctx context.Context, c *webhook.Call) webhook.Answer {
	plain, err := decrypt(str(gjson.ParseBytes(c.Body), "encrypt"), h.key)
	if c.Method != http.MethodPost || err != nil || !json.Valid(plain) {
		return webhook.Refused()
	}
	payload := gjson.ParseBytes(plain)
	if str(payload, "type") == "url_verification" {
		return h.verify(payload)
	}
	if !h.Verify(c) || !webhook.Equal(str(payload, "header.token"), h.token) {
		return webhook.Refused()
	}
	c.Proved()
	if !h.Take(ctx, payload) {
		return webhook.Answer{Status: http.StatusServiceUnavailable}
	}
	h.Keep(c)
	return webhook.Answer{Type: "application/json", Body: []byte("{}")}
}

// verify answers the handshake, by which the platform verifies the address.
func (h *hooked) verify(payload gjson.Result) webhook.Answer {
	b, err := json.Marshal(map[string]string{"challenge": str(payload, "challenge")})
	if err != nil || !webhook.Equal(str(payload, "token"), h.token) {
		return webhook.Refused()
	}
	return webhook.Answer{Type: "application/json", Body: b}
}

// plausible reports whether a call can be from the platform: the signature has the right form and
// the time is current, or the call is as small as the handshake, which has no signature.
func (h *hooked) plausible(c *webhook.Call) bool {
	return h.Plausible(c) || c.Size >= 0 && c.Size <= 4<<10
}

func stamps(key string, now func() time.Time) webhook.Stamps {
	return webhook.Stamps{
		Time: "X-Lark-Request-Timestamp", Signature: "X-Lark-Signature", Size: 2 * sha256.Size, Now: now,
		Valid: func(c *webhook.Call, at, signature string) bool {
			nonce := c.Header.Get("X-Lark-Request-Nonce")
			return webhook.Equal(signature, text.SHA256(at+nonce+key+string(c.Body)))
		},
	}
}

var errCipher = errors.New("is not encrypted with our key")

// decrypt decodes base64 and decrypts AES-256 in CBC mode; the initialization vector comes first.
// The key is the SHA-256 of the configured one.
func decrypt(text, secret string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) < 2*aes.BlockSize || len(b)%aes.BlockSize != 0 {
		return nil, errCipher
	}
	key := sha256.Sum256([]byte(secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(b)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, b[:aes.BlockSize]).CryptBlocks(plain, b[aes.BlockSize:])
	n := int(plain[len(plain)-1]) // PKCS #7
	if n == 0 || n > aes.BlockSize {
		return nil, errCipher
	}
	for _, c := range plain[len(plain)-n:] {
		if int(c) != n {
			return nil, errCipher
		}
	}
	return plain[:len(plain)-n], nil
}
