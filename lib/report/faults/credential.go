package faults

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

// drawn returns n random characters of an alphabet, at least one of its digits among them.
func (s *subject) drawn(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[s.rng.IntN(len(alphabet))]
	}
	if strings.Contains(alphabet, digit) { // machine-made tokens contain digits
		for range 1 + n/8 {
			b[s.rng.IntN(n)] = digit[s.rng.IntN(10)]
		}
	}
	return string(b)
}

// secretForms make random credentials in their issuers' formats.
var secretForms = []struct {
	name string
	make func(s *subject) string
}{
	{"AWS access key", func(s *subject) string { return "AKIA" + s.drawn(upper+"234567", 16) }},
	{"AWS temporary key", func(s *subject) string { return "ASIA" + s.drawn(upper+"234567", 16) }},
	{"AWS secret key", func(s *subject) string {
		return "aws_secret_access_key = " + s.drawn(lower+upper+digit+"+/", 40)
	}},
	{"GitHub token", func(s *subject) string { return "ghp_" + s.drawn(lower+upper+digit, 36) }},
	{"GitHub app token", func(s *subject) string { return "ghs_" + s.drawn(lower+upper+digit, 36) }},
	{"GitHub fine-grained token", func(s *subject) string {
		return "github_pat_" + s.drawn(lower+upper+digit, 22) + "_" + s.drawn(lower+upper+digit, 59)
	}},
	{"GitLab token", func(s *subject) string { return "glpat-" + s.drawn(lower+upper+digit+"-_", 20) }},
	{"Slack bot token", func(s *subject) string {
		return "xoxb-" + s.drawn(digit, 12) + "-" + s.drawn(digit, 12) + "-" + s.drawn(lower+upper+digit, 24)
	}},
	{"Slack app token", func(s *subject) string {
		return "xapp-1-A" + s.drawn(upper+digit, 10) + "-" + s.drawn(digit, 13) + "-" +
			s.drawn(lower+digit, 64)
	}},
	{"Slack webhook", func(s *subject) string {
		return "https://hooks.slack.com/services/T" + s.drawn(upper+digit, 8) + "/B" +
			s.drawn(upper+digit, 8) + "/" + s.drawn(lower+upper+digit, 24)
	}},
	{"Google API key", func(s *subject) string { return "AIza" + s.drawn(lower+upper+digit+"-_", 35) }},
	{"Google OAuth secret", func(s *subject) string {
		return "GOCSPX-" + s.drawn(lower+upper+digit+"-_", 28)
	}},
	{"Stripe key", func(s *subject) string { return "sk_live_" + s.drawn(lower+upper+digit, 24) }},
	{"OpenAI key", func(s *subject) string { return "sk-proj-" + s.drawn(lower+upper+digit, 48) }},
	{"Anthropic key", func(s *subject) string {
		return "sk-ant-api03-" + s.drawn(lower+upper+digit+"-_", 93) + "AA"
	}},
	{"Hugging Face token", func(s *subject) string { return "hf_" + s.drawn(lower+upper, 34) }},
	{"npm token", func(s *subject) string { return "npm_" + s.drawn(lower+upper+digit, 36) }},
	{"PyPI token", func(s *subject) string {
		return "pypi-AgEIcHlwaS5vcmc" + s.drawn(lower+upper+digit+"-_", 90)
	}},
	{"SendGrid key", func(s *subject) string {
		return "SG." + s.drawn(lower+upper+digit, 22) + "." + s.drawn(lower+upper+digit, 43)
	}},
	{"Twilio key", func(s *subject) string { return "SK" + s.drawn("abcdef"+digit, 32) }},
	{"Telegram bot token", func(s *subject) string {
		return s.drawn("123456789", 10) + ":AA" + s.drawn(lower+upper+digit+"-_", 33)
	}},
	{"Discord bot token", func(s *subject) string {
		return "MT" + s.drawn(lower+upper+digit, 24) + ".G" + s.drawn(lower+upper+digit, 5) + "." +
			s.drawn(lower+upper+digit+"-_", 38)
	}},
	{"JSON web token", func(s *subject) string {
		head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
		body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + s.drawn(digit, 10) + `"}`))
		return head + "." + body + "." + s.drawn(lower+upper+digit+"-_", 43)
	}},
	{"private key", func(s *subject) string {
		return "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA" + s.drawn(lower+upper+digit+"+/", 48) +
			"\n-----END RSA PRIVATE KEY-----"
	}},
	{"OpenSSH key", func(s *subject) string {
		return "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA" +
			s.drawn(lower+upper+digit+"+/", 46)
	}},
	{"password in an address", func(s *subject) string {
		return "postgres://app:" + s.drawn(lower+upper+digit, 14) + "@db.internal:5432/app"
	}},
	{"password", func(s *subject) string {
		return "password: " + s.drawn(lower+upper, 6) + s.drawn(digit, 3) + "!"
	}},
	{"quoted password", func(s *subject) string {
		return `DB_PASSWORD="` + s.drawn(lower+upper+digit, 12) + `"`
	}},
	{"API key", func(s *subject) string { return "api_key=" + s.drawn("abcdef"+digit, 32) }},
	{"bearer token", func(s *subject) string {
		return "Authorization: Bearer " + s.drawn(lower+upper+digit, 40)
	}},
	{"basic authorization", func(s *subject) string {
		return "Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte("admin:"+s.drawn(lower+upper+digit, 14)))
	}},
	{"DigitalOcean token", func(s *subject) string { return "dop_v1_" + s.drawn("abcdef"+digit, 64) }},
	{"Mailgun key", func(s *subject) string { return "key-" + s.drawn("abcdef"+digit, 32) }},
	{"Azure storage key", func(s *subject) string {
		return "AccountKey=" + s.drawn(lower+upper+digit+"+/", 86) + "=="
	}},
	{"Shopify token", func(s *subject) string { return "shpat_" + s.drawn("abcdef"+digit, 32) }},
	{"Databricks token", func(s *subject) string { return "dapi" + s.drawn("abcdef"+digit, 32) }},
	{"Grafana token", func(s *subject) string {
		return "glsa_" + s.drawn(lower+upper+digit, 32) + "_" + s.drawn("abcdef"+digit, 8)
	}},
	{"age key", func(s *subject) string {
		return "AGE-SECRET-KEY-1" + s.drawn("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)
	}},
	{"Discord webhook", func(s *subject) string {
		return "https://discord.com/api/webhooks/" + s.drawn("123456789", 18) + "/" +
			s.drawn(lower+upper+digit+"-_", 68)
	}},
	{"client secret", func(s *subject) string {
		return "client_secret: '" + s.drawn(lower+upper+digit+"~_", 34) + "'"
	}},
}

// ownForms are the ways in which a team's own secret could leak.
var ownForms = []struct {
	name string
	make func(secret string) string
}{
	{"as it is", func(c string) string { return c }},
	{"in backticks", func(c string) string { return "`" + c + "`" }},
	{"broken by spaces", func(c string) string { return c[:len(c)/2] + " " + c[len(c)/2:] }},
	{"spelled", func(c string) string { return strings.Join(strings.Split(c, ""), " ") }},
	{"broken by a line", func(c string) string { return c[:len(c)/2] + "\n" + c[len(c)/2:] }},
	{"backwards", func(c string) string {
		b := []byte(c)
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		return string(b)
	}},
	{"in base64", func(c string) string { return base64.StdEncoding.EncodeToString([]byte(c)) }},
	{"in base64, with a word before it", func(c string) string {
		return base64.StdEncoding.EncodeToString([]byte("t=" + c))
	}},
	{"in hexadecimal", func(c string) string { return hex.EncodeToString([]byte(c)) }},
	{"percent-encoded", func(c string) string { return url.QueryEscape(c + "/") }},
	{"in bold pieces", func(c string) string { return "**" + c[:3] + "**" + c[3:] }},
}

var secretSentences = []string{"Use %s for it.", "The value is %s", "I found %s beside it.", "%s",
	"(it currently says %s)", "For testing: %s", "Set this first:\n%s"}

// secret puts a credential into the draft or into a text that is stored with it.
func secret(s *subject) error {
	var what, text string
	if s.Canary != "" && s.rng.IntN(3) == 0 {
		f := pick(s, ownForms)
		what, text = "one of the team's own, "+f.name, f.make(s.Canary)
	} else {
		f := pick(s, secretForms)
		what, text = f.name, f.make(s)
	}
	text = fmt.Sprintf(pick(s, secretSentences), text)
	where := "draft"
	switch s.rng.IntN(6) {
	case 0:
		where = "summary"
		s.ret.SummaryForOrchestrator = strings.TrimRight(s.ret.SummaryForOrchestrator, ".") + ": " + text
	case 1:
		where = "open question"
		s.ret.OpenQuestions = append(s.ret.OpenQuestions, "Is this still right? "+text)
	default:
		s.ret.DraftReply += " " + text
	}
	s.did("+ "+what, where)
	return nil
}
