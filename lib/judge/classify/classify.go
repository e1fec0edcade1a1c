// Package classify is the filter: rules, and weights fitted on labelled chat, that tag a message as
// actionable, ambient or acknowledgement, with reasons. Most messages stop here.
//
// A message is split once into words of the language packs, which the rules then examine. The result is a
// function of the message and, for mentions_thread_with_inflight, of the Window of stream before it.
package classify

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// Matcher is a condition over a record, as lib/base/query compiles it.
type Matcher interface {
	Match(line []byte) (bool, error)
}

// Options configure a Classifier. The zero value works.
type Options struct {
	Config config.Classifier
	Team   config.Team
	// Say reports a custom rule that fails on a message. It may be nil.
	Say func(format string, args ...any)
	// Compile makes a custom rule's condition. It is called only if there are custom rules.
	Compile func(jq string) (Matcher, error)
	// Now is the clock of classified_at.
	Now func() time.Time
	// Model replaces the weights that are built in; see readModel. Trace is called with each message.
	Model string
	Trace Trace
}

// Classifier holds the rules. Its stages may run concurrently.
type Classifier struct {
	lex          *lexicon
	ackPatterns  []*regexp.Regexp
	firstPattern int // reason number of the first ack pattern
	rules        []rule
	bots         map[string]bool // ids of this program's bots
	members      map[string]bool
	helpers      map[string]bool
	otherBots    bool // classify other bots like people
	now          func() time.Time
	say          func(format string, args ...any)
	seed         maphash.Seed
	reasons      [][]byte // all reasons except phrases, as JSON strings
	version      string
	pool         sync.Pool
	model        *model
	trace        Trace // may be nil
}

// New makes a Classifier. An error names the configuration key that is wrong.
func New(o Options) (*Classifier, error) {
	c, err := compile(o)
	if err != nil {
		return nil, sysexit.With(sysexit.Config, err)
	}
	return c, nil
}

// maxFrom is the largest distance of actionable_from from 0, in points.
const maxFrom = 400

func compile(o Options) (*Classifier, error) {
	c := &Classifier{bots: set(o.Config.BotIDs), members: set(o.Team.Members), helpers: set(o.Team.Helpers),
		now: o.Now, seed: maphash.MakeSeed()}
	c.pool.New = func() any { return new(scratch) }
	c.say = o.Say
	if c.now == nil {
		c.now = time.Now
	}
	if o.Config.BotID != "" {
		c.bots[o.Config.BotID] = true
	}
	switch o.Config.OtherBots {
	case "", "ignore":
	case "classify":
		c.otherBots = true
	default:
		return nil, fmt.Errorf("classifier.other_bots: %q is neither ignore nor classify", o.Config.OtherBots)
	}
	packs, err := loadPacks(o.Config.Languages, o.Config.PacksDir)
	if err != nil {
		return nil, err
	}
	if c.lex, err = newLexicon(packs, o.Config.QuestionKeywords); err != nil {
		return nil, err
	}
	c.trace = o.Trace
	if o.Model == "" {
		o.Model = builtIn
	}
	if c.model, err = readModel(o.Model, c.lex); err != nil {
		return nil, err
	}
	if n := o.Config.ActionableFrom; n < -maxFrom || n > maxFrom {
		return nil, fmt.Errorf("classifier.actionable_from: %d is not between -%d and %d", n, maxFrom, maxFrom)
	}
	c.model.from = int32(o.Config.ActionableFrom)
	for i, pattern := range o.Config.AckPatterns {
		mended, ok := unicodeWords(pattern)
		if !ok {
			return nil, fmt.Errorf(`classifier.ack_patterns[%d]: \w and \W do not work inside []; write \p{L}\p{N} instead`, i)
		}
		re, err := regexp.Compile("(?i)" + mended)
		if err != nil {
			return nil, fmt.Errorf("classifier.ack_patterns[%d]: %w", i, err)
		}
		c.ackPatterns = append(c.ackPatterns, re)
	}
	if c.rules, err = compileRules(o); err != nil {
		return nil, err
	}
	c.nameReasons()
	c.version, err = versionOf(o, packs)
	return c, err
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// nameReasons renders every reason once in its form in records.
func (c *Classifier) nameReasons() {
	add := func(s string) { c.reasons = append(c.reasons, ndjson.AppendString(nil, s)) }
	for _, name := range reasonNames {
		add(name)
	}
	for _, f := range features {
		add("sign:" + f.name)
	}
	c.firstPattern = len(c.reasons) + len(c.lex.phrases) // the names of phrases are rendered on demand
	for i := range c.ackPatterns {
		add(fmt.Sprintf("ack:pattern:%d", i))
	}
	for i := range c.rules {
		c.rules[i].reason = len(c.reasons) + len(c.lex.phrases)
		add("rule:" + c.rules[i].name)
		add("rule-failed:" + c.rules[i].name)
	}
}

// appendReason writes a reason as a JSON string.
func (s *state) appendReason(dst []byte, reason int) []byte {
	switch phrase := reason - fixedReasons; {
	case phrase < 0:
		return append(dst, s.reasons[reason]...)
	case phrase < len(s.lex.phrases):
		return append(dst, s.phraseReason(phrase)...)
	}
	return append(dst, s.reasons[reason-len(s.lex.phrases)]...)
}

// phraseReason returns the reason of a phrase in its form in records, rendered once.
func (s *state) phraseReason(phrase int) string {
	text, ok := s.asked[phrase]
	if !ok {
		text = string(ndjson.AppendString(nil, "question:word:"+s.lex.phrase(phrase)))
		s.asked[phrase] = text
	}
	return text
}

// scratch is the working memory of one call, reused by later ones.
type scratch struct {
	msg     event.Header
	reading reading
	key     []byte
}

// Event is one message in the stage.
type Event struct {
	line    []byte
	drop    []span // members from an earlier classification, to remove
	end     int    // end of the line's last member, where the new fields go
	verdict verdict
	facts
	from, says []byte
	id         []byte
}

// facts is what the memory keeps of a message.
type facts struct {
	room, who, thread uint64
	root              uint64    // the thread that it starts, if any
	to                [4]uint64 // the people mentioned
	nto               int
	maybe             [3]uint64 // people who may be named by its first words or its last
	nmaybe            int
	threaded          bool // it is in a thread
	reply             bool // it is not the thread's first message
	inferred          bool // the thread was inferred by tri-thread
	edited, deleted   bool // it changes or deletes a message; time is that of the message
	at, time          int64
}

type span struct{ from, to int }

// Prepare judges a record on its own.
func (c *Classifier) Prepare(rec ndjson.Record, e *Event) error {
	s := c.pool.Get().(*scratch)
	defer c.pool.Put(s)
	m := &s.msg
	if err := m.Read(&rec, maxMentions); err != nil {
		return err
	}
	drop := e.drop[:0]
	*e = Event{}
	e.line, e.drop, e.from, e.says = rec.Bytes, drop, m.Sender, m.Content
	e.id = m.ID
	e.at, e.time = rec.Seq, m.Created
	if e.at < 0 {
		e.at = rec.Offset
	}
	e.cut(rec.Members)
	s.key = e.facts.read(m, c.seed, s.key)
	c.judge(m, &s.reading, &e.verdict)
	return nil
}

func (c *Classifier) judge(m *event.Header, t *reading, v *verdict) {
	bot := string(m.Type) == "bot"
	v.helper, v.unlisted = c.helpers[string(m.Sender)], len(c.helpers) == 0
	for _, id := range m.Mentions {
		v.mention = v.mention || c.bots[string(id)]
	}
	if v.mention {
		v.because(whyMention)
	}
	switch {
	case m.Deleted:
		v.mute = true
		v.because(whyDeleted)
	case c.bots[string(m.Sender)]:
		v.mute = true
		v.because(whyOwn)
	case bot && !c.otherBots:
		v.mute = true
		v.because(whyBot)
	}
	c.judgeText(unaddressed(m.Content, m.Mentions), t, v)
	v.question = v.question && !(bot && v.mute)
	v.member = c.members[string(m.Sender)]
	if !v.mention && v.member && slices.ContainsFunc(m.Mentions, func(id []byte) bool {
		return c.members[string(id)]
	}) {
		v.chatter = true
		v.because(whyChatter)
	}
}

func (v *verdict) classification() string {
	switch {
	case !v.mute && v.stand.wanted:
		return event.Actionable
	case v.ack:
		return event.Ack
	}
	return event.Ambient
}

// confidence returns how often the deciding rule is right on our labelled messages, in percent. For a
// message not called actionable, 1-confidence estimates the chance that it is, and ranks such messages.
func (v *verdict) confidence() int {
	switch {
	case v.mute, v.mention:
		return 100
	case v.stand.sure != 0:
		return int(v.stand.sure)
	case v.ack:
		return 95
	case v.mark && v.phrase:
		return 95
	case v.phrase:
		return 85
	}
	return 80
}

// Stage returns the filter. Each Stage must see only one stream at a time.
func (c *Classifier) Stage() stream.Stage[Event] {
	st := c.state()
	return stream.Stage[Event]{
		Prepare: c.Prepare,
		Begin:   st.begin,
		Emit:    st.emit,
		Warm:    func(e *Event) { st.place(e) },
	}
}

// state is what a stage remembers between records.
type state struct {
	*Classifier
	memory memory
	second int64
	stamp  []byte         // text between confidence and reasons, for second
	asked  map[int]string // rendered reasons of phrases
}

func (c *Classifier) state() *state {
	return &state{Classifier: c, memory: memory{model: c.model}, asked: map[int]string{}}
}

// place judges a record by the messages before it.
func (s *state) place(e *Event) {
	v := &e.verdict
	v.stand = s.memory.see(e)
	if s.trace != nil && !v.mute {
		s.trace(string(e.id), Traced{v.traced.Words, v.traced.Aloud, s.memory.asked.marks.numbers(),
			!v.stand.weighed, v.stand.wanted, v.stand.asks, v.stand.ack})
	}
	if !v.mute {
		v.question, v.ack = v.stand.asks, v.stand.ack
	}
	if v.stand.why != 0 {
		v.because(int(v.stand.why))
	}
	if v.stand.because != 0 {
		v.because(int(v.stand.because))
	}
	if v.nreasons == 0 {
		v.because(whyNone)
	}
}

func (s *state) emit(dst []byte, e *Event) ([]byte, error) {
	s.place(e)
	return append(s.classified(dst, e), '\n'), nil
}

// begin updates the time stamp.
func (s *state) begin() {
	now := s.now()
	if sec := now.Unix(); sec != s.second || s.stamp == nil {
		s.second = sec
		s.stamp = append(append(s.stamp[:0], `,"classifier_version":"`...), s.version...)
		s.stamp = now.UTC().AppendFormat(append(s.stamp, `","classified_at":"`...), time.RFC3339)
		s.stamp = append(s.stamp, `","reasons":[`...)
	}
}
