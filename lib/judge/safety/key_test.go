package safety

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Keys are put together here, so that no scanner of repositories takes them for ours.
func TestHoldsKey(t *testing.T) {
	body := strings.Repeat("MIIEowIBAAKCAQEAx7Qz", 3)
	for _, text := range []string{
		"-----BEGIN RSA " + "PRIVATE KEY-----\n" + body + "\n",
		"key: |\n  -----BEGIN OPENSSH " + "PRIVATE KEY-----\n  " + body,
		`{"private_key": "-----BEGIN ` + `PRIVATE KEY-----\n` + body + `"}`,
		"-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + body,
		"aws_access_key_id = AKIA" + "Q3ZRTV5K7WLN2D4F",
		"token: ghp_" + "a8Kd03LmZq92XcVb71NnTy64RwEe5UuIoPpQ",
		"url: https://x?k=AIza" + "SyD3kf9Lq2Wm8Zx7Cv6Bn5Mj4Hg1Ft0RyAb",
		"glpat-" + "k3J9xQ2mZ7vB5nT8wR4y", "xoxb-" + "2839471650-9f8d7c6b5a4e",
		"stripe: sk_live_" + "9fK2mQ7xZ4vB8nT3wR6y", "k: sk-ant-" + "api03-k3J9xQ2mZ7vB5nT8wR4yLq",
	} {
		if !HoldsKey([]byte(text)) {
			t.Errorf("not seen: %s…", text[:20])
		}
	}
	for _, text := range []string{
		"", "a: b", "paste -----BEGIN RSA " + "PRIVATE KEY----- here", "-----BEGIN PUBLIC KEY-----\n" + body,
		"-----BEGIN CERTIFICATE-----\n" + body,
		"AKIAIOSFODNN7" + "EXAMPLE", "ghp_" + strings.Repeat("x", 36), "sk-your-key-goes-here-please",
		"postgres://user:password@localhost/db", "password: hunter2",
		"sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "key-value stores",
		"task-" + strings.Repeat("0123456789", 3),
	} {
		if HoldsKey([]byte(text)) {
			t.Errorf("taken for a key: %q", text)
		}
	}
}

// TestHoldsSecret: the made-up secrets of every issuer are found in settings, placeholders are not.
func TestHoldsSecret(t *testing.T) {
	d := drawn{rand.New(rand.NewPCG(5, 6))}
	for _, shape := range append(slices.Clone(shapes),
		"client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQp????????????????????????????????",
		"datadog_api+_key: %%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%",
		"HEROKU_API+_KEY: %%%%%%%%-%%%%-%%%%-%%%%-%%%%%%%%%%%%",
		"cloudflare_api+_token: ????????????????????????????????????????",
		"api_+token:\n  - ????????????????????????", "db_pass+word: >-\n  hUnter7?????????0",
		"deploy_+key: |\n  ????????????????????????????????????????",
		"mapbox_secret: sk.ey+J1IjoiYWJjIiwiYSI6ImNs????????????????????.??????????????????????") {
		text := "name: app\n" + d.shape(shape) + "\nport: 80\n"
		if namedExample(strings.ReplaceAll(shape, "+", "")) {
			continue
		}
		if !HoldsSecret([]byte(text)) {
			t.Errorf("not found: %s", shape)
		}
	}
	for _, text := range []string{"password: changeme", "token: ${TOKEN}", "api_key: <your key>",
		"secret: {{ .Values.secret }}", "api_key: your-api-key-1234567890", "keys: [a, b]",
		"integrity: sha512-Rw5lVq8v0bW6pGm1aYcJxk3Zt9nEoHfQyDu2sKXi7A==",
		"image: registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"DATABASE_URL: postgres://localhost:5432/app"} {
		if HoldsSecret([]byte("name: app\n" + text + "\n")) {
			t.Errorf("taken for a secret: %s", text)
		}
	}
}
