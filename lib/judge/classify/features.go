package classify

import "slices"

// feature is a group of values, of which at most one holds for a message.
type feature uint8

const (
	ofWords feature = iota
	ofFirst
	ofPeople
	ofProblem
	isSolved
	hasThanks
	isReply
	isLater
	isAdvice
	isFact
	isGuess
	isFiller
	isAckAndWord
	isTag
	hasSmiley
	hasCode
	isHollow
	hasNod
	hasGreeting
	isLone
	isLoud
	marked
	asksPhrase
	isAck
	hasLength
	asksOfWhom
	partTotal
	partSaid
	partPoints
	partOpened
	partMost
	partEver
	hasThanked
	hasAsked
	partQuestions
	sinceTime
	sinceSaid
	continuesOwn
	roomSilence
	otherBest
	leadsBest
	bestNew
	otherPoints
	otherMessage
	otherAsks
	otherTo
	otherAck
	otherOfYou
	otherEver
	otherLead
	toPoints
	toEver
	toPartner
	toLead
	toAsks
	toLive
	partnerPoints
	partnerAsks
	partnerReplies
	partnerLead
	roleAsks
	roleShort
	roleLong
	roleThanks
	roleAck
	roleNod
	roleSmiley
	roleLoud
	roleCode
	roleProblem
	roleReply
	roleAdvice
	roleGuess
	roleWords
	roleReplies
	ruledAsk
	ruled
	asksSelf
	ownMild
	ownOfYou
	ownHelped
	wasHelped
	askedBack
	toAHelper
	toOneAsking
	toALikeOne
	isAnswer
	isHelping
	givesMore
	helpsToo
	asksMore
	isNew
	isGuest
	newOfMe
	hasGreeted
	hasNoted
	afterQuestion
	since1
	featureCount
)

// features are their numbers of values, names and descriptions. The values of the first two are the words of
// the packs, the others' are computed by aloud, around and ruling.
var features = [featureCount]struct {
	size        uint16
	name, words string
}{
	ofWords:        {0, "words", "its words"},
	ofFirst:        {0, "first-word", "the word that it begins with"},
	ofPeople:       {4, "of-people", "whom it speaks of"},
	ofProblem:      {1, "problem", "it speaks of a problem"},
	isSolved:       {1, "solved", "it says that something works"},
	hasThanks:      {1, "thanks", "it gives thanks"},
	isReply:        {1, "reply", "it may answer with yes or no"},
	isLater:        {1, "later", "it promises something"},
	isAdvice:       {1, "advice", "it gives advice"},
	isFact:         {1, "fact", "it tells what its writer did or saw"},
	isGuess:        {1, "guess", "it begins with a guess"},
	isFiller:       {1, "filler", "it has no content"},
	isAckAndWord:   {1, "brief", "it is an acknowledgement and a word"},
	isTag:          {1, "tag", "it is a tag question"},
	hasSmiley:      {1, "smiley", "it has a smiley"},
	hasCode:        {1, "code", "it has a link, code or a quote"},
	isHollow:       {1, "hollow", "half of it acknowledges"},
	hasNod:         {2, "nod", "it begins with an acknowledgement"},
	hasGreeting:    {2, "greets", "it begins with a greeting"},
	isLone:         {1, "lone-mark", "it is a question mark alone"},
	isLoud:         {1, "exclamation", "it has an exclamation mark"},
	marked:         {1, "question-mark", "it has a question mark"},
	asksPhrase:     {1, "question-words", "its words ask"},
	isAck:          {1, "acknowledges", "it only acknowledges"},
	hasLength:      {9, "length", "its length"},
	asksOfWhom:     {8, "asks", "whether it asks, and of whom it speaks"},
	partTotal:      {4, "known", "how much its writer has said"},
	partSaid:       {5, "messages", "how much its writer has said since they came back"},
	partPoints:     {9, "part", "whether its writer sounded like an asker or a helper so far"},
	partOpened:     {5, "opening", "how its writer began"},
	partMost:       {4, "strongest", "the most asking of its writer's messages"},
	partEver:       {9, "ever", "whether its writer asks or helps in this room"},
	hasThanked:     {1, "thanked", "its writer gave thanks before"},
	hasAsked:       {1, "asked", "its writer's last message asks"},
	partQuestions:  {4, "questions", "how often its writer asked"},
	sinceTime:      {5, "since", "the time since its writer's last message"},
	sinceSaid:      {5, "since-messages", "the messages since its writer's last"},
	continuesOwn:   {4, "continues", "it continues its writer's last message"},
	roomSilence:    {8, "gap", "the time since the last message"},
	otherBest:      {6, "other-asker", "whether another person is being helped"},
	leadsBest:      {7, "lead", "whether its writer or another sounded more like an asker"},
	bestNew:        {6, "joins", "its writer joins while another is being helped"},
	otherPoints:    {6, "before-part", "whether the writer before asks or helps"},
	otherMessage:   {5, "before-sounds", "how the message before sounds"},
	otherAsks:      {12, "before-asks", "whether the message before asks"},
	otherTo:        {6, "before-to", "whom the message before is to"},
	otherAck:       {1, "before-ack", "the message before acknowledges"},
	otherOfYou:     {1, "before-of-you", "the message before speaks of its reader"},
	otherEver:      {4, "before-ever", "whether the writer before asks or helps in this room"},
	otherLead:      {7, "before-lead", "whether its writer or the one before sounded more like an asker"},
	toPoints:       {6, "to-part", "whether the one it is to asks or helps"},
	toEver:         {6, "to-ever", "whether the one it is to asks or helps in this room"},
	toPartner:      {2, "to-partner", "it is to the one who spoke to its writer"},
	toLead:         {7, "to-lead", "whether its writer or the one it is to sounded more like an asker"},
	toAsks:         {8, "to-asks", "whether it asks the one it is to"},
	toLive:         {2, "to-live", "the one it is to spoke lately"},
	partnerPoints:  {5, "partner-part", "whether the one who spoke to its writer asks or helps"},
	partnerAsks:    {9, "partner-asks", "whether the one who spoke to its writer asked"},
	partnerReplies: {4, "replies", "how often others spoke to its writer"},
	partnerLead:    {7, "partner-lead", "whether its writer or who spoke to them sounded more like an asker"},
	roleAsks:       {40, "part-asks", "whether an asker or a helper asks so"},
	roleShort:      {5, "part-short", "whether an asker or a helper is so short"},
	roleLong:       {5, "part-long", "whether an asker or a helper is so long"},
	roleThanks:     {5, "part-thanks", "whether an asker or a helper gives thanks"},
	roleAck:        {5, "part-ack", "whether an asker or a helper acknowledges"},
	roleNod:        {5, "part-nod", "whether an asker or a helper begins so"},
	roleSmiley:     {5, "part-smiley", "whether an asker or a helper smiles"},
	roleLoud:       {5, "part-loud", "whether an asker or a helper is so loud"},
	roleCode:       {5, "part-code", "whether an asker or a helper shows code"},
	roleProblem:    {5, "part-problem", "whether an asker or a helper speaks of a problem"},
	roleReply:      {5, "part-reply", "whether an asker or a helper says yes or no"},
	roleAdvice:     {5, "part-advice", "whether an asker or a helper gives advice"},
	roleGuess:      {5, "part-guess", "whether an asker or a helper guesses"},
	roleWords:      {35, "part-words", "whether an asker or a helper speaks so"},
	roleReplies:    {20, "part-replies", "whether an asker or a helper replies to a question"},
	ruledAsk:       {1, "placed-question", "the rules place it as a question of its writer's own"},
	ruled:          {1, "placed", "the rules that place it say so"},
	asksSelf:       {1, "asks-for-self", "it is a question of its writer's own"},
	ownMild:        {1, "mild-opening", "its writer began with a question that was hardly about themselves"},
	ownOfYou:       {1, "being-helped-of-you", "its writer is being helped, and speaks of the one it is to"},
	ownHelped:      {1, "being-answered", "its writer is being answered"},
	wasHelped:      {1, "was-answered", "its writer was answered before"},
	askedBack:      {1, "was-asked", "its writer was asked something"},
	toAHelper:      {1, "to-helper", "it is to a person who mostly helps"},
	toOneAsking:    {1, "to-one-asking", "it is to a person who asks"},
	toALikeOne:     {1, "to-newer", "it is to a person who helps no more than its writer"},
	isAnswer:       {1, "answers", "it answers a person who asked"},
	isHelping:      {1, "helping", "its writer is helping a person"},
	givesMore:      {1, "helps-more", "its writer helps more than they ask"},
	helpsToo:       {1, "helps-too", "its writer helps too"},
	asksMore:       {1, "asks-more", "its writer asks more than they help"},
	isNew:          {1, "newcomer-here", "its writer is new"},
	isGuest:        {1, "nearly-new", "its writer is nearly new"},
	newOfMe:        {1, "newcomer-of-me", "its writer is new and speaks of themselves"},
	hasGreeted:     {1, "greeted", "its writer greeted just now"},
	hasNoted:       {1, "took-note", "its writer took note of an answer"},
	afterQuestion:  {1, "after-others-question", "another person asked just before"},
	since1:         {1, "asked-just-now", "its writer asked a minute ago"},
}

// featureAt is the number of each feature's first value; the words follow behind the last.
var featureAt = func() (at [featureCount + 1]uint16) {
	for n, f := range features {
		at[n+1] = at[n] + f.size
	}
	return at
}()

// marks are the numbers of the values that hold.
type marks struct {
	at [128]uint16
	n  int
}

func (m *marks) put(f feature, value int) {
	m.at[m.n] = featureAt[f] + uint16(value)
	m.n++
}

func (m *marks) when(f feature, holds bool) {
	if holds {
		m.put(f, 0)
	}
}

// step returns how many of the cuts x reaches.
func step(x int32, cuts ...int32) int {
	n := 0
	for n < len(cuts) && x >= cuts[n] {
		n++
	}
	return n
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// aloud notes what the message's own words show.
func (m *marks) aloud(v *verdict) {
	m.put(ofPeople, bit(v.first)+2*bit(v.second))
	m.when(ofProblem, v.problem)
	m.when(isSolved, v.solved)
	m.when(hasThanks, v.thanks)
	m.when(isReply, v.reply)
	m.when(isLater, v.later)
	m.when(isAdvice, v.advice)
	m.when(isFact, v.fact)
	m.when(isGuess, v.guess)
	m.when(isFiller, v.filler)
	m.when(isAckAndWord, v.brief)
	m.when(isTag, v.tag)
	m.when(hasSmiley, v.emoji)
	m.when(hasCode, v.code)
	m.when(isHollow, v.hollow)
	if v.ackword {
		m.put(hasNod, bit(v.nods))
	}
	if v.greets {
		m.put(hasGreeting, bit(v.tells))
	}
	m.when(isLone, v.lone)
	m.when(isLoud, v.loud)
	m.when(marked, v.mark)
	m.when(asksPhrase, v.phrase)
	m.when(isAck, v.ack)
	m.put(hasLength, step(int32(v.words), 1, 2, 3, 5, 8, 13, 21, 41))
	m.put(asksOfWhom, v.asksOf())
}

// asksOf encodes whether the message asks, and of whom it speaks.
func (v *verdict) asksOf() int { return bit(v.first) + 2*bit(v.second) + 4*bit(v.question) }

// Cuts, in points.
var (
	partCuts = []int32{-150, -50, 50, 150}
	leadCuts = []int32{-250, -120, -40, 40, 120, 250}
)

// around notes what the conversation before the message shows.
func (t *turn) around(m *marks) {
	r, a := t.r, t.p.part
	fresh := t.silent()
	if fresh {
		a = part{total: a.total, ever: a.ever}
	}
	m.put(partTotal, step(a.total, 1, 3, 10))
	m.put(partSaid, step(a.said, 1, 2, 4, 8))
	m.put(partPoints, step(a.points, -200, -100, -50, -15, 15, 50, 100, 200))
	m.put(partEver, 0)
	if a.total >= 8 {
		m.n--
		m.put(partEver, 1+step(a.average(), -70, -40, -20, 0, 20, 40, 70))
	}
	m.when(hasThanked, a.thanked)
	m.when(hasAsked, a.asked)
	if !fresh {
		m.put(partOpened, step(a.opened, -100, -30, 30, 100))
		m.put(partMost, step(a.most, 0, 70, 150))
		m.put(partQuestions, step(a.questions, 30, 90, 160))
		m.put(sinceTime, step(seconds(t.e.time-a.at), 30, 120, 600, 2400))
		since := r.said - a.atSaid
		m.put(sinceSaid, step(since, 2, 4, 9, 21))
		if since == 1 {
			m.put(continuesOwn, step(r.recent[(r.nrecent-1)%recents].points, -50, 0, 70))
		}
	}
	quiet := int32(0)
	if r.said > 1 {
		quiet = seconds(t.e.time - r.lastAt)
	}
	m.put(roomSilence, step(quiet, 60, 300, 1800)+4*bit(fresh))
	another, any := t.asker()
	if any {
		m.put(otherBest, step(another, -100, -30, 30, 100, 200))
		m.put(leadsBest, step(a.points-another, leadCuts...))
		if fresh {
			m.put(bestNew, step(another, -100, -30, 30, 100, 200))
		}
	}
	t.aroundOther(m, &a, fresh)
	t.aroundAddressee(m, &a)
	if since := r.said - a.partnerSaid; a.partner != nobody && since <= 20 {
		q := &t.persons[a.partner].part
		m.put(partnerPoints, step(q.points, partCuts...))
		m.put(partnerAsks, 3*step(since, 3, 8)+bit(a.partnerAsked)+bit(a.partnerAsked && a.partnerOfYou))
		m.put(partnerReplies, int(min(a.replies, 3)))
		m.put(partnerLead, step(a.points-q.points, leadCuts...))
	}
	like := step(a.points+a.average()-another/2, partCuts...)
	if since := r.said - a.partnerSaid; a.partnerAsked && since <= 3 {
		m.put(roleReplies, 4*like+2*bit(a.partnerOfYou)+bit(t.v.words <= 3))
	}
	t.inPart(m, like)
}

// seconds returns a time as a number that is not negative.
func seconds(n int64) int32 { return int32(min(max(n, 0), 1<<20)) }

// inPart notes what the words show of a person who sounds like an asker (4) or a helper (0).
func (t *turn) inPart(m *marks, like int) {
	v := t.v
	m.put(roleAsks, 8*like+v.asksOf())
	for _, x := range [...]struct {
		f     feature
		holds bool
	}{{roleShort, v.words <= 4}, {roleLong, v.words > 15}, {roleThanks, v.thanks}, {roleAck, v.ack},
		{roleNod, v.ackword}, {roleSmiley, v.emoji}, {roleLoud, v.loud}, {roleCode, v.code},
		{roleProblem, v.problem}, {roleReply, v.reply}, {roleAdvice, v.advice}, {roleGuess, v.guess}} {
		if x.holds {
			m.put(x.f, like)
		}
	}
	m.put(roleWords, 7*like+step(v.role, -150, -70, -20, 20, 70, 150))
}

// fades are the shares, of 1024, of a person's points that are left so many messages later.
var fades = func() (left [recents + 1]int32) {
	left[0] = 1024
	for n := range recents {
		left[n+1] = left[n] * 15 / 16
	}
	return left
}()

// asker returns the points of the person, other than the writer, who most likely is being helped.
func (t *turn) asker() (best int32, any bool) {
	r := t.r
	for i := r.nrecent - 1; i >= max(r.nrecent-recents, 0); i-- {
		m := &r.recent[i%recents]
		o := &t.persons[m.who].part
		if m.who == t.me || m.said != o.atSaid {
			continue // the writer, or an earlier message
		}
		if p := o.points * fades[min(r.said-m.said, recents)] / 1024; !any || p > best {
			best, any = p, true
		}
	}
	return best, any
}

// aroundOther notes what the last message of another person shows, if it is near.
func (t *turn) aroundOther(m *marks, a *part, fresh bool) {
	o := t.r.other(t.me)
	if o == nil || t.r.said-o.said > 5 {
		m.put(otherPoints, 0)
		return
	}
	q := &t.persons[o.who].part
	m.put(otherPoints, 1+step(q.points, partCuts...))
	m.put(otherMessage, step(o.points, -100, -30, 30, 100))
	mine := step(a.points, -40, 40)
	if fresh {
		mine = 1
	}
	m.put(otherAsks, 3*(bit(o.asks)+bit(o.asks && o.second)+2*bit(o.asks && o.first && !o.second))+mine)
	me := slices.Contains(o.to[:o.nto], t.me)
	m.put(otherTo, bit(o.nto > 0)+bit(me)+3*bit(o.asks))
	m.when(otherAck, o.ack)
	m.when(otherOfYou, o.second)
	m.put(otherEver, step(q.average(), -30, 0, 30))
	m.put(otherLead, step(a.points-q.points, leadCuts...))
}

// aroundAddressee notes what is known of the person that the message is to.
func (t *turn) aroundAddressee(m *marks, a *part) {
	if t.nto == 0 {
		m.put(toPoints, 0)
		return
	}
	q := &t.persons[t.to[0]].part
	m.put(toPoints, 1+step(q.points, partCuts...))
	m.put(toEver, step(q.average(), -70, -30, 0, 30, 70))
	m.put(toPartner, bit(a.partner == t.to[0]))
	m.put(toLead, step(a.points-q.points, leadCuts...))
	m.put(toAsks, t.v.asksOf())
	m.put(toLive, bit(t.r.said-q.atSaid < 20))
}

// ruling notes what the rules know of the conversation, before they place the message.
func (t *turn) ruling(m *marks) {
	v, p, r := t.v, t.p, t.r
	m.when(asksSelf, t.asksForSelf())
	m.when(ownMild, t.own && p.mild)
	m.when(ownOfYou, t.own && v.second && !v.first)
	m.when(ownHelped, t.own && p.helpers.n > 0)
	m.when(wasHelped, p.helpers.n > 0)
	m.when(askedBack, p.wanted)
	m.when(toAHelper, t.toHelper())
	m.when(toOneAsking, t.named)
	m.when(toALikeOne, t.toAsker())
	m.when(isAnswer, t.answers())
	m.when(isHelping, t.helping)
	m.when(givesMore, p.breadth > p.asks)
	m.when(helpsToo, p.breadth > 0)
	m.when(asksMore, p.asks > p.breadth)
	m.when(isNew, t.newcomer)
	m.when(isGuest, t.guest && !t.newcomer)
	m.when(newOfMe, t.newcomer && v.first && t.nto == 0)
	m.when(hasGreeted, t.greeted())
	m.when(hasNoted, p.noted != 0)
	m.when(afterQuestion, r.asked && r.last != t.me)
	m.when(since1, p.opened != 0 && t.e.time-p.opened <= 60)
}
