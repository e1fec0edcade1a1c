package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/journal"
)

// Conversation is everything that the logs contain about one thread.
type Conversation struct {
	Key      string   `json:"key"`
	Platform string   `json:"platform"`
	ChatID   string   `json:"chat_id"`
	ChatName string   `json:"chat_name"`
	Status   string   `json:"status"`
	Said     []Said   `json:"said"`
	Cycles   []Cycle  `json:"cycles"`
	Troubles []string `json:"troubles,omitempty"`
}

// Said is one message of a conversation, or a change of one.
type Said struct {
	MessageID      string `json:"message_id"`
	At             string `json:"at"`
	Who            string `json:"who"`
	What           string `json:"what"` // said, edited, deleted
	Content        string `json:"content,omitempty"`
	Classification string `json:"classification"`
	Ours           bool   `json:"ours,omitempty"`
}

// Thread returns a thread by its key, or by one of its messages, named as for Why.
func Thread(h *durable.Home, cfg *config.Config, id string) (*Conversation, error) {
	c := &Conversation{Key: id, Said: []Said{}, Cycles: []Cycle{}}
	if err := c.said(h); err != nil {
		return nil, err
	}
	if len(c.Said) == 0 {
		f, err := locate(h, cfg, id)
		if err != nil {
			return nil, err
		}
		last := f.events[len(f.events)-1]
		if n := len(f.classified); n > 0 { // tri-thread adds the thread to the classified event
			last = f.classified[n-1]
		}
		c.Key = cmp.Or(f.key, last.Key())
		if err := c.said(h); err != nil {
			return nil, err
		}
	}
	if len(c.Said) == 0 {
		err := sysexit.With(sysexit.No, fmt.Errorf("%q: the dispatcher knows no such thread", id))
		return nil, sysexit.Hint(err, "tri-report why shows the history of a message")
	}
	t := &teller{home: h, story: &Story{Key: c.Key}}
	t.fold()
	t.decisions(cfg)
	t.posts()
	c.Platform, c.ChatID, c.ChatName, c.Status = t.state.Platform, t.state.ChatID, t.state.ChatName,
		t.state.Status
	c.Cycles, c.Troubles = t.story.Cycles, t.story.Troubles
	return c, nil
}

// said reads the thread's messages from the journal.
func (c *Conversation) said(h *durable.Home) error {
	r := journal.NewReader(h)
	defer r.Close()
	return scan(h, dispatchLog, 0, append([]byte(`"key":`), quoted(c.Key)...), func(line []byte) error {
		in, err := r.Input(line)
		if err != nil && !errors.Is(err, journal.ErrGone) {
			return err
		}
		e := in.Event
		if in.Key != c.Key || e == nil {
			return nil
		}
		s := Said{MessageID: e.MessageID, At: e.CreateTime, Who: cmp.Or(e.Sender.Name, e.Sender.ID),
			What: what(e), Content: e.Content, Classification: e.Classification,
			Ours: in.Facts != nil && in.Facts.Own}
		c.Said = append(c.Said, s)
		return nil
	})
}

// Print writes it as text.
func (c *Conversation) Print(w io.Writer) error {
	s := newSheet(w)
	s.printf("%s in %s (%s), %s, %s: %s\n", text.Line(c.Key, 0), text.Line(cmp.Or(c.ChatName, c.ChatID), 0),
		text.Line(c.Platform, 0), text.Count(len(c.Said), "message"), text.Count(len(c.Cycles), "cycle"), c.Status)
	for _, m := range c.Said {
		who := text.Line(m.Who, 0)
		if m.Ours {
			who += " (we)"
		}
		what := ""
		if m.What != "said" {
			what = " " + m.What
		}
		s.printf("\n%s  %s%s, %s [%s]\n", clock(m.At), who, what, text.Line(m.MessageID, 0), m.Classification)
		if m.Content != "" {
			s.WriteString(indent(m.Content, "  "))
		}
	}
	for i := range c.Cycles {
		var b strings.Builder
		c.Cycles[i].print(&b, true)
		s.WriteString(b.String())
	}
	for _, trouble := range c.Troubles {
		s.printf("trouble: %s\n", text.Line(trouble, 0))
	}
	return s.send(w)
}
