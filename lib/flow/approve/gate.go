// Package approve is the review queue: it lists the drafts that wait, shows each with
// its evidence, and appends a person's decision to the log. Nothing that came from a
// chat, an agent or code is shown as it is, and whatever is said here counts only if
// decision.State says so.
package approve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// Gate is one person's view of a home.
type Gate struct {
	Home   *durable.Home
	Config *config.Config
	By     string // who decides
	Via    string // terminal, web, chat
	Now    func() time.Time
	// Policy says who may decide now; nil: the configuration that was read at the start.
	Policy func() (decision.Policy, error)
	// NoFile says yes without the triage file that was proposed with the draft.
	NoFile bool
	// Ref is the click or the message by which they say it, for decision.Record.
	Ref string
}

// Kinds of item.
const (
	Draft    = "draft"    // a draft waits for a yes
	Shadow   = "shadow"   // a draft that was not offered for posting
	Ask      = "ask"      // the operator is asked before anything runs
	Failure  = "failure"  // nothing to post came of the investigation
	Parked   = "parked"   // nobody can prove whether a post stands
	Approved = "approved" // a yes that can be undone
	Posting  = "posting"  // a yes that is being posted
	Expired  = "expired"  // a draft that waited for too long; it can be brought back
)

// Item is one thing that waits for a person, or that a person can still undo.
type Item struct {
	Number      int    `json:"number,omitempty"` // place in the list of what waits, from 1
	ID          string `json:"id"`               // short, stands for exactly this draft
	Kind        string `json:"kind"`
	Key         string `json:"key"`
	Cycle       int    `json:"cycle"`
	DraftSHA256 string `json:"draft_sha256"`
	Post        string `json:"post,omitempty"`  // of a parked one, its entry
	Since       string `json:"since"`           // RFC 3339
	Until       string `json:"until,omitempty"` // when the offer is void
	Platform    string `json:"platform"`
	ChatName    string `json:"chat_name"`
	Who         string `json:"who"`
	Question    string `json:"question"`
	Badge       string `json:"badge,omitempty"`
	Note        string `json:"note,omitempty"` // what is asked, why it failed or is parked, who approved
	// Votes are the yeses so far, where more than one is needed.
	Votes []Vote `json:"votes,omitempty"`

	full     string // of which ID is a prefix
	thread   *thread.Thread
	standing *decision.Standing
	entry    *outbox.Entry
}

// Vote is one person's yes, to the draft or to a text in its place.
type Vote struct {
	By   string `json:"by"`
	At   string `json:"at"`
	Text string `json:"text"`
}

// Waits reports whether a person is to say something.
func (it *Item) Waits() bool { return it.Kind != Approved && it.Kind != Posting && it.Kind != Expired }

// Is reports whether id, at least as long as an ID, names exactly this item.
func (it *Item) Is(id string) bool { return len(id) >= idLength && strings.HasPrefix(it.full, id) }

// Name is what ID is the beginning of: 64 hex digits that stand for exactly this
// draft of this thread, for ever.
func (it *Item) Name() string { return it.full }

// Name is Item.Name of an item that may wait no longer. post is "" but of a parked
// one.
func Name(key string, cycle int, draftSHA256, post string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%s", key, cycle, draftSHA256, post))
	return hex.EncodeToString(sum[:])
}

// ApprovedAt is when a yes was said; the zero time where none was.
func (it *Item) ApprovedAt() time.Time {
	if it.standing == nil || it.standing.Decision == nil {
		return time.Time{}
	}
	return instant(it.standing.Decision.At)
}

// idLength is how many characters an ID has at least.
const idLength = 6

// Items returns what waits, oldest first and numbered, and behind it what can be
// undone or is being posted.
func (g *Gate) Items() ([]*Item, error) { return newReader(g).items() }

// policy is who may decide now.
func (g *Gate) policy() (decision.Policy, error) {
	if g.Policy != nil {
		return g.Policy()
	}
	return decision.PolicyOf(g.Config), nil
}

func (g *Gate) fold(policy decision.Policy) (*decision.State, error) {
	state := decision.NewState(policy)
	err := decision.NewTail(g.Home).Next(func(r decision.Record) error {
		state.Add(r)
		return nil
	})
	return state, err
}

// item is a pending thread as a person should see it, nil when nothing of it
// waits: decided already, or void and about to move.
func (g *Gate) item(t *thread.Thread, st *decision.Standing) *Item {
	it := &Item{
		Key: t.Key, Cycle: t.Cycle, DraftSHA256: t.DraftSHA256, Platform: t.Platform, ChatName: t.ChatName,
		Who: t.OriginalSenderName, Question: question(t), Badge: t.Badge, Since: since(t), thread: t, standing: st,
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
		it.Kind, it.Note = Posting, "approved by "+st.Decision.By
	case st.Approved():
		it.Kind, it.Note = Approved, "approved by "+st.Decision.By
	default:
		return nil
	}
	return it
}

// until is when an offer is void, if its time is counted without a break.
func (g *Gate) until(t *thread.Thread, offer *decision.Record) string {
	hours := g.Config.Dispatch.OfferExpiresH
	ready := instant(t.ReadyAt)
	if offer.ExpiresAt != "" || hours <= 0 || ready.IsZero() {
		return offer.ExpiresAt
	}
	return ready.Add(time.Duration(hours * float64(time.Hour))).UTC().Format(time.RFC3339)
}

// shownExpired is how long what has expired is shown, and can be brought back.
const shownExpired = 7 * 24 * time.Hour

// expired is an offer that waited for too long, nil where it was another way that it
// came to nothing, or long ago.
func (g *Gate) expired(st *decision.Standing) *Item {
	if !st.Expired() || g.Now().Sub(instant(st.VoidAt)) > shownExpired {
		return nil
	}
	t, err := thread.Load(g.Home, st.Key)
	if err != nil || t == nil || t.Status != thread.Closed || t.Cycle != st.Cycle {
		return nil // it went on
	}
	now := *st
	return &Item{
		Kind: Expired, Key: st.Key, Cycle: st.Cycle, DraftSHA256: st.Offer.DraftSHA256, Platform: t.Platform, ChatName: t.ChatName,
		Who: cmp.Or(t.OriginalSenderName, t.OriginalSenderID), Question: question(t), Badge: t.Badge, Since: st.VoidAt,
		Note: "expired: " + decision.ExpiredNote + "; undo brings it back", thread: t, standing: &now,
	}
}

func question(t *thread.Thread) string {
	var texts []string
	for _, m := range t.Messages {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}

// since is when the thread came to wait.
func since(t *thread.Thread) string {
	if n := len(t.StatusHistory); n > 0 {
		return t.StatusHistory[n-1].At
	}
	return t.StartedAt
}

func (g *Gate) parked(e *outbox.Entry) *Item {
	it := &Item{
		Kind: Parked, Key: e.Key, Cycle: e.Cycle, DraftSHA256: e.DraftSHA256, Post: e.ID, Since: e.IntentAt,
		Platform: e.Platform, ChatName: e.ChatID, Question: e.Text, Badge: "may or may not be posted", Note: e.Why, entry: e,
	}
	if t, err := thread.Load(g.Home, e.Key); err == nil && t != nil { // only for names; the entry has what counts
		it.ChatName, it.Who = t.ChatName, t.OriginalSenderName
	}
	return it
}

// number sorts, gives numbers to what waits, and IDs that tell all apart.
func number(items []*Item) []*Item {
	slices.SortStableFunc(items, func(a, b *Item) int {
		switch {
		case a.Waits() != b.Waits() && a.Waits():
			return -1
		case a.Waits() != b.Waits():
			return 1
		case a.Since != b.Since:
			return instant(a.Since).Compare(instant(b.Since))
		}
		return strings.Compare(a.Key, b.Key)
	})
	length := idLength
	seen := map[string]bool{}
	for i, it := range items {
		if it.Waits() {
			it.Number = i + 1
		}
		it.full = Name(it.Key, it.Cycle, it.DraftSHA256, it.Post)
		for seen[it.full[:length]] {
			length++
		}
		seen[it.full[:length]] = true
	}
	for _, it := range items {
		it.ID = it.full[:length]
	}
	return items
}

func instant(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{} // unreadable: the oldest of all
	}
	return at
}

// next is what a person can do about an item.
func (it *Item) next() string {
	switch it.Kind {
	case Draft, Shadow:
		return "approve, edit, dismiss and redo are for it: tri-approve show " + it.ID
	case Ask:
		return "answer it: tri-approve answer " + it.ID
	case Failure:
		return "redo or dismiss it: tri-approve show " + it.ID
	case Parked:
		return "look whether it stands in the chat, then: tri-approve settle " + it.ID
	case Expired:
		return "undo brings it back: tri-approve undo " + it.ID
	case Approved:
		return "undo takes the approval back, as long as it is not being posted"
	}
	return "it is being posted; tri-approve list --all shows what becomes of it"
}

// Find returns the one item of the kinds that a person named: by its ID or a
// prefix of at least four characters, by a prefix of the thread's key or the
// post's id, or by its number in the list.
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
	exact := slices.DeleteFunc(slices.Clone(found), func(it *Item) bool { return it.Key != name && it.Post != name })
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, sysexit.Hint(sysexit.With(sysexit.Usage, fmt.Errorf("%q names %d items: %s", name, len(found), ids(found))), "give more of one of them")
	case len(other) > 0:
		err := sysexit.With(sysexit.No, fmt.Errorf("%q is %s; that is for %s", name, other[0].state(), strings.Join(kinds, ", ")))
		return nil, sysexit.Hint(err, other[0].next())
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("nothing called %q waits", name)), "tri-approve list names what does")
}

func (it *Item) named(name string) bool {
	if IsNumber(name) {
		return fmt.Sprint(it.Number) == name
	}
	return len(name) >= 4 && strings.HasPrefix(it.full, name) ||
		name != "" && (strings.HasPrefix(it.Key, name) || it.Post != "" && strings.HasPrefix(it.Post, name))
}

// state is what an item is, in words.
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
	case Approved:
		return "approved already"
	}
	return "being posted: too late"
}

// IsNumber reports whether a name is a place in the list, which another item can
// have a moment later.
func IsNumber(name string) bool {
	return len(name) > 0 && len(name) < 4 && strings.Trim(name, "0123456789") == ""
}

func ids(items []*Item) string {
	var names []string
	for _, it := range items {
		names = append(names, fmt.Sprintf("%s (%s)", it.ID, it.Key))
	}
	return strings.Join(names, ", ")
}
