package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// facts counts what was told.
type facts struct{ events, moves, approvals, posts, replies int }

func (f *facts) add(g facts) {
	f.events, f.moves, f.approvals, f.posts, f.replies = f.events+g.events, f.moves+g.moves,
		f.approvals+g.approvals, f.posts+g.posts, f.replies+g.replies
}

func (f *facts) sum() int { return f.events + f.moves + f.approvals + f.posts + f.replies }

// approval is a draft that waits, and that somebody was told is approved.
type approval struct {
	Key    string `json:"key"`
	SHA256 string `json:"draft_sha256"`
}

// told is what the world outside knows at an instant: records on stdout, exit
// statuses, the chat.
type told struct {
	facts     // that are new since the last time
	events    [][]byte
	moves     []thread.Move
	replies   [][]byte
	approvals []approval
	posts     []post
}

func (l *life) told() (*told, error) {
	t := new(told)
	var err1, err2, err4 error
	t.events, err1 = l.printed("watch")
	t.replies, err2 = l.printed("reply")
	moves, err3 := l.printed("dispatch")
	for _, line := range moves {
		var m thread.Move
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("tri-dispatch printed: %w", err)
		}
		t.moves = append(t.moves, m)
	}
	words, err5 := l.printed("approve")
	for _, line := range words {
		var a approval
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		t.approvals = append(t.approvals, a)
	}
	t.posts, err4 = l.chat.posts()
	if errors.Is(err4, fs.ErrNotExist) {
		err4 = nil // nobody has said anything
	}
	for _, e := range t.events {
		l.hold(&t.facts.events, "event "+string(e))
	}
	for _, m := range t.moves {
		l.hold(&t.facts.moves, "move "+moved(m.Key, m.At, m.To))
	}
	for _, a := range t.approvals {
		l.hold(&t.facts.approvals, "approval "+a.Key+a.SHA256)
	}
	for _, r := range t.replies {
		l.hold(&t.facts.replies, "reply "+string(r))
	}
	for _, p := range t.posts {
		l.hold(&t.facts.posts, "post "+p.key)
	}
	return t, errors.Join(err1, err2, err3, err4, err5)
}

func moved(key, at, to string) string { return key + " " + at + " " + to }

// hold counts a fact that is new.
func (l *life) hold(n *int, fact string) {
	if !l.held[fact] {
		*n++
	}
	l.held[fact] = true
}

// printed are the whole records that a stage has printed since the beginning, each
// once.
func (l *life) printed(stage string) (lines [][]byte, err error) {
	text, err := os.ReadFile(filepath.Join(l.dir, "told", stage))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		if !seen[string(line)] && bytes.HasSuffix(line, []byte("\n")) {
			lines = append(lines, line)
		}
		seen[string(line)] = true
	}
	return lines, err
}

// missing says which of what was told is not on the disk.
func (l *life) missing(t *told) (faults []string) {
	fault := func(format string, args ...any) {
		faults = append(faults, "lost: "+fmt.Sprintf(format, args...))
	}
	log, err := os.ReadFile(l.path("events.ndjson"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fault("%v", err)
	}
	for _, e := range t.events {
		var at struct{ Seq int }
		if err := json.Unmarshal(e, &at); err != nil || at.Seq > len(log) ||
			!bytes.HasPrefix(log[at.Seq:], e) {
			fault("tri-watch printed an event that is not at its offset: %.200s", e)
		}
	}
	replies, err := os.ReadFile(l.path("replies.ndjson"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fault("%v", err)
	}
	for _, r := range t.replies {
		if !bytes.Contains(replies, r) {
			fault("tri-reply printed a reply that is not in its log: %.200s", r)
		}
	}
	l.unpaid(fault)
	l.missingMoves(t, fault)
	l.missingWords(t, fault)
	return faults
}

// unpaid looks for investigations that began, and for which nothing was set aside.
// What code alone validates, or finds to be answered already, costs nothing, and
// has no folder of what an investigator said.
func (l *life) unpaid(fault func(string, ...any)) {
	spend, err := l.lines("spend.ndjson")
	if err != nil {
		fault("%v", err)
	}
	reserved := map[string]bool{}
	for _, line := range spend {
		var e budget.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			fault("spend.ndjson: %v", err)
		}
		reserved[e.RunID] = reserved[e.RunID] || e.Kind == budget.Reserve
	}
	runs, err := filepath.Glob(l.path("runs/i-*/raw"))
	if err != nil {
		fault("%v", err)
	}
	for _, dir := range runs {
		if id := filepath.Base(filepath.Dir(dir)); !reserved[id] {
			fault("run %s began, and spend.ndjson has set nothing aside for it", id)
		}
	}
}

func (l *life) missingMoves(t *told, fault func(string, ...any)) {
	open, err1 := filepath.Glob(l.path("open/*.json"))
	closed, err2 := filepath.Glob(l.path("closed/*/*.json"))
	if err := errors.Join(err1, err2); err != nil {
		fault("%v", err)
	}
	on := map[string]bool{}
	for _, name := range append(open, closed...) {
		var th thread.Thread
		if err := readJSON(name, &th); err != nil {
			fault("%v", err)
		}
		for _, c := range th.StatusHistory {
			on[moved(th.Key, c.At, c.To)] = true
		}
	}
	for _, m := range t.moves {
		if !on[moved(m.Key, m.At, m.To)] {
			fault("tri-dispatch told that %s is %s, and it is not", m.Key, m.To)
		}
	}
}

// missingWords looks for the approvals that tri-approve acknowledged, and for the
// intent of every post that stands in the chat.
func (l *life) missingWords(t *told, fault func(string, ...any)) {
	records, err := l.decisions()
	if err != nil {
		fault("%v", err)
	}
	on := map[string]bool{}
	for _, r := range records {
		on[r.Kind+" "+r.Key+" "+r.DraftSHA256] = true
	}
	for _, a := range t.approvals {
		if !on[decision.Approve+" "+a.Key+" "+a.SHA256] {
			fault("tri-approve told that %s is approved, and it is not", a.Key)
		}
	}
	under, err1 := filepath.Glob(l.path("outbox/*.json"))
	done, err2 := filepath.Glob(l.path("outbox/done/*.json"))
	if err := errors.Join(err1, err2); err != nil {
		fault("%v", err)
	}
	for _, name := range append(under, done...) {
		var e outbox.Entry
		if err := readJSON(name, &e); err != nil {
			fault("%v", err)
		}
		on[e.PostKey] = true
	}
	for _, p := range t.posts {
		if !on[p.key] {
			fault("%s was posted, and the outbox knows nothing of it", p.key)
		}
	}
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// mended are findings that a pipeline mends when it starts: it was cut between
// two steps.
var mended = []string{"its file is missing", "it differs from the journal",
	"has a file in open"}

// verify has tri-report look at the home as the cut has left it.
func (l *life) verify() (faults []string) {
	if !exists(l.home) {
		return nil // its first start had not come so far
	}
	out, err := l.command("tri-report", "verify", "--config", l.config, "--json").Output()
	n := 0
	for line := range bytes.Lines(out) {
		var f struct {
			What     string
			Bad      int
			Problems []string
		}
		if err := json.Unmarshal(line, &f); err != nil {
			faults = append(faults, err.Error())
		}
		for _, p := range f.Problems {
			if !strings.HasPrefix(f.What, "dispatch") || !contains(p, mended) {
				faults = append(faults, fmt.Sprintf("after the cut: %s: %s", f.What, p))
			}
		}
		n += f.Bad
	}
	if err != nil && n == 0 {
		faults = append(faults, fmt.Sprintf("tri-report verify: %v", err))
	}
	return faults
}

func contains(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
