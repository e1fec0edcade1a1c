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

// Rules returns the current policy.
func (g *Gate) Rules() (decision.Policy, error) {
	if g.Policy != nil {
		return g.Policy()
	}
	return decision.PolicyOf(g.Config), nil
}

// item returns a pending thread as an item, or nil if nothing of it waits: it is decided already, or void
// and about to change.
func (g *Gate) item(t *thread.Thread, st *decision.Standing) *Item {
	it := newItem(t, st)
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
		it.Votes = votes(st)
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
		standing: &now, Votes: votes(st),
	}
	if o.Meta != nil {
		it.Badge = o.Meta.Badge
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

// over returns what has ended without a post for at most most, and can be begun again: an offer that waited
// too long, or what a person has dismissed. It returns nil if st is neither, or its thread has moved on.
func (g *Gate) over(st *decision.Standing, most time.Duration) *Item {
	kind, sum, at, note := Ended, "", "", ""
	if st.Offer != nil {
		sum = st.Offer.DraftSHA256 // as while it waited, so that its ID is the same
	}
	switch {
	case st.Expired():
		kind, at, note = Expired, st.VoidAt, "expired: "+decision.ExpiredNote+"; undo brings it back"
	case st.Ended():
		at, note = st.Decision.At, "by "+strings.TrimSuffix(st.Decision.By+": "+st.Decision.Note, ": ")
	default:
		return nil
	}
	if g.Now().Sub(text.ParseTime(at)) > most {
		return nil
	}
	t, err := thread.Load(g.Home, st.Key)
	if err != nil || t == nil || t.Status != thread.Closed || t.Cycle != st.Cycle {
		return nil
	}
	now := *st
	it := newItem(t, &now)
	it.Kind, it.DraftSHA256, it.Since, it.Note = kind, sum, at, note
	return it
}

// newItem returns a thread as an item, without its kind.
func newItem(t *thread.Thread, st *decision.Standing) *Item {
	return &Item{
		Key: t.Key, Cycle: t.Cycle, DraftSHA256: t.DraftSHA256, Platform: t.Platform, ChatName: t.ChatName,
		Who: cmp.Or(t.OriginalSenderName, t.OriginalSenderID), Question: t.Text(), Badge: t.Badge,
		Since: since(t), thread: t, standing: st,
	}
}

// votes returns the approvals so far.
func votes(st *decision.Standing) (all []Vote) {
	for _, v := range st.Votes {
		all = append(all, Vote{v.By, v.At, v.Text})
	}
	return all
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

// kinds says of each kind what an item is, and what a person can do with it, by its ID.
var kinds = map[string]struct{ state, next string }{
	Draft: {"a draft that waits", "approve, edit, dismiss and redo are for it: tri-approve show ID"},
	Shadow: {"a draft that was not offered for posting",
		"dismiss and redo are for it, since it is not offered for posting: tri-approve show ID"},
	Ask:      {"a question to you", "answer it: tri-approve answer ID"},
	Failure:  {"an investigation that failed", "redo or dismiss it: tri-approve show ID"},
	Parked:   {"a parked post", "look whether it is in the chat, then: tri-approve settle ID"},
	Expired:  {"a draft that expired", "undo brings it back: tri-approve undo ID"},
	Ended:    {"dismissed", "reopen starts it again: tri-approve reopen ID"},
	Damaged:  {"a damaged file", "tri-report verify names what is damaged; compare it with a backup"},
	Approved: {"approved already", "undo takes the approval back, as long as it is not being posted"},
	Posting:  {"being posted: too late", "it is being posted; tri-approve list --all shows the result"},
}

// next says what a person can do with an item.
func (it *Item) next() string { return strings.ReplaceAll(kinds[it.Kind].next, "ID", it.ID) }

// Find returns the one item of the given kinds that name identifies: by its ID, its thread's UUID or key or
// the post's id, or a prefix of one of at least three characters.
func (g *Gate) Find(name string, wanted ...string) (*Item, error) {
	items, err := g.Items()
	if err != nil {
		return nil, err
	}
	var found, other []*Item
	for _, it := range items {
		switch {
		case !it.named(name):
		case slices.Contains(wanted, it.Kind):
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
		err := sysexit.With(sysexit.No, fmt.Errorf("%q is %s; the command applies to: %s", name,
			kinds[other[0].Kind].state, strings.Join(wanted, ", ")))
		return nil, sysexit.Hint(err, other[0].next())
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("nothing called %q waits", name)),
		"tri-approve list shows the ids")
}

func (it *Item) named(name string) bool {
	return text.Names(name, it.full) || text.Names(name, thread.UUID(it.Key)) || text.Names(name, it.Key) ||
		text.Names(name, it.Post)
}

func ids(items []*Item) string {
	var names []string
	for _, it := range items {
		names = append(names, fmt.Sprintf("%s (%s)", it.ID, it.Key))
	}
	return strings.Join(names, ", ")
}
