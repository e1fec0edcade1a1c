// Package sinks lists the platforms' sinks, for tri-reply alone. No other package may import it; a
// test enforces that.
package sinks

import (
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/discord"
	"tri/lib/chat/forge"
	"tri/lib/chat/irc"
	"tri/lib/chat/lark"
	"tri/lib/chat/local"
	"tri/lib/chat/matrix"
	"tri/lib/chat/mattermost"
	"tri/lib/chat/slack"
	"tri/lib/chat/teams"
	"tri/lib/chat/telegram"
)

var open = map[string]func(*config.Config) (chat.Sink, error){
	config.PlatformLocal: func(cfg *config.Config) (chat.Sink, error) {
		return some(local.NewSink(local.Options{Dir: cfg.Chat.Local.Dir, Bot: cfg.Chat.Local.BotName}))
	},
	config.PlatformMattermost: func(cfg *config.Config) (chat.Sink, error) {
		m := cfg.Chat.Mattermost
		token, err := cfg.Secret(m.TokenEnv, m.TokenFile)
		if err != nil {
			return nil, err
		}
		return some(mattermost.NewSink(mattermost.Options{URL: m.URL, Token: token}))
	},
	config.PlatformMatrix: func(cfg *config.Config) (chat.Sink, error) {
		m := cfg.Chat.Matrix
		token, err := cfg.Secret(m.TokenEnv, m.TokenFile)
		if err != nil {
			return nil, err
		}
		return some(matrix.NewSink(matrix.Options{URL: m.URL, Token: token}))
	},
	config.PlatformIRC: func(cfg *config.Config) (chat.Sink, error) {
		o, err := irc.FromConfig(cfg)
		if err != nil {
			return nil, err
		}
		return some(irc.NewSink(o))
	},
	config.PlatformSlack: func(cfg *config.Config) (chat.Sink, error) {
		s := cfg.Chat.Slack
		token, err := cfg.Secret(s.TokenEnv, s.TokenFile)
		if err != nil {
			return nil, err
		}
		return some(slack.NewSink(slack.Options{URL: s.APIURL, Token: token}))
	},
	config.PlatformLark: func(cfg *config.Config) (chat.Sink, error) {
		l := cfg.Chat.Lark
		secret, err := cfg.Secret(l.SecretEnv, l.SecretFile)
		if err != nil {
			return nil, err
		}
		return some(lark.NewSink(lark.Options{URL: l.APIURL, ID: l.AppID, Secret: secret}))
	},
	config.PlatformTeams: func(cfg *config.Config) (chat.Sink, error) {
		o, err := teams.FromConfig(cfg)
		if err != nil {
			return nil, err
		}
		return some(teams.NewSink(o))
	},
	config.PlatformTelegram: func(cfg *config.Config) (chat.Sink, error) {
		t := cfg.Chat.Telegram
		token, err := cfg.Secret(t.TokenEnv, t.TokenFile)
		if err != nil {
			return nil, err
		}
		return some(telegram.NewSink(telegram.Options{URL: t.APIURL, Token: token}))
	},
	config.PlatformDiscord: func(cfg *config.Config) (chat.Sink, error) {
		d := cfg.Chat.Discord
		token, err := cfg.Secret(d.TokenEnv, d.TokenFile)
		if err != nil {
			return nil, err
		}
		return some(discord.NewSink(discord.Options{URL: d.APIURL, Token: token}))
	},
}

// Open returns the sinks of all platforms that the configuration enables, by name. It makes no
// network calls.
func Open(cfg *config.Config) (map[string]chat.Sink, error) {
	sinks := map[string]chat.Sink{}
	for _, name := range cfg.On() {
		if open[name] == nil {
			continue
		}
		sink, err := open[name](cfg)
		if err != nil {
			return nil, err
		}
		sinks[name] = sink
	}
	if cfg.Forge.Issues {
		sink, err := forge.NewSink(cfg.Forge, nil)
		if err != nil {
			return nil, err
		}
		sinks[config.PlatformForge] = sink
	}
	if len(sinks) == 0 {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "no chat to post to"),
			"name one under chat: in config.yaml, or use --local DIR")
	}
	return sinks, nil
}

// some keeps a nil pointer from becoming a non-nil interface.
func some[S chat.Sink](s S, err error) (chat.Sink, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
