package fsck

import (
	"errors"
	"fmt"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// claim is what was approved to be posted, and where.
type claim struct {
	approved decision.Record
	target   *decision.Target
}

// claims reads the claims from the log, by decision.ID.
func claims(h *durable.Home) (map[string]claim, error) {
	said, targets, all := map[string]decision.Record{}, map[string]*decision.Target{}, map[string]claim{}
	err := h.Lines(decision.LogName, 0, func(line []byte) error {
		var r decision.Record
		if ndjson.Unmarshal(line, &r) != nil {
			return nil // the check of the chain reports it
		}
		if r.Kind == decision.Offer || r.Kind == decision.Notify {
			targets[r.Key] = r.Target
		}
		switch {
		case r.Posts():
			said[r.ID()] = decision.Record{Key: r.Key, Cycle: r.Cycle, DraftSHA256: r.DraftSHA256,
				Text: r.Text, Cuts: r.Cuts}
		case r.Kind == decision.Claim:
			all[r.ID()] = claim{said[r.ID()], targets[r.Key]}
		}
		return nil
	})
	return all, err
}

// approvals compares each reply with its claim, the record that an approval is being posted.
func approvals(h *durable.Home, all map[string]claim, f *Finding) error {
	return h.Lines("replies.ndjson", 0, func(line []byte) error {
		var r outbox.Reply
		f.Records++
		if err := ndjson.Unmarshal(line, &r); err != nil {
			f.bad("replies.ndjson", err)
			return nil
		}
		c, claimed := all[decision.ID(r.Key, r.Cycle, r.DraftSHA256)]
		if err := c.told(&r); !claimed || err != nil {
			f.bad(fmt.Sprintf("%s, cycle %d", r.Key, r.Cycle), unclaimed(claimed, err))
		}
		return nil
	})
}

// posts checks each file of a folder of the outbox and compares it with its claim.
func posts(h *durable.Home, dir string, all map[string]claim, f *Finding) error {
	names, err := h.List(dir)
	if err != nil {
		return err
	}
	c, err := newChecker(h, "outbox-entry")
	if err != nil {
		return err
	}
	defer c.close()
	for _, name := range names {
		id, ours := strings.CutSuffix(name, ".json")
		if !ours {
			continue
		}
		was := f.Bad
		c.file(f, dir, name, name)
		if f.Bad > was {
			continue
		}
		if err := held(h, dir, id, all); err != nil {
			f.bad(name, err)
		}
	}
	return nil
}

func unclaimed(claimed bool, err error) error {
	if claimed {
		return err
	}
	return errors.New("it was posted, and the decision log has no claim of it")
}

// told compares a line of the replies with its claim.
func (c *claim) told(r *outbox.Reply) error {
	switch {
	case c.target == nil:
		return nil // of a version whose offers have no target
	case r.ReplyText != c.approved.Text:
		return errors.New("reply_text is not the approved text")
	case r.Platform != c.target.Platform || r.ChatID != c.target.ChatID ||
		r.ReplyToMessageID != c.target.ReplyToID:
		return errors.New("it names another message than the one that was answered")
	}
	return nil
}

// held compares a file of the outbox with its claim.
func held(h *durable.Home, dir, id string, all map[string]claim) error {
	e, err := outbox.Read(h, dir, id)
	if e == nil || err != nil {
		return err
	}
	c, claimed := all[decision.ID(e.Key, e.Cycle, e.DraftSHA256)]
	switch {
	case !claimed:
		return unclaimed(false, nil)
	case c.target == nil:
		return nil // of a version whose offers have no target
	case e.Limit == 0 && e.Parts > 1 && strings.Contains(c.approved.Text, e.Text):
		return nil // of a version that did not record where it split the text
	}
	return e.Agrees(&c.approved, c.target, e.Limit)
}
