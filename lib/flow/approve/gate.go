// Package approve is the review queue: it lists the drafts that wait, shows each with its evidence, and
// appends a person's decision to the log. Text from a chat, an agent or code is never shown unescaped. A
// decision counts only if decision.State says so.
package approve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// Gate is one person's view of a home.
type Gate struct {
	Home   *durable.Home
	Config *config.Config
	By     string // the person who decides
	Via    string // terminal, web, chat
	Room   string // only items of the chat with this name; "" for all
	Now    func() time.Time
	// Policy returns the current policy. If it is nil, the configuration read at the start applies.
	Policy func() (decision.Policy, error)
	// NoFile approves without the triage file that was proposed with the draft.
	NoFile bool
	// Ref identifies the click or message that carries the decision, for decision.Record.
	Ref string
}

// Kinds of item.
const (
	Draft    = "draft"     // a draft that waits for approval
	Shadow   = "shadow"    // a draft that was not offered for posting
	Ask      = "ask"       // a question to the operator before anything runs
	Failure  = "failure"   // the investigation produced nothing to post
	Parked   = "parked"    // it is unknown whether a post was made
	Approved = "approved"  // an approval that can be undone
	Posting  = "posting"   // an approved text that is being posted
	Expired  = "expired"   // a draft that waited too long; undo restores it
	Ended    = "dismissed" // a person has ended it, without a post; reopen begins it anew
	Damaged  = "damaged"   // the file of a thread or a post that cannot be read; Note says why
)

// Item is something that waits for a person, or that a person can still undo.
type Item struct {
	ID          string `json:"id"` // short, identifies exactly this draft
	Kind        string `json:"kind"`
	Key         string `json:"key"`
	Cycle       int    `json:"cycle"`
	DraftSHA256 string `json:"draft_sha256"`
	Post        string `json:"post,omitempty"`  // the entry of a parked post
	Since       string `json:"since"`           // RFC 3339
	Until       string `json:"until,omitempty"` // when the offer expires
	Platform    string `json:"platform"`
	ChatName    string `json:"chat_name"`
	Who         string `json:"who"`
	Question    string `json:"question"`
	Confidence  string `json:"confidence,omitempty"` // the investigator's, in its draft
	Badge       string `json:"badge,omitempty"`      // what the checks proved
	Note        string `json:"note,omitempty"`       // the question, the reason, or the approver
	// Votes are the approvals so far, if more than one is needed.
	Votes []Vote `json:"votes,omitempty"`

	full     string // the full name; ID is a prefix
	thread   *thread.Thread
	standing *decision.Standing
	entry    *outbox.Entry
}

// Vote is one person's approval of the draft or of another text.
type Vote struct {
	By   string `json:"by"`
	At   string `json:"at"`
	Text string `json:"text"`
}

// Waits reports whether a person must decide something.
func (it *Item) Waits() bool {
	return it.Kind != Approved && it.Kind != Posting && it.Kind != Expired && it.Kind != Ended
}

// Is reports whether id, which must have at least the length of an ID, names exactly this item.
func (it *Item) Is(id string) bool { return len(id) >= idLength && strings.HasPrefix(it.full, id) }

// Name returns the full name of which ID is a prefix: 64 hex digits that permanently identify exactly this
// draft of this thread.
func (it *Item) Name() string { return it.full }

// ApprovedAt returns the time of the approval, or the zero time if there is none.
func (it *Item) ApprovedAt() time.Time {
	if it.standing == nil || it.standing.Decision == nil {
		return time.Time{}
	}
	return text.ParseTime(it.standing.Decision.At)
}

// idLength is the minimum length of an ID.
const idLength = 6

// Items returns the waiting items, what needs reading first at the beginning, followed by those that can be
// undone or are being posted. Items of one urgency are ordered by waiting time.
func (g *Gate) Items() ([]*Item, error) { return newReader(g).items() }

// Checked says how sure the investigator is and what the checks proved, in one line.
func (it *Item) Checked() string {
	if it.Confidence == "" {
		return it.Badge
	}
	return "confidence " + it.Confidence + before(", ", it.Badge)
}

// inRoom keeps the items of the gate's room, with the IDs that they have among all, and damaged
// files, whose room is unknown.
func (g *Gate) inRoom(items []*Item) []*Item {
	plain := func(name string) string { return strings.ToLower(strings.TrimPrefix(name, "#")) }
	return slices.DeleteFunc(items, func(it *Item) bool {
		return g.Room != "" && it.Kind != Damaged && plain(it.ChatName) != plain(g.Room)
	})
}

// policy returns the current policy.
func (g *Gate) policy() (decision.Policy, error) {
	if g.Policy != nil {
		return g.Policy()
	}
	return decision.PolicyOf(g.Config), nil
}

// item returns a pending thread as an item, or nil if nothing of it waits: it is decided already, or void
// and about to change.
func (g *Gate) item(t *thread.Thread, st *decision.Standing) *Item {
	it := &Item{
		Key: t.Key, Cycle: t.Cycle, DraftSHA256: t.DraftSHA256, Platform: t.Platform, ChatName: t.ChatName,
		Who: t.OriginalSenderName, Question: question(t), Badge: t.Badge, Since: since(t), thread: t,
		standing: st,
	}
	if it.Who == "" {
		it.Who = t.OriginalSenderID
	}
	if st != nil && st.Cycle < t.Cycle {
		st, it.standing = nil, nil
	}
	switch {
	case t.DraftPending == nil && st != nil && st.Decision != nil:
		return nil
	case t.Asked != "":
		it.Kind, it.Note = Ask, t.Asked
	case t.DraftPending == nil:
		it.Kind, it.Note = Failure, t.InvestigatorError
	case st == nil || st.Offer == nil || st.Offer.DraftSHA256 != t.DraftSHA256:
		it.Kind = Shadow
	case st.Open(g.Now()):
		it.Kind, it.Until = Draft, g.until(t, st.Offer)
		for _, v := range st.Votes {
			it.Votes = append(it.Votes, Vote{v.By, v.At, v.Text})
		}
	case st.Claimed:
		it.Kind, it.Note = Posting, st.Decision.Approval()
	case st.Approved():
		it.Kind, it.Note = Approved, st.Decision.Approval()
	default:
		return nil
	}
	if r := t.InvestigatorReturn; r != nil && r.Confidence != "" && t.DraftPending != nil {
		it.Confidence = text.Line(r.Confidence, 10)
	}
	return it
}

// proposal returns what a discussion proposes to do to an issue, nil if st is no such or is decided.
func (g *Gate) proposal(st *decision.Standing) *Item {
	o := st.Offer
	if o == nil || o.Target == nil || o.Target.Platform != config.PlatformForge {
		return nil
	}
	now := *st
	it := &Item{
		Kind: Draft, Key: st.Key, Cycle: st.Cycle, DraftSHA256: o.DraftSHA256, Platform: o.Target.Platform,
		ChatName: o.Target.ChatID, Who: o.By, Question: strings.Join(o.Sources, "\n"), Since: o.At,
		standing: &now,
	}
	if o.Meta != nil {
		it.Badge = o.Meta.Badge
	}
	for _, v := range st.Votes {
		it.Votes = append(it.Votes, Vote{v.By, v.At, v.Text})
	}
	switch {
	case st.Approved():
		it.Kind, it.Note = Approved, st.Decision.Approval()
	case !st.Open(g.Now()):
		return nil
	}
	return it
}

// until returns when an offer expires, if its waiting time is counted without interruption.
func (g *Gate) until(t *thread.Thread, offer *decision.Record) string {
	hours := g.Config.Dispatch.OfferExpiresH
	ready := text.ParseTime(t.ReadyAt)
	if offer.ExpiresAt != "" || hours <= 0 || ready.IsZero() {
		return offer.ExpiresAt
	}
	return ready.Add(time.Duration(hours * float64(time.Hour))).UTC().Format(time.RFC3339)
}

// shownEnded is how long an item that has expired or was dismissed is shown.
const shownEnded = 7 * 24 * time.Hour

// expired returns an offer that waited too long, or nil if it ended in another way, or too long ago.
func (g *Gate) expired(st *decision.Standing) *Item {
	if !st.Expired() || g.Now().Sub(text.ParseTime(st.VoidAt)) > shownEnded {
		return nil
	}
	t, err := thread.Load(g.Home, st.Key)
	if err != nil || t == nil || t.Status != thread.Closed || t.Cycle != st.Cycle {
		return nil // the thread has moved on
	}
	now := *st
	return &Item{
		Kind: Expired, Key: st.Key, Cycle: st.Cycle, DraftSHA256: st.Offer.DraftSHA256, Platform: t.Platform,
		ChatName: t.ChatName,
		Who:      cmp.Or(t.OriginalSenderName, t.OriginalSenderID), Question: question(t), Badge: t.Badge,
		Since: st.VoidAt,
		Note:  "expired: " + decision.ExpiredNote + "; undo brings it back", thread: t, standing: &now,
	}
}

// ended returns an item that a person has ended without a post, nil if st is no such, or it has moved on.
func (g *Gate) ended(st *decision.Standing) *Item {
	if !st.Ended() {
		return nil
	}
	t, err := thread.Load(g.Home, st.Key)
	if err != nil || t == nil || t.Status != thread.Closed || t.Cycle != st.Cycle {
		return nil
	}
	now := *st
	sum := ""
	if st.Offer != nil {
		sum = st.Offer.DraftSHA256 // as while it waited, so that its ID is the same
	}
	return &Item{
		Kind: Ended, Key: st.Key, Cycle: st.Cycle, DraftSHA256: sum, Platform: t.Platform,
		ChatName: t.ChatName,
		Who:      cmp.Or(t.OriginalSenderName, t.OriginalSenderID),
		Question: question(t), Since: st.Decision.At,
		Note: "by " + strings.TrimSuffix(st.Decision.By+": "+st.Decision.Note, ": "), thread: t,
		standing: &now,
	}
}

func question(t *thread.Thread) string {
	var texts []string
	for _, m := range t.Messages {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}

// since returns the time from which the thread waits.
func since(t *thread.Thread) string {
	if n := len(t.StatusHistory); n > 0 {
		return t.StatusHistory[n-1].At
	}
	return t.StartedAt
}

// noPost is the entry of a damaged item: nothing can be decided about it.
var noPost outbox.Entry

// damaged returns a file that cannot be read as an item, so that it is seen and the others are not lost.
func damaged(key, post string, err error) *Item {
	return &Item{Kind: Damaged, Key: key, Post: post, Note: err.Error(), entry: &noPost}
}

func (g *Gate) parked(e *outbox.Entry) *Item {
	it := &Item{
		Kind: Parked, Key: e.Key, Cycle: e.Cycle, DraftSHA256: e.DraftSHA256, Post: e.ID, Since: e.IntentAt,
		Platform: e.Platform, ChatName: e.ChatID, Question: e.Text, Badge: "may or may not be posted",
		Note: e.Why, entry: e,
	}
	if t, err := thread.Load(g.Home, e.Key); err == nil && t != nil { // only for names
		it.ChatName, it.Who = t.ChatName, t.OriginalSenderName
	}
	return it
}

// next says what a person can do with an item.
func (it *Item) next() string {
	switch it.Kind {
	case Draft:
		return "approve, edit, dismiss and redo are for it: tri-approve show " + it.ID
	case Shadow:
		return "dismiss and redo are for it, since it is not offered for posting: tri-approve show " + it.ID
	case Ask:
		return "answer it: tri-approve answer " + it.ID
	case Failure:
		return "redo or dismiss it: tri-approve show " + it.ID
	case Parked:
		return "look whether it is in the chat, then: tri-approve settle " + it.ID
	case Expired:
		return "undo brings it back: tri-approve undo " + it.ID
	case Ended:
		return "reopen starts it again: tri-approve reopen " + it.ID
	case Damaged:
		return "tri-report verify names what is damaged; compare it with a backup"
	case Approved:
		return "undo takes the approval back, as long as it is not being posted"
	}
	return "it is being posted; tri-approve list --all shows the result"
}

// Find returns the one item of the given kinds that name identifies: by its ID, its thread's UUID or key or
// the post's id, or a prefix of one of at least three characters.
func (g *Gate) Find(name string, kinds ...string) (*Item, error) {
	items, err := g.Items()
	if err != nil {
		return nil, err
	}
	var found, other []*Item
	for _, it := range items {
		switch {
		case !it.named(name):
		case slices.Contains(kinds, it.Kind):
			found = append(found, it)
		default:
			other = append(other, it)
		}
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(it *Item) bool {
		return it.Key != name && it.Post != name
	})
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, sysexit.Hint(sysexit.With(sysexit.Usage,
			fmt.Errorf("%q names %d items: %s", name, len(found), ids(found))), "give more of one of them")
	case len(other) > 0:
		err := sysexit.With(sysexit.No, fmt.Errorf("%q is %s; the command applies to: %s", name, other[0].state(),
			strings.Join(kinds, ", ")))
		return nil, sysexit.Hint(err, other[0].next())
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("nothing called %q waits", name)),
		"tri-approve list shows the ids")
}

func (it *Item) named(name string) bool {
	return text.Names(name, it.full) || text.Names(name, thread.UUID(it.Key)) || text.Names(name, it.Key) ||
		text.Names(name, it.Post)
}

// state describes an item's kind in words.
func (it *Item) state() string {
	switch it.Kind {
	case Draft:
		return "a draft that waits"
	case Shadow:
		return "a draft that was not offered for posting"
	case Ask:
		return "a question to you"
	case Failure:
		return "an investigation that failed"
	case Parked:
		return "a parked post"
	case Expired:
		return "a draft that expired"
	case Ended:
		return "dismissed"
	case Damaged:
		return "a damaged file"
	case Approved:
		return "approved already"
	}
	return "being posted: too late"
}

func ids(items []*Item) string {
	var names []string
	for _, it := range items {
		names = append(names, fmt.Sprintf("%s (%s)", it.ID, it.Key))
	}
	return strings.Join(names, ", ")
}
