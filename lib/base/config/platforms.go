package config

import "slices"

// Platforms configures the chat platforms. A platform is on if the key marked (on) is set. Secrets
// are not part of the configuration: each is in the environment variable named by X_env, or in the
// file of mode 0600 named by X_file.
type Platforms struct {
	// AllowExternal accepts messages of guests, and of people of other organizations in shared
	// channels. By default they are ignored.
	AllowExternal bool `yaml:"allow_external"`
	// KeepRaw keeps the platform's own record of each event in raw.ndjson.
	KeepRaw bool `yaml:"keep_raw"`

	Local      Local      `yaml:"local"`
	Mattermost Mattermost `yaml:"mattermost"`
	Slack      Slack      `yaml:"slack"`
	Discord    Discord    `yaml:"discord"`
	Lark       Lark       `yaml:"lark"`
	Teams      Teams      `yaml:"teams"`
	Telegram   Telegram   `yaml:"telegram"`
	Matrix     Matrix     `yaml:"matrix"`
	IRC        IRC        `yaml:"irc"`
	Tail       Tail       `yaml:"tail"`
}

// Local is a chat in a folder.
type Local struct {
	Dir     string `yaml:"dir" is:"path"` // (on)
	BotName string `yaml:"bot_name" default:"tri"`
}

// Mattermost is a server and a bot account on it.
type Mattermost struct {
	URL       string `yaml:"url"` // (on)
	TokenEnv  string `yaml:"token_env" default:"MATTERMOST_TOKEN"`
	TokenFile string `yaml:"token_file" is:"path"`
	// Listen is the host:port for outgoing webhooks. Default: none, the WebSocket is enough.
	Listen          string `yaml:"listen"`
	WebhookTokenEnv string `yaml:"webhook_token_env" default:"MATTERMOST_WEBHOOK_TOKEN"`
}

// Slack is an app in a workspace: by Socket Mode, or by the Events API if Listen is set.
type Slack struct {
	Enabled      bool   `yaml:"enabled"`                             // (on)
	TokenEnv     string `yaml:"token_env" default:"SLACK_BOT_TOKEN"` // xoxb-
	TokenFile    string `yaml:"token_file" is:"path"`
	AppTokenEnv  string `yaml:"app_token_env" default:"SLACK_APP_TOKEN"` // xapp-
	AppTokenFile string `yaml:"app_token_file" is:"path"`
	SigningEnv   string `yaml:"signing_secret_env" default:"SLACK_SIGNING_SECRET"`
	SigningFile  string `yaml:"signing_secret_file" is:"path"`
	Listen       string `yaml:"listen"` // host:port for the Events API
	APIURL       string `yaml:"api_url" default:"https://slack.com/api/"`
}

// Discord is a bot on the gateway.
type Discord struct {
	Enabled   bool   `yaml:"enabled"` // (on)
	TokenEnv  string `yaml:"token_env" default:"DISCORD_TOKEN"`
	TokenFile string `yaml:"token_file" is:"path"`
	Listen    string `yaml:"listen"`     // host:port for interactions by webhook
	PublicKey string `yaml:"public_key"` // of the application, in hexadecimal; for Listen
	APIURL    string `yaml:"api_url" default:"https://discord.com/api/v10"`
}

// Lark is a self-built app of Lark or Feishu: by the long connection, or by webhook if Listen is
// set.
type Lark struct {
	AppID           string `yaml:"app_id"` // (on)
	SecretEnv       string `yaml:"secret_env" default:"LARK_APP_SECRET"`
	SecretFile      string `yaml:"secret_file" is:"path"`
	EncryptKeyEnv   string `yaml:"encrypt_key_env" default:"LARK_ENCRYPT_KEY"`         // for Listen
	VerificationEnv string `yaml:"verification_env" default:"LARK_VERIFICATION_TOKEN"` // for Listen
	Listen          string `yaml:"listen"`                                             // host:port
	// default https://open.larksuite.com; Feishu: https://open.feishu.cn
	APIURL string `yaml:"api_url" default:"https://open.larksuite.com"`
}

// Teams is a bot of the Bot Framework, and an application of Microsoft Graph for missed messages.
type Teams struct {
	AppID      string `yaml:"app_id"` // (on)
	Tenant     string `yaml:"tenant"` // directory id
	SecretEnv  string `yaml:"secret_env" default:"TEAMS_APP_SECRET"`
	SecretFile string `yaml:"secret_file" is:"path"`
	Listen     string `yaml:"listen"`     // host:port of the messaging endpoint
	PublicURL  string `yaml:"public_url"` // URL at which Graph reaches Listen; "": no change notifications
	GraphURL   string `yaml:"graph_url" default:"https://graph.microsoft.com/v1.0"`
	LoginURL   string `yaml:"login_url" default:"https://login.microsoftonline.com"`
	// ServiceURL is where the bot posts, by default the endpoint of all regions. OpenIDURL lists
	// the keys that sign activities.
	ServiceURL string `yaml:"service_url" default:"https://smba.trafficmanager.net/teams/"`
	// default https://login.botframework.com/v1/.well-known/openidconfiguration
	OpenIDURL string `yaml:"openid_url" default:"https://login.botframework.com/v1/.well-known/openidconfiguration"`
	// Groups are the ids of the teams whose channels are watched. Without it Graph cannot be
	// queried for missed messages in them.
	Groups []string `yaml:"groups"`
	// Insecure accepts activities without a token, for the Teams playground on this machine. It is
	// refused unless Listen is a loopback address.
	Insecure bool `yaml:"insecure"`
}

// Telegram is a bot of the Bot API.
type Telegram struct {
	Enabled   bool   `yaml:"enabled"` // (on)
	TokenEnv  string `yaml:"token_env" default:"TELEGRAM_TOKEN"`
	TokenFile string `yaml:"token_file" is:"path"`
	APIURL    string `yaml:"api_url" default:"https://api.telegram.org"`
}

// Matrix is an account on a homeserver.
type Matrix struct {
	URL       string `yaml:"url"` // (on)
	TokenEnv  string `yaml:"token_env" default:"MATRIX_TOKEN"`
	TokenFile string `yaml:"token_file" is:"path"`
}

// IRC is a nick on a network. Its chats are channels.
type IRC struct {
	Address      string `yaml:"address"` // (on) host:port
	NoTLS        bool   `yaml:"no_tls"`
	Nick         string `yaml:"nick" default:"tri"`
	PasswordEnv  string `yaml:"password_env" default:"IRC_PASSWORD"` // of SASL; empty: none
	PasswordFile string `yaml:"password_file" is:"path"`
}

// Tail reads text logs of chat clients and bots. Its chats are the rooms named by the files or by
// the lines.
type Tail struct {
	Files   []string `yaml:"files" is:"path"` // (on) paths; with * ? [ a series of files
	Format  string   `yaml:"format"`          // irssi, weechat, znc, hexchat, iso; default: detected per line
	Pattern string   `yaml:"pattern"`         // instead of a format: groups nick, text, and time, room
	Room    string   `yaml:"room"`            // default: from the file's name
	BotName string   `yaml:"bot_name" default:"tri"`
	Poll    bool     `yaml:"poll"` // poll instead of file notifications: for network file systems
}

// Names of the platforms in the records.
const (
	PlatformLocal      = "local"
	PlatformMattermost = "mattermost"
	PlatformSlack      = "slack"
	PlatformDiscord    = "discord"
	PlatformForge      = "forge" // issues; no chat
	PlatformLark       = "lark"
	PlatformTeams      = "teams"
	PlatformTelegram   = "telegram"
	PlatformMatrix     = "matrix"
	PlatformIRC        = "irc"
	PlatformTail       = "tail"
)

// On returns the platforms that the configuration turns on, in the order of the manual page.
func (c *Config) On() []string {
	p := &c.Chat
	var on []string
	for _, x := range []struct {
		name string
		on   bool
	}{
		{PlatformLocal, p.Local.Dir != ""}, {PlatformMattermost, p.Mattermost.URL != ""},
		{PlatformSlack, p.Slack.Enabled},
		{PlatformDiscord, p.Discord.Enabled}, {PlatformLark, p.Lark.AppID != ""},
		{PlatformTeams, p.Teams.AppID != ""},
		{PlatformTelegram, p.Telegram.Enabled}, {PlatformMatrix, p.Matrix.URL != ""},
		{PlatformIRC, p.IRC.Address != ""},
		{PlatformTail, len(p.Tail.Files) > 0},
	} {
		if x.on {
			on = append(on, x.name)
		}
	}
	return on
}

// Chats returns the ids of a platform's watched chats and, if there are any, of the operators'
// channel. An empty list means every chat that the bot is a member of, except private ones.
func (c *Config) Chats(platform string) []string {
	var ids []string
	for _, chat := range c.WatchedChats {
		if chat.Platform == platform {
			ids = append(ids, chat.ChatID)
		}
	}
	if g := c.Gate.Chat; len(ids) > 0 && g.Platform == platform && !slices.Contains(ids, g.ChatID) {
		ids = append(ids, g.ChatID)
	}
	return ids
}
