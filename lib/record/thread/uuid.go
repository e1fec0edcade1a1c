package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// UUID identifies the item of a key in a fixed length: RFC 9562, version 8, of the key's SHA-256.
func UUID(key string) string {
	b := sha256.Sum256([]byte(key))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
