// Package sources lists the platforms' sources, for tri-watch and tri-health. It links no code that
// posts; a test enforces that.
package sources

import (
	"io"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/discord"
	"tri/lib/chat/irc"
	"tri/lib/chat/lark"
	"tri/lib/chat/local"
	"tri/lib/chat/matrix"
	"tri/lib/chat/mattermost"
	"tri/lib/chat/slack"
	"tri/lib/chat/tail"
	"tri/lib/chat/teams"
	"tri/lib/chat/telegram"
)

// Options are the settings of the command line, which take precedence over the configuration.
type Options struct {
	LocalDir string   // overrides chat.local.dir
	Once     bool     // local: stop at the end of the input
	Files    []string // tail: overrides chat.tail.files
	Format   string   // tail: overrides chat.tail.format
	Poll     bool     // tail: poll the files
}

// platform is one adapter. guide is printed by tri init.
type platform struct {
	name  string
	open  func(*config.Config, Options) (chat.Source, error)
	guide chat.Guide
}

var platforms = []platform{
	{config.PlatformLocal, openLocal, local.Guide},
	{config.PlatformMattermost, openMattermost, mattermost.Guide},
	{config.PlatformSlack, openSlack, slack.Guide},
	{config.PlatformDiscord, openDiscord, discord.Guide},
	{config.PlatformLark, openLark, lark.Guide},
	{config.PlatformTeams, openTeams, teams.Guide},
	{config.PlatformTelegram, openTelegram, telegram.Guide},
	{config.PlatformMatrix, openMatrix, matrix.Guide},
	{config.PlatformIRC, openIRC, irc.Guide},
	{config.PlatformTail, openTail, tail.Guide},
}

// Names returns the platforms, in the order of the manual page.
func Names() []string {
	names := make([]string, 0, len(platforms))
	for _, p := range platforms {
		names = append(names, p.name)
	}
	return names
}

// Open returns the source of a platform as the configuration describes it. It makes no network
// calls.
func Open(cfg *config.Config, name string, o Options) (chat.Source, error) {
	p, err := find(name)
	if err != nil {
		return nil, err
	}
	return p.open(cfg, o)
}

// OpenAll returns the sources of the platforms with these names, or, without names, of all
// platforms that the configuration enables.
func OpenAll(cfg *config.Config, names []string, o Options) (map[string]chat.Source, error) {
	if len(names) == 0 {
		names = cfg.On()
	}
	if len(names) == 0 {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Usage,
			"which source? the configuration has no chat"),
			"tri init makes a configuration; tri-watch -h has an example of each source")
	}
	all := map[string]chat.Source{}
	for _, name := range names {
		var err error
		if all[name], err = Open(cfg, name, o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Manifest writes the app manifest of the platform that args name.
func Manifest(w io.Writer, args []string) error {
	if len(args) != 1 {
		return sysexit.Errorf(sysexit.Usage, "--print-manifest is for one platform")
	}
	p, err := find(args[0])
	if err != nil {
		return err
	}
	if p.guide.Manifest == "" {
		return sysexit.Hint(sysexit.Errorf(sysexit.Usage, "%s takes no manifest", p.name),
			"tri init "+p.name+" prints the steps")
	}
	if _, err := io.WriteString(w, p.guide.Manifest); err != nil {
		return sysexit.Errorf(sysexit.IO, "write manifest: %w", err)
	}
	return nil
}

// Guide returns the set-up guide of a platform.
func Guide(name string) (chat.Guide, error) {
	p, err := find(name)
	if err != nil {
		return chat.Guide{}, err
	}
	return p.guide, nil
}

func find(name string) (*platform, error) {
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.name == name })
	if i < 0 {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "no chat platform is called %q", name),
			"there are: "+strings.Join(Names(), ", "))
	}
	return &platforms[i], nil
}

// some keeps a nil pointer from becoming a non-nil interface.
func some[S chat.Source](s S, err error) (chat.Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openLocal(cfg *config.Config, o Options) (chat.Source, error) {
	l := cfg.Chat.Local
	if o.LocalDir != "" {
		l.Dir = o.LocalDir
	}
	return some(local.New(local.Options{Dir: l.Dir, Bot: l.BotName, Rooms: cfg.Chats(local.Platform),
		Once: o.Once}))
}

func openMattermost(cfg *config.Config, _ Options) (chat.Source, error) {
	m := cfg.Chat.Mattermost
	token, err := cfg.Secret(m.TokenEnv, m.TokenFile)
	if err != nil {
		return nil, err
	}
	o := mattermost.Options{URL: m.URL, Token: token, Chats: cfg.Chats(config.PlatformMattermost),
		AllowExternal: cfg.Chat.AllowExternal, Listen: m.Listen}
	if m.Listen != "" {
		if o.HookToken, err = cfg.Secret(m.WebhookTokenEnv, ""); err != nil {
			return nil, err
		}
	}
	return some(mattermost.New(o))
}

func openTelegram(cfg *config.Config, _ Options) (chat.Source, error) {
	t := cfg.Chat.Telegram
	token, err := cfg.Secret(t.TokenEnv, t.TokenFile)
	if err != nil {
		return nil, err
	}
	return some(telegram.New(telegram.Options{URL: t.APIURL, Token: token,
		Chats: cfg.Chats(config.PlatformTelegram)}))
}

func openIRC(cfg *config.Config, _ Options) (chat.Source, error) {
	o, err := irc.FromConfig(cfg)
	if err != nil {
		return nil, err
	}
	return some(irc.New(o))
}

func openTail(cfg *config.Config, o Options) (chat.Source, error) {
	t := cfg.Chat.Tail
	if len(o.Files) > 0 {
		t.Files = o.Files
	}
	if o.Format != "" {
		t.Format, t.Pattern = o.Format, ""
	}
	return some(tail.New(tail.Options{Files: t.Files, Format: t.Format, Pattern: t.Pattern, Room: t.Room,
		Bot:   t.BotName,
		Rooms: cfg.Chats(config.PlatformTail), Poll: t.Poll || o.Poll}))
}

func openMatrix(cfg *config.Config, _ Options) (chat.Source, error) {
	m := cfg.Chat.Matrix
	token, err := cfg.Secret(m.TokenEnv, m.TokenFile)
	if err != nil {
		return nil, err
	}
	return some(matrix.New(matrix.Options{URL: m.URL, Token: token, Chats: cfg.Chats(config.PlatformMatrix),
		AllowExternal: cfg.Chat.AllowExternal}))
}

func openSlack(cfg *config.Config, _ Options) (chat.Source, error) {
	s := cfg.Chat.Slack
	o := slack.Options{URL: s.APIURL, Listen: s.Listen, Chats: cfg.Chats(config.PlatformSlack),
		AllowExternal: cfg.Chat.AllowExternal}
	var err error
	if o.Token, err = cfg.Secret(s.TokenEnv, s.TokenFile); err != nil {
		return nil, err
	}
	if s.Listen != "" {
		o.Secret, err = cfg.Secret(s.SigningEnv, s.SigningFile)
	} else {
		o.AppToken, err = cfg.Secret(s.AppTokenEnv, s.AppTokenFile)
	}
	if err != nil {
		return nil, err
	}
	return some(slack.New(o))
}

func openDiscord(cfg *config.Config, _ Options) (chat.Source, error) {
	d := cfg.Chat.Discord
	token, err := cfg.Secret(d.TokenEnv, d.TokenFile)
	if err != nil {
		return nil, err
	}
	return some(discord.New(discord.Options{
		URL: d.APIURL, Token: token, Chats: cfg.Chats(config.PlatformDiscord),
		AllowExternal: cfg.Chat.AllowExternal, Listen: d.Listen, PublicKey: d.PublicKey,
	}))
}

func openLark(cfg *config.Config, _ Options) (chat.Source, error) {
	l := cfg.Chat.Lark
	o := lark.Options{URL: l.APIURL, ID: l.AppID, Listen: l.Listen, Chats: cfg.Chats(config.PlatformLark),
		AllowExternal: cfg.Chat.AllowExternal}
	var err error
	if o.Secret, err = cfg.Secret(l.SecretEnv, l.SecretFile); err != nil {
		return nil, err
	}
	if l.Listen != "" {
		if o.EncryptKey, err = cfg.Secret(l.EncryptKeyEnv, ""); err != nil {
			return nil, err
		}
		if o.Token, err = cfg.Secret(l.VerificationEnv, ""); err != nil {
			return nil, err
		}
	}
	return some(lark.New(o))
}

func openTeams(cfg *config.Config, _ Options) (chat.Source, error) {
	o, err := teams.FromConfig(cfg)
	if err != nil {
		return nil, err
	}
	return some(teams.New(o))
}
