// Package memory shows what a team's memory holds: entries with the state of their cited lines,
// what helps with a question, themes, and the entries as Markdown.
package memory

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/recall"
	"tri/lib/record/decision"
	"tri/lib/record/memory"
)

// View reads the memory of a home.
type View struct {
	Home   *durable.Home
	Config *config.Config
}

// Shown is an entry as it is shown: with the state of its lines now, and why it is not used.
type Shown struct {
	memory.Entry
	State string `json:"state"`         // unchanged, moved, changed, or unreadable
	Why   string `json:"why,omitempty"` // what moved or changed
	Used  bool   `json:"used"`          // it may be recalled
}

// All returns all entries, oldest first, with the state of their cited lines.
func (v *View) All() ([]Shown, error) {
	entries, err := memory.Read(v.Home, decision.PolicyOf(v.Config))
	if err != nil {
		return nil, err
	}
	states := map[string]*codebase{}
	defer func() {
		for _, c := range states {
			c.close()
		}
	}()
	shown := make([]Shown, len(entries))
	for i, e := range entries {
		c := states[e.Codebase]
		if c == nil {
			c = open(v.Config.Folder(e.Codebase))
			states[e.Codebase] = c
		}
		shown[i] = Shown{Entry: e}
		shown[i].State, shown[i].Why = c.state(&e)
		if what := recall.Quarantined(&e); e.Out == "" && len(what) > 0 {
			shown[i].Out = "quarantined: it instructs its reader: " + what[0]
		}
		shown[i].Used = recall.Usable(&e) && shown[i].State != recall.Changed && shown[i].State != unreadable
	}
	return shown, nil
}

// unreadable is the state of an entry whose codebase cannot be read.
const unreadable = "unreadable"

// codebase is a folder in which cited lines are looked up.
type codebase struct {
	root *os.Root
	repo evidence.Repo
	err  error
}

func open(dir string) *codebase {
	c := &codebase{}
	if c.root, c.err = os.OpenRoot(dir); c.err == nil {
		c.repo, c.err = evidence.OpenRepo(dir)
	}
	return c
}

func (c *codebase) close() {
	if c.root != nil {
		c.root.Close()
	}
}

func (c *codebase) state(e *memory.Entry) (state, why string) {
	if c.err != nil {
		return unreadable, c.err.Error()
	}
	state, why, err := recall.State(c.root, c.repo, e.Refs)
	if err != nil {
		return unreadable, err.Error()
	}
	return state, why
}

// Recall returns what would be given to an investigation of a question in a chat; platform and chat may be
// empty: then only entries that belong to no chat are returned.
func (v *View) Recall(ctx context.Context, codebase, platform, chat, question string) ([]Shown, error) {
	all, err := v.All()
	if err != nil {
		return nil, err
	}
	var used []memory.Entry
	shown := map[string]Shown{}
	for _, s := range all {
		if s.Used {
			used, shown[s.ID] = append(used, s.Entry), s
		}
	}
	best, err := recall.Rank(ctx, used, recall.Readers{Codebase: codebase, Platform: platform, ChatID: chat},
		question)
	out := make([]Shown, len(best))
	for i, e := range best {
		out[i] = shown[e.ID]
	}
	return out, err
}

// Find returns the entry that an id, or its beginning, names.
func (v *View) Find(id string) (Shown, error) {
	all, err := v.All()
	if err != nil {
		return Shown{}, err
	}
	var found []Shown
	for _, s := range all {
		if s.ID == id || text.Names(id, strings.TrimPrefix(s.ID, "m-")) || text.Names(id, s.ID) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Shown{}, sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("no entry %q", id)),
			"tri-memory list shows the ids")
	}
	return Shown{}, sysexit.With(sysexit.Usage,
		fmt.Errorf("%q names %d entries: type more of the id", id, len(found)))
}

// Gone returns the entries that would be used if their cited lines had not changed, each with what changed.
func Gone(all []Shown) []Shown {
	var gone []Shown
	for _, s := range all {
		if s.Out == "" && (s.State == recall.Changed || s.State == unreadable) {
			s.Out = s.Why
			gone = append(gone, s)
		}
	}
	return gone
}

// A Theme is what at least three entries of different days share.
type Theme struct {
	Codebase string   `json:"codebase"`
	Words    []string `json:"words"` // at least three
	Days     []string `json:"days"`
	IDs      []string `json:"ids"`
}

// Themes finds the used entries that share at least three significant words on at least three days: each is a
// candidate for a core lesson, which a person writes with tri-memory note.
func Themes(all []Shown) []Theme {
	type item struct {
		s     Shown
		words map[string]bool
	}
	by := map[string][]item{}
	for _, s := range all {
		if s.Used && !s.Core {
			by[s.Codebase] = append(by[s.Codebase], item{s, significant(s.Question + " " + s.Text)})
		}
	}
	var themes []Theme
	for _, name := range sortedKeys(by) {
		items, taken := by[name], map[string]bool{}
		for i, first := range items {
			if taken[first.s.ID] {
				continue
			}
			shared, ids, days := first.words, []string{first.s.ID}, map[string]bool{day(first.s.At): true}
			for _, next := range items[i+1:] {
				common := both(shared, next.words)
				if len(common) >= 3 && !taken[next.s.ID] {
					shared, ids = common, append(ids, next.s.ID)
					days[day(next.s.At)] = true
				}
			}
			if len(days) >= 3 {
				for _, id := range ids {
					taken[id] = true
				}
				themes = append(themes, Theme{Codebase: name, Words: sortedKeys(shared),
					Days: sortedKeys(days), IDs: ids})
			}
		}
	}
	return themes
}

// significant returns the words of at least five letters, in lower case.
func significant(s string) map[string]bool {
	long := recall.Words(s)
	maps.DeleteFunc(long, func(w string, _ bool) bool { return utf8.RuneCountInString(w) < 5 })
	return long
}

func both(a, b map[string]bool) map[string]bool {
	out := map[string]bool{}
	for w := range a {
		if b[w] {
			out[w] = true
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
