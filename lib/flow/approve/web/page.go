package web

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// functions are the functions of the template. show is for outside text: it makes invisible characters
// visible, and the template escapes the rest.
var functions = template.FuncMap{
	"show": text.Visible,
	"line": func(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") },
	"clock": func(at string) string { // to the minute
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return text.Visible(at)
		}
		return t.Format("2006-01-02 15:04Z07:00")
	},
	"add":      func(a, b int) int { return a + b },
	"rendered": rendered,
	"cost": func(u *draft.Usage) string {
		switch {
		case u == nil:
			return ""
		case u.CostUSD == nil:
			return "cost not told"
		case u.CostAtLeast:
			return fmt.Sprintf("at least $%.4f", *u.CostUSD)
		}
		return fmt.Sprintf("$%.4f", *u.CostUSD)
	},
	"among":    func(id string, ids []string) bool { return slices.Contains(ids, id) },
	"waits":    func(it *approve.Item) bool { return it.Waits() },
	"objected": objected,
}

// objected returns the checks that found something.
func objected(v *verdict.Verdict) []verdict.Check {
	return slices.DeleteFunc(slices.Clone(v.Checks), func(c verdict.Check) bool {
		return c.Result == "ok" || c.Result == verdict.Supports
	})
}

// sheet is the data of the template.
type sheet struct {
	Person  string
	May     bool   // the person may decide
	Room    string // the only chat that is shown, "" for all
	Seal    string
	Folder  string // path prefix of all addresses of the page
	Version int
	Typed   string // text that the person wrote but that was not sent
	Checked string // its hash, once its account was shown
	Account []verdict.Sentence
	Rows    []row
	Shown   *shown
	Said    string        // the outcome of the last decision
	Undo    *approve.Item // the item of that decision, while it can be undone
	Fault   string
	Open    bool // an item was requested: a small screen shows it instead of the list
}

// row is one line of the list.
type row struct {
	*approve.Item
	Age     string
	Current bool
}

// shown is the displayed item.
type shown struct {
	approve.View
	Age   string
	Links []string // to the evidence; "" if there is none
	Gone  string   // why it can no longer be decided
	Grace int      // seconds until an approved draft is posted
}

func (s *server) page(w http.ResponseWriter, r *http.Request) { s.render(w, r, "", "", "") }

func (s *server) item(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, r.PathValue("id"), "", "")
}

// render shows the list and one item: the one with the given id, or the one that has waited longest.
func (s *server) render(w http.ResponseWriter, r *http.Request, id, said, fault string) {
	v := visitorOf(r)
	items, version, err := s.board.Items()
	policy, perr := s.Gate.Rules()
	if err = errors.Join(err, perr); err != nil {
		fault = err.Error()
	}
	sh := sheet{
		Person: v.person, May: policy.Allows(v.person),
		Seal: s.guard.seal(v.session), Folder: v.folder, Version: version, Room: s.Gate.Room,
		Said: said, Fault: fault, Open: id != "",
	}
	var current *approve.Item
	for _, it := range items {
		if text.Names(id, it.ID) || id != "" && it.ID != "" && strings.HasPrefix(id, it.ID) {
			current = it
		}
	}
	switch {
	case current == nil && id != "":
		sh.Shown = &shown{Gone: "It no longer waits: it was decided, or replaced by a newer draft."}
	case current == nil && len(items) > 0:
		current = items[0]
	}
	switch typed := r.PostForm.Get("text"); {
	case fault != "" && current != nil:
		sh.Typed = typedText(typed, s.Gate.View(current).Draft)
	case fault != "" && r.PostForm.Get("word") == decision.Edit:
		sh.Typed = typedText(typed, "")
	}
	if sh.Typed != "" && current != nil && current.Kind == approve.Draft {
		sh.Account, _ = s.Gate.Account(current, sh.Typed)
		sh.Checked = decision.Sum(sh.Typed)
	}
	for _, it := range items {
		if said != "" && it.Kind == approve.Approved && it.Is(r.PostForm.Get("id")) {
			sh.Undo = it
		}
		sh.Rows = append(sh.Rows, row{it, age(it, s.Now()), it == current})
	}
	if current != nil {
		sh.Shown = s.show(r, current)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Version", fmt.Sprint(version))
	if err := s.pages.Execute(w, sh); err != nil {
		s.Say("page: %v", err)
	}
}

func (s *server) show(r *http.Request, it *approve.Item) *shown {
	g := s.Gate
	sh := &shown{View: g.View(it), Age: age(it, s.Now())}
	for _, c := range sh.Evidence {
		codebase := ""
		if sh.Thread != nil {
			codebase = sh.Thread.Codebase
		}
		sh.Links = append(sh.Links, s.links.to(r.Context(), codebase, c))
	}
	if at := it.ApprovedAt(); it.Kind == approve.Approved && !at.IsZero() {
		sh.Grace = max(0, int((s.Gate.Config.Gate.Grace() - s.Now().Sub(at)).Seconds()))
	}
	return sh
}

func age(it *approve.Item, now time.Time) string {
	at, err := time.Parse(time.RFC3339, it.Since)
	if err != nil {
		return "?"
	}
	return term.Age(at, now)
}

// decide takes a person's decision about the draft that they saw.
func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	f := r.PostForm
	said, err := s.word(visitorOf(r).person, f)
	s.board.Refresh()
	if err == nil {
		s.render(w, r, "", said, "")
		return
	}
	fault := err.Error()
	for _, hint := range sysexit.Hints(err) {
		fault += "; " + hint
	}
	w.Header().Set("X-Refused", "1")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusConflict)
	s.render(w, r, f.Get("id"), "", fault)
}

// errStale answers a decision about a draft that is no longer current.
var errStale = sysexit.With(sysexit.No,
	errors.New("not done: this draft was decided, or replaced by a newer one, since you loaded the page"))

// errTyped answers an approval of the draft when the form holds a changed text.
var errTyped = sysexit.With(sysexit.No,
	errors.New("not done: you have written a text of your own; approve that text, or discard it and approve the draft"))

// typedText returns the text of a form if a person changed it, "" if it is the text that the page put
// there.
func typedText(field, draft string) string {
	typed := approve.Edited(field)
	if strings.TrimSpace(typed) == "" || typed == approve.Edited(draft) ||
		typed == approve.Edited(text.Visible(draft)) {
		return ""
	}
	return typed
}

// errUnread answers the first approval of a typed text: the page then shows what the evidence covers of it.
var errUnread = sysexit.With(sysexit.No,
	errors.New("not posted yet: read below what the evidence covers of your text, then approve it again"))

func (s *server) word(person string, f url.Values) (string, error) {
	g := s.Gate
	word, note := f.Get("word"), f.Get("note")
	g.By, g.NoFile = person, f.Get("no_file") != ""
	items, err := g.Items()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(items, func(it *approve.Item) bool { return it.Is(f.Get("id")) })
	if i < 0 || items[i].DraftSHA256 != f.Get("sha") {
		return "", errStale
	}
	it := items[i]
	text := approve.Edited(f.Get("text")) // browsers send CRLF
	switch word {
	case "approve":
		if typedText(text, s.Gate.View(it).Draft) != "" {
			return "", errTyped
		}
		said, err := g.Decide(it, decision.Approve, "")
		return s.approved("Approved", said), err
	case "edit":
		if typedText(text, s.Gate.View(it).Draft) != "" && f.Get("checked") != decision.Sum(text) {
			return "", errUnread
		}
		said, err := g.Edit(it, text)
		return strings.TrimSpace(s.approved("Approved with your text", said) + " " + said.Proposes()), err
	case "reopen":
		word = decision.Redo
		fallthrough
	case decision.Dismiss, decision.Redo, decision.Answer, decision.Escalate, decision.Undo:
		_, err = g.Decide(it, word, note)
		return strings.ToUpper(approve.Done[word][:1]) + approve.Done[word][1:] + ".", err
	case "posted", "retry", "drop":
		_, err = g.Settle(it, word, note)
		return "Settled.", err
	}
	return "", sysexit.With(sysexit.Usage, fmt.Errorf("unknown action %q", word))
}

// approved describes the effect of an approval.
func (s *server) approved(done string, said approve.Said) string {
	if waits := said.Waits(); waits != "" {
		return fmt.Sprintf("%s: %s.", done, waits)
	}
	return fmt.Sprintf("%s; it is posted in %v unless you take it back.", done, s.Gate.Config.Gate.Grace())
}

// changes streams the version of the list to a tab whenever the list changes.
func (s *server) changes(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	full := s.waiting >= maxStreams
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	if full {
		http.Error(w, "too many open tabs", http.StatusTooManyRequests)
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting--
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is read from this request
	pulse := time.NewTicker(20 * time.Second)
	defer pulse.Stop()
	for {
		changed := s.board.Changed()
		_, version, _ := s.board.Items() // the page shows the error
		if _, err := fmt.Fprintf(w, "data: %d\n\n", version); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-pulse.C:
		}
	}
}
