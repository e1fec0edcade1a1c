// Package sources is the list of chat platforms as those see them who read: the
// one place that knows every adapter for tri-watch and tri-health. It reaches no
// code that posts; a test holds that.
package sources

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/chat"
	"tri/lib/chat/local"
	"tri/lib/chat/mattermost"
	"tri/lib/config"
	"tri/lib/sysexit"
)

// Options are what the command line adds to the configuration.
type Options struct {
	LocalDir string // instead of chat.local.dir
	Once     bool   // local ends when it has read what is there
}

// platform is one adapter. guide is what tri init prints for whoever sets it up.
type platform struct {
	name  string
	open  func(*config.Config, Options) (chat.Source, error)
	guide string
}

var platforms = []platform{
	{config.PlatformLocal, openLocal, ""},
	{config.PlatformMattermost, openMattermost, ""},
}

// Names are the platforms, in the order of the page.
func Names() []string {
	names := make([]string, 0, len(platforms))
	for _, p := range platforms {
		names = append(names, p.name)
	}
	return names
}

// Open makes the source of a platform as the configuration says. It does not
// reach out.
func Open(cfg *config.Config, name string, o Options) (chat.Source, error) {
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.name == name })
	if i < 0 {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("no chat platform is called %q", name)), "there are: "+strings.Join(Names(), ", "))
	}
	return platforms[i].open(cfg, o)
}

// Guide says how to set a platform up: steps, scopes, an app manifest. "" where
// there is nothing to say.
func Guide(name string) string {
	for _, p := range platforms {
		if p.name == name {
			return p.guide
		}
	}
	return ""
}

// some keeps a nil pointer from becoming a source that is not nil.
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
	return some(local.New(local.Options{Dir: l.Dir, Bot: l.BotName, Rooms: cfg.Chats(local.Platform), Once: o.Once}))
}

func openMattermost(cfg *config.Config, _ Options) (chat.Source, error) {
	m := cfg.Chat.Mattermost
	token, err := cfg.Secret(m.TokenEnv, m.TokenFile)
	if err != nil {
		return nil, err
	}
	return some(mattermost.New(mattermost.Options{URL: m.URL, Token: token, Chats: cfg.Chats(config.PlatformMattermost)}))
}
