package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/judge/relation"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

func init() {
	parts = append(parts, part{"replay",
		"Replay: what agents work over three rooms, in virtual seconds, with and without words to a run",
		replayPart})
}

// Seconds of the replay, and the bounds of lib/flow/dispatch on words.
const (
	validation  = 30.0
	untilPosted = 600.0
	mostWords   = 8
)

// policy is how a dispatcher treats what is said while it works.
type policy struct {
	name        string
	tells       bool    // words reach a run, which ends when it is not due; stale drafts are not validated
	hold, most  float64 // before a run
	run, aWord  float64 // what an investigation and a word cost
	investigate int
}

// working is a run in virtual time.
type working struct {
	id, key     string
	start, end  float64
	validates   bool
	told        []string
	asked, held float64 // when it was due, and until when it is held; it has not begun
}

// replay is a room under one policy.
type replay struct {
	policy
	items           map[string]*thread.Thread
	runs            map[string]*working
	known           map[string]bool // runs, and drafts that were offered
	posts           []thread.Input
	last            map[string]float64 // the asker's last message of an item
	seconds         float64
	waits, held     []float64
	offers, longest int
	decisions       int64
}

func stamp(at float64) string { return time.Unix(int64(at), 0).UTC().Format(time.RFC3339) }

func seconds(stamp string) float64 {
	t, _ := time.Parse(time.RFC3339, stamp) // events are valid
	return float64(t.Unix())
}

func (r *replay) apply(in thread.Input, now float64) {
	t := r.items[in.Key]
	if t == nil {
		t = new(thread.Thread)
	}
	if t.Knows(in) || t.Key == "" && !thread.Opens(in) {
		return
	}
	in.Stale = r.tells && t.Stales(in)
	next, _ := thread.Apply(*t, in)
	r.items[in.Key] = &next
	if e := in.Event; e != nil && e.Sender.ID == next.OriginalSenderID {
		r.last[in.Key] = now
		for _, w := range r.runs {
			if w.key == in.Key && w.held > 0 {
				w.held = min(w.asked+r.most, now+r.hold)
			}
		}
	}
	r.due(&next, now)
}

// due starts, tells and ends the runs of an item.
func (r *replay) due(t *thread.Thread, now float64) {
	want := map[string]bool{}
	for _, e := range thread.Due(*t) {
		want[e.RunID] = true
		switch w := r.runs[e.RunID]; {
		case e.RunID == "":
		case e.Kind == thread.EffectTell && w != nil && r.tells:
			r.tell(t, w, now)
		case !r.known[e.RunID]:
			r.known[e.RunID] = true
			w = &working{id: e.RunID, key: t.Key, asked: now, validates: e.Kind == thread.EffectValidate}
			r.runs[e.RunID] = w
			if w.held = min(now+r.most, r.last[t.Key]+r.hold); w.validates || w.held <= now {
				r.begin(w, now)
			}
		}
	}
	for id, w := range r.runs {
		if w.key != t.Key || want[id] {
			continue
		}
		if r.tells && w.held == 0 {
			r.seconds -= w.end - now
		}
		if r.tells || w.held > 0 {
			delete(r.runs, id)
		}
	}
	if offer := fmt.Sprint(t.Key, t.Cycle); t.Status == thread.PendingUser && t.DraftPending != nil &&
		!r.known[offer] {
		r.known[offer] = true
		r.offers++
		r.waits = append(r.waits, now-r.last[t.Key])
		r.posts = append(r.posts, thread.Input{At: stamp(now + untilPosted), Key: t.Key,
			Reply: &outbox.Reply{Key: t.Key, Cycle: t.Cycle, DraftSHA256: t.DraftSHA256,
				Outcome: outbox.Posted}})
	}
}

// begin starts a run. What waits is in its prompt.
func (r *replay) begin(w *working, now float64) {
	w.start, w.held = now, 0
	w.end = now + validation
	if !w.validates {
		w.end = now + r.run
		r.investigate++
		r.held = append(r.held, now-w.asked)
		if r.tells {
			for _, m := range r.items[w.key].Pending {
				w.told = append(w.told, r.items[w.key].Word(m))
			}
		}
	}
	r.seconds += w.end - w.start
}

func (r *replay) tell(t *thread.Thread, w *working, now float64) {
	for _, m := range t.Pending {
		id := t.Word(m)
		if w.held > 0 || slices.Contains(w.told, id) || len(w.told) >= mostWords || now-w.start > 2*r.run {
			continue
		}
		w.told = append(w.told, id)
		w.end += r.aWord
		r.seconds += r.aWord
		r.longest = max(r.longest, len(w.told))
	}
}

// until lets everything happen that happens before now.
func (r *replay) until(now float64) {
	for {
		at, step := now, func() {}
		found := false
		take := func(t float64, fn func()) {
			if t < at || t == at && !found {
				at, step, found = t, fn, true
			}
		}
		for _, id := range sorted(r.runs) {
			if w := r.runs[id]; w.held > 0 {
				take(w.held, func() { r.begin(w, w.held) })
			} else {
				take(w.end, func() { r.ended(w) })
			}
		}
		for i, p := range r.posts {
			take(seconds(p.At), func() { r.posts = slices.Delete(r.posts, i, i+1); r.posted(p) })
		}
		if !found {
			return
		}
		step()
	}
}

func (r *replay) ended(w *working) {
	delete(r.runs, w.id)
	res := &run.Result{RunID: w.id, Status: run.Done, Key: w.key, Heard: w.told}
	res.Value, _ = json.Marshal(draft.Return{Confidence: "high", DraftReply: w.id}) // plain values
	if w.validates {
		res.Value, _ = json.Marshal(verdict.Verdict{Verdict: verdict.Pass})
	}
	r.apply(thread.Input{At: stamp(w.end), Key: w.key, Run: res}, w.end)
}

// posted approves and posts a draft, if it still waits.
func (r *replay) posted(p thread.Input) {
	t := r.items[p.Key]
	if t.Cycle != p.Reply.Cycle || t.Status != thread.PendingUser || t.DraftSHA256 != p.Reply.DraftSHA256 {
		return
	}
	r.decisions++
	r.apply(thread.Input{At: p.At, Key: p.Key, Decision: &decision.Record{N: r.decisions,
		Kind: decision.Approve, Key: p.Key, Cycle: t.Cycle, At: p.At, DraftSHA256: t.DraftSHA256,
		By: "ana"}}, seconds(p.At))
	p.Reply.PostedMessageID = fmt.Sprint("post ", r.decisions)
	r.apply(p, seconds(p.At))
}

// said takes a message, as tri-dispatch does.
func (r *replay) said(e *event.Classified) {
	now := seconds(e.CreateTime)
	r.until(now)
	f := &thread.Facts{QuestionType: thread.Other, Tier: 1}
	f.NeverMind = relation.Withdraws(e.Content, relation.Names{})
	in := thread.Input{At: e.CreateTime, Key: e.Key(), Event: e, Facts: f}
	root := r.items[in.Key]
	if root == nil {
		r.apply(in, now)
		return
	}
	all := []*thread.Thread{root}
	for _, key := range root.Beside {
		all = append(all, r.items[key])
	}
	mine := slices.DeleteFunc(slices.Clone(all), func(t *thread.Thread) bool {
		return t.OriginalSenderID != e.Sender.ID || t.Status == thread.Closed
	})
	if r.tells && len(mine) > 0 {
		var open []relation.Item
		for _, t := range mine {
			var it relation.Item
			for _, m := range slices.Concat(t.Messages, t.Pending) {
				it.Texts, it.IDs = append(it.Texts, m.Content), append(it.IDs, m.MessageID)
			}
			open = append(open, it)
		}
		j := relation.Judge(relation.Message{Text: e.Content, Quotes: e.ReplyToID,
			Ack:  e.IsAckOrEmoji && !e.IsQuestion,
			Asks: e.Classification == event.Actionable}, open)
		f.Relation, f.NeverMind = j.Kind, j.Kind == relation.Cancel
		if j.Item >= 0 {
			f.Of = mine[j.Item].Key
		}
	}
	for _, in := range thread.Route(all, in) {
		r.apply(in, now)
	}
}

// rank returns the value below which a share of xs is, in percent.
func rank(xs []float64, percent int) float64 {
	slices.Sort(xs)
	return xs[(len(xs)-1)*percent/100]
}

func replayPart(out io.Writer, in inputs) error {
	var rooms [][]*event.Classified
	for _, room := range []string{"stripe.0", "rust.0", "mediawiki.0"} { // whose seconds are real
		byID, err := roomOf(filepath.Join(in.chat, room+".ndjson"))
		if err != nil {
			return err
		}
		var all []*event.Classified
		for _, id := range sorted(byID) {
			e := byID[id]
			all = append(all, &e)
		}
		slices.SortStableFunc(all, func(a, b *event.Classified) int {
			return strings.Compare(a.CreateTime, b.CreateTime)
		})
		rooms = append(rooms, all)
	}
	for _, length := range []float64{30, 180, 600} {
		base := 0.0
		for _, p := range []policy{
			{name: "restarted, nothing told"},
			{name: "hold alone", hold: 2.5, most: 15},
			{name: "told, a word costs 0 s", tells: true, hold: 2.5, most: 15},
			{name: "told, a word costs 20 s", tells: true, hold: 2.5, most: 15, aWord: 20},
			{name: "told, a word costs 60 s", tells: true, hold: 2.5, most: 15, aWord: 60},
			{name: "told, a word costs 180 s", tells: true, hold: 2.5, most: 15, aWord: 180},
		} {
			p.run = length
			var sum replay
			for _, events := range rooms {
				r := &replay{policy: p, items: map[string]*thread.Thread{}, runs: map[string]*working{},
					known: map[string]bool{}, last: map[string]float64{}}
				for _, e := range events {
					r.said(e)
				}
				r.until(math.MaxInt32 * 2)
				sum.seconds, sum.investigate = sum.seconds+r.seconds, sum.investigate+r.investigate
				sum.waits, sum.held = append(sum.waits, r.waits...), append(sum.held, r.held...)
				sum.offers, sum.longest = sum.offers+r.offers, max(sum.longest, r.longest)
			}
			if base == 0 {
				base = sum.seconds
			}
			fmt.Fprintf(out, "  runs of %3.0f s: %-26s %4d runs, %7.0f s (%+3.0f%%), %3d offers, "+
				"wait p50 %4.0f p95 %5.0f s, held p50 %.1f p95 %.1f s, at most %d words\n", length, p.name,
				sum.investigate, sum.seconds, 100*(sum.seconds/base-1), sum.offers,
				rank(sum.waits, 50), rank(sum.waits, 95), rank(sum.held, 50), rank(sum.held, 95), sum.longest)
		}
	}
	return nil
}
