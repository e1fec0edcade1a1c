package classify

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxAck is the length, in grapheme clusters, from which a message is not an acknowledgement.
const maxAck = 30

// maxCovered is the maximum length, in bytes, if all its words acknowledge.
const maxCovered = 80

// The fixed reasons, by number. Those of phrases and patterns follow.
const (
	whyMention = iota
	whyEndMark
	whyMark
	whyIdle
	whyAck
	whyEmoji
	whyThanks
	whyChatter
	whyInflight
	whyOwn
	whyBot
	whyDeleted
	whyFollows
	whyProblem
	whyAnswers
	whyClarifies
	whyHelps
	whyHelper
	whyTeam
	whySettles
	whyLater
	whyNone
	whySign      // the first feature
	fixedReasons = whySign + int(featureCount)
)

var reasonNames = [whySign]string{
	"mention:bot", "question:ends-with-mark", "question:mark-inside", "no-question:small-talk", "ack:words",
	"ack:emoji", "ack:thanks",
	"internal:team-to-team", "thread:in-flight", "own-message", "other-bot", "deleted",
	"follow-up", "problem", "answers-someone", "clarifies", "goes-on-helping", "helper", "team-talk",
	"settles", "later", "nothing-asked",
}

// longTag is the number of words of "is that so?"; longer ones are small talk.
const longTag = 3

// verdict is the result of the rules so far for one message.
type verdict struct {
	mention, question, ack, chatter bool

	heard
	role, worth int32   // points of its own words: for being helped; for being actionable
	acks        int32   // and for only acknowledging
	traced      *Traced // their numbers, if they are traced
	helper      bool    // the configuration lists its writer as a helper
	unlisted    bool    // the configuration lists no helpers
	member      bool    // its writer is a team member
	mute        bool    // never actionable: own message, other bot, deleted
	phrase      bool    // a phrase asks, with or without a question mark
	mark        bool
	stand       placement
	lang        string
	reasons     [6]uint16
	nreasons    int
}

// heard is what a message's words show, independent of its addressee.
type heard struct {
	first, second bool // it speaks of the writer; of the addressee
	problem       bool // something does not work
	solved        bool // something works now
	thanks        bool
	reply         bool // an acknowledgement that may be an answer
	later         bool // a promise
	advice        bool // it says what to do
	fact          bool // it reports what the writer did or saw
	guess         bool // a question that begins with "maybe"
	filler        bool // no content
	brief         bool // "ok" and one word
	tag           bool // a tag question: "right?"
	linked        bool // contains a link
	emoji         bool // contains a smiley or an emoji
	code          bool // contains a link, code or a quote
	hollow        bool // at least half of it acknowledges
	nameAck       bool // a possible name, then an acknowledgement
	ackName       bool // an acknowledgement, then a possible name
	nods          bool // begins with an acknowledgement
	greets        bool // begins with a greeting
	tells         bool // and says more
	lone          bool // only a question mark
	mends         bool // corrects a slip: "*word"
	loud          bool // contains an exclamation mark
	words         int
}

func (v *verdict) because(reason int) {
	if v.nreasons < len(v.reasons) {
		v.reasons[v.nreasons] = uint16(reason)
		v.nreasons++
	}
}

// slip reports whether the message only corrects a word.
func (h *heard) slip() bool { return h.mends && h.words == 1 }

// judgeText decides from the message's own words whether it asks, and whether it only acknowledges.
func (c *Classifier) judgeText(body []byte, t *reading, v *verdict) {
	t.read(c.lex, body)
	v.lang = t.lang(c.lex)
	phrase := c.lex.asks(t)
	idleOnly := (t.mark || phrase >= 0) && c.lex.covers(t.words, idle|lead, idle)
	if t.mark && !idleOnly {
		v.mark = true
		if t.markEnd == len(t.words) {
			v.because(whyEndMark)
		} else {
			v.because(whyMark)
		}
	}
	if phrase >= 0 && !idleOnly {
		v.phrase = true
		v.because(fixedReasons + int(phrase))
	}
	if idleOnly {
		v.tag = t.mark && len(t.words) <= longTag
		v.because(whyIdle)
	}
	v.question = v.mark || v.phrase
	v.loud = bytes.IndexByte(body, '!') >= 0
	v.lone = t.loose && len(bytes.TrimSpace(body)) == 1
	v.mends = len(body) > 0 && len(t.words) <= 4 && (body[0] == '*' || body[len(body)-1] == '*')
	c.listen(t, v)
	if len(body) > 1 && body[0] == '!' && classes[body[1]&0x7f] == letter {
		v.problem, v.filler = false, true // a command to a bot
	}
	c.judgeAck(body, t, v)
	c.weighWords(t, v)
}

// judgeAck checks the length last, since counting grapheme clusters is slow.
func (c *Classifier) judgeAck(body []byte, t *reading, v *verdict) {
	for i, re := range c.ackPatterns {
		if isShort(body) && re.Match(body) {
			v.ack = true
			v.because(c.firstPattern + i)
			return
		}
	}
	why := whyAck
	switch {
	case t.other || v.mark || t.loose || len(body) == 0:
		return
	case len(t.words) == 0:
		if t.named && !t.emoji {
			return
		}
		why = whyEmoji
	case len(t.words) > maxAck:
		return
	case !c.lex.covers(t.words, ack|more, ack) && (v.phrase || !c.lex.thanks(t.words, body)):
		if !v.phrase && isShort(body) {
			v.nameAck, v.ackName = c.lex.namedAck(t)
		}
		return
	}
	if few := len(t.words) > 0 && len(t.words) <= longTalk; few && len(body) <= maxCovered || isShort(body) {
		v.ack = true
		v.because(why)
	}
}

// isShort reports whether the text is short enough for an acknowledgement.
func isShort(body []byte) bool {
	const most = 40 // maximum bytes of a character; a family emoji has 25
	n := len(body)
	if n < maxAck || n > most*maxAck {
		return n < maxAck
	}
	if first := body[:min(n, 2*maxAck)]; ascii(first) { // a line end of two is one
		return n-bytes.Count(first, []byte("\r\n")) < maxAck
	}
	return uniseg.GraphemeClusterCount(string(body)) < maxAck
}

func ascii(b []byte) bool {
	for _, ch := range b {
		if ch >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// asks returns the first phrase that makes the text a question, or -1.
func (l *lexicon) asks(t *reading) int32 {
	open, since, passed := false, 0, 0
	for i := range t.words {
		w := &t.words[i]
		if !open && !w.begins && !w.comma && i != 1 && w.below&anywhere == 0 {
			continue // most words
		}
		if w.begins {
			open, since = true, i
		} else if w.comma && i-since == 1 {
			open = true // "bob, can you …"
		}
		if w.id == unknown || i < passed {
			open = false
			continue
		}
		kinds := anywhere
		switch {
		case open:
			kinds |= start | told
		case w.comma, i == 1 && isName(t.words[0]) && !w.breaks:
			kinds |= clause | told // "bob can you …" too
		}
		if n, end := l.match(t.words[i:], kinds); n > 0 {
			if end.kinds&told == 0 {
				return end.phrase
			}
			passed = i + n
		}
		if open && !l.leads(t.words[since:i+1]) {
			open = false
		}
	}
	if len(t.hits) > 0 {
		return t.hits[0].phrase
	}
	return -1
}

// leads reports whether these words, which begin a sentence, are only a lead-in such as a greeting.
func (l *lexicon) leads(words []word) bool {
	const far = 6 // maximum words of a greeting; a longer run is not examined
	return len(words) <= far && (l.covers(words, lead, lead) || l.half(words))
}

// half reports whether the words end in the first part of a longer lead-in phrase, like "thank" of "thank
// you".
func (l *lexicon) half(words []word) bool {
	last := words[len(words)-1]
	return l.first[last.id] != 0 && (len(words) == 1 || l.covers(words[:len(words)-1], lead, lead)) &&
		last.below&lead != 0
}

// covers reports whether the words consist entirely of phrases of the given kinds, at least one of them of
// the kinds in need.
func (l *lexicon) covers(words []word, kinds, need kind) bool {
	found := false
	for i := 0; i < len(words); {
		if k := words[i].dense; k&kinds != 0 {
			found = found || k&need != 0
			i++
			continue
		}
		n, _ := l.match(words[i:], kinds)
		if n == 0 {
			return false
		}
		if !found {
			m, _ := l.match(words[i:], need)
			found = m == n
		}
		i += n
	}
	return found
}

// thanks reports whether the words consist of acknowledgements, with thanks or praise among them, and one
// word that may be a name: "thanks tom", "rani, terima kasih".
func (l *lexicon) thanks(words []word, body []byte) bool {
	last := len(words) - 1
	said := last > 0 && (isName(words[last]) && l.covers(words[:last], ack|more, thanks) ||
		isName(words[0]) && l.covers(words[1:], ack|more, thanks))
	return said && !bytes.ContainsAny(body, "0123456789")
}

// namedAck reports whether the text may be a name followed by an acknowledgement or a smiley ("rani ok"),
// or an acknowledgement followed by a name ("got it rani").
func (l *lexicon) namedAck(t *reading) (before, behind bool) {
	last := len(t.words) - 1
	if last == 0 {
		return t.emoji && isName(t.words[0]), false
	}
	before = isName(t.words[0]) && l.covers(t.words[1:], ack|more, ack)
	rest := t.words[:last]
	behind = isName(t.words[last]) && l.covers(rest, ack|more, ack) && !l.covers(rest, reply|more, reply)
	return before, behind
}

// isName reports whether a word may be a name: it is not in the packs.
func isName(w word) bool { return w.id == unknown && w.dense == 0 }

// unaddressed returns the message without the names that it is addressed to at its start: "bob: …", "@bob
// …".
func unaddressed(body []byte, names [][]byte) []byte {
	body = bytes.TrimSpace(body)
	for range names {
		rest := bytes.TrimPrefix(body, []byte("@"))
		n := addressed(rest, names)
		if n == 0 {
			return body
		}
		if body = bytes.TrimLeft(rest[n:], " \t"); len(body) > 0 &&
			(body[0] == ',' || body[0] == '>' || body[0] == ':' && smiley(body) == 0) {
			body = bytes.TrimLeft(body[1:], " \t")
		}
	}
	return body
}

func addressed(body []byte, names [][]byte) int {
	for _, name := range names {
		n := len(name)
		if n == 0 || len(body) < n || !bytes.EqualFold(body[:n], name) {
			continue
		}
		if n == len(body) || bytes.IndexByte([]byte(":>, \t?!."), body[n]) >= 0 {
			return n
		}
	}
	return 0
}

var (
	classInBrackets = regexp.MustCompile(`\[[^\]]*\\[wW]`)
	classAlone      = regexp.MustCompile(`\\[wW]`)
)

// unicodeWords gives \w and \W in a pattern the meaning that its author intends. In RE2 they are ASCII
// only, so that `^ok\W*$` would match any Chinese sentence after the ok. ok is false if one is inside
// brackets, where it cannot be replaced.
func unicodeWords(pattern string) (mended string, ok bool) {
	if classInBrackets.MatchString(pattern) {
		return "", false
	}
	return classAlone.ReplaceAllStringFunc(pattern, func(s string) string {
		if s == `\w` {
			return `[\p{L}\p{M}\p{N}_]`
		}
		return `[^\p{L}\p{N}_]`
	}), true
}

// listen examines whom the message speaks of, and what it reports.
func (c *Classifier) listen(t *reading, v *verdict) {
	const telling = problem | solved | first | second | thanks | later | guess | advice | fact
	const short, edge, tail = 6, 5, 2 // words
	var kinds kind
	for i := range t.words {
		w := &t.words[i]
		kinds |= w.dense
		if w.below&telling&^kinds == 0 {
			continue
		}
		found := c.lex.gather(c.lex.first[w.id], t.words[i+1:])
		if !w.begins && len(t.words)-i > tail {
			found &^= guess
		}
		if i >= edge && len(t.words)-i > edge && len(t.words) > 2*edge {
			found &^= thanks // in the middle of a longer text
		}
		kinds |= found
	}
	v.first, v.second, v.thanks, v.later, v.guess = kinds&first != 0, kinds&second != 0, kinds&thanks != 0,
		kinds&later != 0, kinds&guess != 0
	v.solved, v.advice, v.fact = kinds&solved != 0, kinds&advice != 0, kinds&fact != 0
	v.linked, v.words = t.linked, len(t.words)
	v.emoji, v.code = t.emoji, t.other
	v.hollow = c.lex.hollow(t.words)
	c.begins(t, v)
	v.problem = kinds&problem != 0 && (!v.solved || v.words > 12)
	v.reply = v.words <= short && c.lex.covers(t.words, reply|more|lead, reply)
	if v.words == 2 && !t.other {
		n, end := c.lex.match(t.words[:1], ack)
		v.brief = n == 1 && end.kinds&reply == 0
	}
	v.filler = v.words > 0 && v.words <= short && !t.other &&
		c.lex.covers(t.words, idle|lead|more, idle|lead|more)
}

// begins examines how the message begins.
func (c *Classifier) begins(t *reading, v *verdict) {
	if len(t.words) == 0 {
		return
	}
	if n, _ := c.lex.match(t.words, ack); n > 0 {
		v.nods = true
		return
	}
	if below := t.words[0].below; below&idle != 0 && below&lead != 0 {
		n, _ := c.lex.match(t.words, idle)
		v.greets = n > 0
		v.tells = v.greets && n < len(t.words)
	}
}

// hollow reports whether the words begin with an acknowledgement, and at least half of them acknowledge.
func (l *lexicon) hollow(words []word) bool {
	if len(words) == 0 || words[0].below&ack == 0 {
		return false
	}
	covered, _ := l.match(words, ack)
	if covered == 0 {
		return false
	}
	for i := covered; i < len(words); {
		n, _ := l.match(words[i:], ack|more)
		covered += n
		i += max(n, 1)
	}
	return 2*covered >= len(words)
}
