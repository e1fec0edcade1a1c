package classify

// The signs, and what each speaks for (above zero) or against a message being worth
// reading, in hundredths of a logit. They are fitted, not guessed: see TestFit.
const (
	ruledAsk sign = iota
	ruled
	hasTwoWords
	hasManyWords
	hasMostWords
	hasCode
	ofProblem
	ofYou
	hasSmiley
	isLoud
	isAdvice
	isFact
	isNameAlone
	hasGreeting
	marked
	asksPhrase
	asksOfMe
	asksOfYou
	asksSelf
	ownMild
	ownOfYou
	ownHelped
	helped
	askedBack
	toAHelper
	toOneAsking
	toALikeOne
	isAnswer
	isHelping
	givesMore
	gives
	asksMore
	isNew
	isGuest
	newOfMe
	hasGreeted
	hasNoted
	afterQuestion
	since1
	signCount
)

// atFirst are the points of a message of which no sign holds.
const atFirst = -166

// weights has them with their names and what they say to a person.
var weights = [signCount]struct {
	points      int16
	name, words string
}{
	ruledAsk:      {52, "placed-question", "they say that it is a question of its writer's own"},
	ruled:         {94, "placed", "the rules that place it say so"},
	hasTwoWords:   {-19, "one-or-two-words", "it has a word or two"},
	hasManyWords:  {25, "many-words", "it is long"},
	hasMostWords:  {49, "very-many-words", "it is very long"},
	hasCode:       {25, "code", "it has a link, code or a quote"},
	ofProblem:     {45, "problem", "it speaks of a problem"},
	ofYou:         {-30, "of-you", "it speaks of the one it is to"},
	hasSmiley:     {-61, "smiley", "it has a smiley"},
	isLoud:        {-25, "exclamation", "it has an exclamation mark"},
	isAdvice:      {-54, "advice", "it gives advice"},
	isFact:        {51, "fact", "it tells what its writer did or saw"},
	isNameAlone:   {-34, "name-alone", "it is a name alone"},
	hasGreeting:   {43, "greets", "it greets and says more"},
	marked:        {25, "question-mark", "it has a question mark"},
	asksPhrase:    {41, "question-words", "its words ask"},
	asksOfMe:      {27, "question-of-me", "it asks and speaks of its writer"},
	asksOfYou:     {-12, "question-to-you", "it asks and speaks of the one it is to"},
	asksSelf:      {52, "asks-for-self", "it is a question of its writer's own"},
	ownMild:       {-50, "mild-opening", "who began with a question that was hardly about themselves"},
	ownOfYou:      {-24, "being-helped-of-you", "and speaks of the one it is to"},
	ownHelped:     {14, "being-answered", "whom somebody has answered"},
	helped:        {62, "was-answered", "its writer was answered before"},
	askedBack:     {51, "was-asked", "its writer was asked something"},
	toAHelper:     {32, "to-helper", "it is to somebody who mostly helps"},
	toOneAsking:   {-18, "to-one-asking", "it is to somebody who asks"},
	toALikeOne:    {-59, "to-newer", "it is to somebody who helps no more than its writer"},
	isAnswer:      {-55, "answers", "it answers somebody"},
	isHelping:     {-15, "helping", "its writer is helping somebody"},
	givesMore:     {-71, "helps-more", "its writer helps more than they ask"},
	gives:         {-69, "helps-too", "its writer helps too"},
	asksMore:      {78, "asks-more", "its writer asks more than they help"},
	isNew:         {-1, "newcomer-here", "its writer is new"},
	isGuest:       {30, "nearly-new", "its writer is nearly new"},
	newOfMe:       {43, "newcomer-of-me", "who speaks of themselves"},
	hasGreeted:    {39, "greeted", "its writer greeted just now"},
	hasNoted:      {-65, "took-note", "its writer took note of an answer"},
	afterQuestion: {22, "after-others-question", "somebody asked just before"},
	since1:        {26, "asked-just-now", "its writer asked a minute ago"},
}

// signs are those that hold of the message, but for what the rules come to.
func (t *turn) signs() (s signs) {
	v, p, r, at := t.v, t.p, t.r, t.e.time
	s.put(hasTwoWords, v.words <= 2)
	s.put(hasManyWords, v.words > longTalk && v.words <= 2*longTalk)
	s.put(hasMostWords, v.words > 2*longTalk)
	s.put(hasCode, v.code)
	s.put(ofProblem, v.problem)
	s.put(ofYou, v.second && !v.first)
	s.put(hasSmiley, v.emoji)
	s.put(isLoud, v.loud)
	s.put(isAdvice, v.advice)
	s.put(isFact, v.fact)
	s.put(isNameAlone, v.words <= 1 && t.nto > 0 && !v.mark)
	s.put(hasGreeting, v.tells)
	s.put(marked, v.mark)
	s.put(asksPhrase, v.phrase)
	s.put(asksOfMe, (v.mark || v.phrase) && v.first)
	s.put(asksOfYou, (v.mark || v.phrase) && v.second)
	s.put(asksSelf, t.asksForSelf())
	s.put(ownMild, t.own && p.mild)
	s.put(ownOfYou, t.own && v.second && !v.first)
	s.put(ownHelped, t.own && p.helpers.n > 0)
	s.put(helped, p.helpers.n > 0)
	s.put(askedBack, p.wanted)
	s.put(toAHelper, t.toHelper())
	s.put(toOneAsking, t.named)
	s.put(toALikeOne, t.toAsker())
	s.put(isAnswer, t.answers())
	s.put(isHelping, t.helping)
	s.put(givesMore, p.breadth > p.asks)
	s.put(gives, p.breadth > 0)
	s.put(asksMore, p.asks > p.breadth)
	s.put(isNew, t.newcomer)
	s.put(isGuest, t.guest && !t.newcomer)
	s.put(newOfMe, t.newcomer && v.first && t.nto == 0)
	s.put(hasGreeted, t.greeted())
	s.put(hasNoted, p.noted != 0)
	s.put(afterQuestion, r.asked && r.last != t.me)
	s.put(since1, p.opened != 0 && at-p.opened <= 60)
	return s
}
