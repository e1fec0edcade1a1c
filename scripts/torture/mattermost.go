package main

import (
	"strings"

	"tri/lib/chat/mattermost/mattermosttest"
)

// mattermost is a fake server, in this process, that drops and delays answers,
// fails, limits, cuts sockets, and sends events twice, late or never.
type mattermost struct {
	server   *mattermosttest.Server
	bot, dev string // ids
	token    string
	users    map[string]string // ids by name
}

func newMattermost(w *world) (chatServer, error) {
	s, err := mattermosttest.New("")
	if err != nil {
		return nil, err
	}
	m := &mattermost{server: s, users: map[string]string{}}
	bot := s.AddUser("tri", true)
	m.bot, m.token = bot.ID, bot.Token
	for _, name := range []string{"ana", "ben"} {
		m.users[name] = s.AddUser(name, false).ID
	}
	m.dev = s.AddChannel("dev").ID
	return m, s.SetFaults(mattermosttest.Faults{
		Seed: w.seed, DropAnswer: 0.15, LateAnswer: 0.15, LateStore: 0.1, Late: "60ms", Fail: 0.05,
		FailAfter: 0.05,
		Close:     0.02, Duplicate: 0.05, Reorder: 0.05, Lose: 0.02,
	})
}

func (m *mattermost) say(who, text string) (string, error) {
	p, err := m.server.Say(mattermosttest.Post{UserID: m.users[who], ChannelID: m.dev, Message: text})
	return p.ID, err
}

func (m *mattermost) edit(id, _, text string) error { return m.server.Edit(id, text) }
func (m *mattermost) remove(id, _ string) error     { return m.server.Delete(id) }

func (m *mattermost) posts() ([]post, error) {
	var posts []post
	for _, p := range m.server.Posts() {
		if key, ok := p.Props["tri_key"].(string); ok && p.UserID == m.bot {
			posts = append(posts, post{p.RootID, key, p.Message})
		}
	}
	return posts, nil
}

func (m *mattermost) config() string {
	return strings.Join([]string{"chat:", "  mattermost:", "    url: " + m.server.URL,
		"    token_env: TORTURE_TOKEN", ""}, "\n")
}
func (m *mattermost) watch() []string { return []string{"mattermost"} }
func (m *mattermost) env() []string   { return []string{"TORTURE_TOKEN=" + m.token} }
func (m *mattermost) stop()           { m.server.Close() }
