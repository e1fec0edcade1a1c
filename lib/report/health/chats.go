package health

import (
	"context"
	"fmt"
	"slices"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/sources"
	"tri/lib/record/event"
)

// chats checks the connection to each platform.
func (x *checker) chats(ctx context.Context) {
	on := x.config.On()
	for _, name := range x.Platforms {
		if !slices.Contains(on, name) {
			x.fail("chat "+name, "tri init "+name+" says how", "%s is not in the configuration", name)
		}
	}
	for _, name := range on {
		if len(x.Platforms) > 0 && !slices.Contains(x.Platforms, name) {
			continue
		}
		x.platform(ctx, name)
	}
	if len(on) == 0 && len(x.Platforms) == 0 {
		x.warn("chat", "tri init", "the configuration has no chat")
	}
}

// platform runs the platform's own checks.
func (x *checker) platform(ctx context.Context, name string) {
	source, err := sources.Open(x.config, name, sources.Options{})
	if err != nil {
		x.failed("chat "+name, "", err)
		return
	}
	checker, ok := source.(chat.Checker)
	if !ok {
		x.warn("chat "+name, "look at tri-watch's stderr", "cannot be asked from here")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	self, findings := checker.Check(ctx)
	for _, f := range findings {
		check := Check{Name: fmt.Sprintf("%s %s", name, f.Name), Status: Fail, Message: text.Visible(f.Text),
			Fix: text.Visible(f.Fix)}
		switch {
		case f.OK:
			check.Status = OK
		case f.Warn:
			check.Status = Warn
		}
		x.checks = append(x.checks, check)
	}
	x.known(name, self)
}

// known checks that the classifier knows the bot's account on a platform.
func (x *checker) known(name string, self event.Sender) {
	if c := x.config.Classifier; self.ID != "" && self.ID != c.BotID && !slices.Contains(c.BotIDs, self.ID) {
		x.warn(name+" bot", "classifier.bot_ids: "+text.Visible(self.ID),
			"the bot is %s there, and not in classifier.bot_id", text.Visible(self.Name))
	}
}
