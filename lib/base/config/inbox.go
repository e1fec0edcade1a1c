package config

import (
	"slices"
	"time"
)

// Inbox configures the chats in which every message of a person is a request (Chat.Inbox).
type Inbox struct {
	// Margin is the least distance in score to the runner-up with which a change of code starts by itself;
	// default 4.
	Margin *int `yaml:"margin" default:"4"`
	// Intents are limits by intent.
	Intents map[string]InboxIntent `yaml:"intents"`
	// Model has voice.model choose between the two best intents where their distance is below Margin.
	Model bool `yaml:"model"`
	// Zone is the time zone of reminders, as "Asia/Tokyo"; default that of the machine.
	Zone string `yaml:"zone"`
}

// InboxIntent are the limits of one intent.
type InboxIntent struct {
	Minutes float64 `yaml:"minutes"` // that a run may take
}

// minutes are the defaults of InboxIntent.Minutes; those of others are 1.
var minutes = map[string]float64{"question": 5, "research": 15, "organize": 15, "code_change": 60, "other": 5}

func (i *Inbox) compile(f *faults) {
	_, err := time.LoadLocation(i.Zone)
	f.add(err, "inbox", "zone")
}

// Minutes returns how long a run of an intent may take.
func (i *Inbox) Minutes(intent string) float64 {
	if of := i.Intents[intent].Minutes; of > 0 {
		return of
	}
	if of := minutes[intent]; of > 0 {
		return of
	}
	return 1
}

// In returns a time in the zone of reminders.
func (i *Inbox) In(t time.Time) time.Time {
	if zone, err := time.LoadLocation(i.Zone); err == nil && i.Zone != "" {
		return t.In(zone)
	}
	return t.Local()
}

// IsInbox reports whether a chat is an inbox.
func (c *Config) IsInbox(platform, chatID string) bool {
	return slices.ContainsFunc(c.WatchedChats, func(chat Chat) bool {
		return chat.Inbox && chat.ChatID == chatID && (chat.Platform == "" || chat.Platform == platform)
	})
}
