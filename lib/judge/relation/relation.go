// Package relation decides by rules what an asker's message does to the work that is under way for them,
// whether it withdraws a question, and which questions an answer leaves out.
package relation

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/judge/questiontype"
)

// Kinds of relation, in the order in which they are tried.
const (
	New      = "new"      // no item is open: it may begin one
	Ack      = "ack"      // thanks, an emoji: nothing is asked, said or changed
	Status   = "status"   // asks how far the work is
	Cancel   = "cancel"   // withdraws the question, as a whole turn
	Redirect = "redirect" // replaces what was asked
	Answer   = "answer"   // answers the question that was put to the asker
	Branch   = "branch"   // asks for something else, beside what is open
	Append   = "append"   // anything else: it belongs to what is open
)

// Message is what an asker says. Only the asker of an item drives it: what other people say is context, and
// is not judged here.
type Message struct {
	// Text is the message, or several of one turn that were held back together, joined by newlines.
	Text string
	// Before are the earlier messages of the same turn that were judged before this one, oldest first.
	Before []string
	// Quotes is the id of the message that this one quotes (reply_to_id); "": none.
	Quotes string
	Names  Names
	// Ack and Asks are the classifier's: is_ack_or_emoji, and classification actionable.
	Ack, Asks bool
	// Elsewhere says that tri-thread, without the platform's own threads, would have begun another
	// conversation with it.
	Elsewhere bool
}

// Item is open work of the asker.
type Item struct {
	Texts []string // the asker's messages that it answers
	IDs   []string // ids of all messages that it holds, ours too
	// Asked says that a question put to the asker is unanswered: since the asker's last turn somebody else
	// has asked something in the conversation.
	Asked bool
}

// Relation is what a message does.
type Relation struct {
	Kind string
	Item int // index of the item that it concerns; of a branch, the one it is beside; -1: none
	// Margin is how much the rule proves: 1 for a closed list, a quote or the classifier's own word, less
	// for a cue, 0 where nothing decides. A model may be asked below a configured margin, never to cancel.
	Margin  float64
	Reasons []string // the rules that hold: "cue:scratch that", "no-shared-words", "only-item"
}

// Margins of the rules.
const (
	sure    = 1.0
	likely  = 0.75
	cued    = 0.5
	guessed = 0.25
)

// How much of a message is read, in bytes, from its start; of a text that it is compared with, more, so that
// an answer is read whole.
const (
	maxText  = 8 << 10
	maxWords = 4 * maxText
)

// Judge decides what a message does to the open items of its asker, oldest first. An item that an earlier
// message of the same turn withdrew counts as open: "scratch that" may be followed by what is wanted
// instead. It is pure. The first rule that holds decides; an error between append and redirect costs one
// call of a model, a false branch a run, and a false cancel the question, so only a closed list cancels.
func Judge(m Message, open []Item) Relation {
	if len(m.Text) > maxText {
		m.Text = strings.ToValidUTF8(m.Text[:maxText], "")
	}
	if len(open) == 0 {
		return Relation{Kind: New, Item: -1, Margin: sure, Reasons: []string{"no-open-item"}}
	}
	j := newJudgement(m, open)
	for _, rule := range []func() bool{j.corrects, j.ack, j.status, j.cancel, j.redirect,
		j.answer, j.branch} {
		if rule() {
			return j.result()
		}
	}
	j.say(Append, likely, "no-other-rule")
	if m.Asks {
		j.rel.Margin = guessed
	}
	return j.result()
}

type judgement struct {
	m     Message
	open  []Item
	calls calls
	parts [][]string // what is said, without pasted code and quoted lines
	said  []string   // the same, joined
	own   []string   // its distinctive words
	item  int
	which string // why it is that item
	rel   Relation
}

func newJudgement(m Message, open []Item) *judgement {
	j := &judgement{m: m, open: open, calls: called(m.Names)}
	j.parts = parts(written(m.Text), j.calls)
	for _, p := range j.parts {
		j.said = append(j.said, p...)
	}
	j.own = distinct(m.Text)
	j.choose()
	return j
}

var (
	fence  = lazyregexp.New("(?s)```.*?(?:```|$)")
	quoted = lazyregexp.New(`(?m)^\s*>.*$`)
	link   = lazyregexp.New(`https?://\S+`)
)

// written returns text without pasted code, quoted lines and links.
func written(text string) string {
	return link.ReplaceAllString(quoted.ReplaceAllString(fence.ReplaceAllString(text, " "), " "), " ")
}

func (j *judgement) say(kind string, margin float64, reasons ...string) bool {
	j.rel = Relation{Kind: kind, Margin: margin, Reasons: reasons}
	return true
}

func (j *judgement) result() Relation {
	j.rel.Item = j.item
	j.rel.Reasons = append(j.rel.Reasons, j.which)
	return j.rel
}

// choose finds the item that the message concerns: the one that alone holds what it quotes; else the only
// one; else the one that waits for an answer; else the one that shares most distinctive words; else the
// newest.
func (j *judgement) choose() {
	if in := j.quoted(); len(in) == 1 {
		j.item, j.which = in[0], "quoted"
		return
	}
	if len(j.open) == 1 {
		j.item, j.which = 0, "only-item"
		return
	}
	most, asked := 0, 0
	j.item, j.which = len(j.open)-1, "newest-item"
	for i := range j.open {
		if n := len(j.shared(i)); n >= most && n > 0 {
			most = n
			j.item, j.which = i, "same-words"
		}
		if j.open[i].Asked {
			asked++
		}
	}
	if most == 0 && asked == 1 {
		j.item, j.which = slices.IndexFunc(j.open, func(it Item) bool { return it.Asked }), "asked-item"
	}
}

// quoted returns the items that hold the quoted message: what others say is held by all.
func (j *judgement) quoted() (in []int) {
	for i, it := range j.open {
		if j.m.Quotes != "" && slices.Contains(it.IDs, j.m.Quotes) {
			in = append(in, i)
		}
	}
	return in
}

// shared returns the distinctive words of the message that an item has too.
func (j *judgement) shared(i int) (both []string) {
	theirs := map[string]bool{}
	for _, text := range j.open[i].Texts {
		for _, w := range distinct(text) {
			theirs[w] = true
		}
	}
	for _, w := range j.own {
		if theirs[w] && !slices.Contains(both, w) {
			both = append(both, w)
		}
	}
	return both
}

func (j *judgement) asked() bool { return j.open[j.item].Asked }

func (j *judgement) ack() bool {
	if !j.m.Ack {
		return false
	}
	if j.asked() && in(answer, strings.Join(bare(j.said, answer), " ")) {
		return j.say(Answer, sure, "says-yes-or-no")
	}
	return j.say(Ack, sure, "classified-ack")
}

// status: the whole message is a status phrase, or one and what it is about.
func (j *judgement) status() bool {
	if len(j.said) > 12 || !(asks(j.m.Text) || strings.HasPrefix(strings.Join(j.said, " "), "any ") ||
		isQuestion(j.said)) {
		return false
	}
	said := bare(j.said, status)
	for range 2 {
		for n := min(3, len(said)-1); n > 0; n-- {
			if in(tail, strings.Join(said[len(said)-n:], " ")) {
				said = bare(said[:len(said)-n], status)
				break
			}
		}
	}
	rest, phrase := opens(status, said)
	switch {
	case phrase == "":
		return false
	case len(rest) == 0:
		return j.say(Status, sure, "cue:"+phrase)
	case len(rest) <= 6 && in(about, rest[0]) && len(j.shared(j.item)) > 0:
		return j.say(Status, cued, "cue:"+phrase, "same-words")
	}
	return false
}

// isQuestion reports whether what is said ends as a question, or a call, without a question mark does.
func isQuestion(said []string) bool {
	last := said[max(0, len(said)-1):]
	if len(last) == 0 {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(last[0])
	return strings.ContainsRune("か吗嗎么没呢", r) || len(said) == 1 && (said[0] == "bump" || said[0] == "ping")
}

// cancel: the message as a whole is in a closed list. While a question to the asker is unanswered, "found
// it" may be the answer, and so may "cancel it" unless it is said to the bot.
func (j *judgement) cancel() bool {
	section, phrase := withdraws(j.m.Text, j.calls)
	if section == "" || section == settled && j.asked() ||
		section == order && j.asked() && !j.calls.bot(j.m.Text) {
		return false
	}
	return j.say(Cancel, sure, "whole:"+phrase)
}

// corrects: it corrects a word: "*staging".
func (j *judgement) corrects() bool {
	w := strings.TrimSpace(j.m.Text)
	bare := strings.Trim(w, "*")
	if n := len(w) - len(bare); len(j.said) == 0 || len(j.said) > 3 || n == 0 || n > 2 ||
		strings.ContainsAny(bare, "*\n") ||
		strings.HasPrefix(w, "*") == strings.HasSuffix(w, "*") {
		return false
	}
	return j.say(Redirect, likely, "corrects-a-word")
}

// redirect: it begins with a correction, or follows one.
func (j *judgement) redirect() bool {
	if n := len(j.m.Before); n > 0 && len(j.said) > 0 {
		if section, phrase := withdraws(j.m.Before[n-1], j.calls); section == withdraw || section == order {
			return j.say(Redirect, likely, "before:"+phrase)
		}
	}
	said, turned := j.said, ""
	for range 4 { // "oh wait, sorry, I meant"
		if rest, p := opens(redirect, said); p != "" && len(rest) > 0 && rest[0] != "than" {
			return j.say(Redirect, likely, "cue:"+p)
		}
		rest, p := opens(turning, said)
		if p == "" {
			if n, first := courtesy(said); n > 0 && first {
				rest = said[n:]
			} else {
				break
			}
		}
		turned += p
		said = rest
	}
	if len(said) > 16 {
		said = said[:16] // of a long message, the start corrects
	}
	if p := holds(replace, said); p != "" && (turned != "" || j.m.Asks && said[len(said)-1] == p) {
		return j.say(Redirect, cued, "cue:"+p)
	}
	return false
}

// answer: a question was put to the asker, and it does not ask one in return.
func (j *judgement) answer() bool {
	if !j.asked() || asks(j.m.Text) && len(j.said) > 0 && !in(answer, j.said[0]) {
		return false
	}
	return j.say(Answer, likely, "asked")
}

// branch: it asks by itself, shares no distinctive word with the item, and there is a sign that it belongs
// elsewhere: a quote, tri-thread's conversation, or a cue with a request that needs no context. A cue
// alone is none: of 43 messages with "also" or "by the way" that follow one's own within 10 minutes, people
// put 34 into the same conversation.
func (j *judgement) branch() bool {
	if !j.m.Asks || len(j.own) < 2 || len(j.shared(j.item)) > 0 {
		return false
	}
	switch said, cue := j.afterCue(); {
	case j.m.Quotes != "" && len(j.quoted()) == 0:
		return j.say(Branch, likely, "quotes-elsewhere", "no-shared-words")
	case j.m.Elsewhere:
		return j.say(Branch, likely, "another-conversation", "no-shared-words")
	case cue != "" && selfContained(said):
		return j.say(Branch, cued, "cue:"+cue, "own-question", "no-shared-words")
	}
	return false
}

// afterCue returns what follows a cue at the start of the message, and the cue.
func (j *judgement) afterCue() (said []string, cue string) {
	said = j.said
	for range 4 {
		if rest, p := opens(beside, said); p != "" {
			said, cue = rest, p
		} else if n, first := courtesy(said); n > 0 && first {
			said = said[n:]
		} else if len(said) > 0 && slices.Contains([]string{"and", "und", "y", "et", "e", "dan"}, said[0]) {
			said = said[1:]
		}
	}
	return said, cue
}

// selfContained reports whether words that ask do not point back to something said before.
func selfContained(said []string) bool {
	if _, ok := questiontype.Words(strings.Join(said, " ")); ok {
		return true
	}
	for _, w := range said {
		if back[w] {
			return false
		}
	}
	return len(said) >= 4
}

// back are words that point to what was said before.
var back = text.Set(`this that these those it its they them he she him her same one ones again there then else so
	instead still both either das es dies diese dieser eso esto lo ça cela ce itu ini isso isto`)
