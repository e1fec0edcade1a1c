package main

import (
	"fmt"

	"tri/lib/chat/mattermost/fake"
)

// mattermost is a fake Mattermost server that drops, delays and doubles.
type mattermost struct {
	server  *fake.Server
	bot     fake.User
	people  map[string]fake.User
	channel string
}

func newMattermost(w *world) (chatServer, error) {
	s, err := fake.New("")
	if err != nil {
		return nil, err
	}
	m := &mattermost{server: s, bot: s.AddUser("tri", true), people: map[string]fake.User{}}
	for _, name := range []string{"ana", "ben"} {
		m.people[name] = s.AddUser(name, false)
	}
	m.channel = s.AddChannel("dev").ID
	return m, s.SetFaults(fake.Faults{
		Seed: w.seed, DropAnswer: 0.15, LateAnswer: 0.15, LateStore: 0.1, Late: "300ms",
		Fail: 0.02, FailAfter: 0.05, Limit: 0.01, Close: 0.01, Duplicate: 0.02, Lose: 0.01,
	})
}

func (m *mattermost) say(who, text string) (string, error) {
	p, err := m.server.Say(fake.Post{UserID: m.people[who].ID, ChannelID: m.channel, Message: text})
	return p.ID, err
}

func (m *mattermost) edit(id, _, text string) error { return m.server.Edit(id, text) }
func (m *mattermost) remove(id, _ string) error     { return m.server.Delete(id) }

func (m *mattermost) posts() ([]post, error) {
	var posts []post
	for _, p := range m.server.Posts() {
		if p.UserID == m.bot.ID {
			posts = append(posts, post{p.RootID, fmt.Sprint(p.Props["tri_key"]), p.Message})
		}
	}
	return posts, nil
}

func (m *mattermost) config() string {
	return "chat:\n  mattermost:\n    url: " + m.server.URL + "\nclassifier:\n  bot_id: " + m.bot.ID + "\n"
}
func (m *mattermost) watch() []string { return []string{"mattermost"} }
func (m *mattermost) env() []string   { return []string{"MATTERMOST_TOKEN=" + m.bot.Token} }
func (m *mattermost) stop()           { m.server.Close() }
