package classify

// The signs, each with its weight for (positive) or against a message being worth reading, in hundredths
// of a logit. The weights are fitted; see TestFit.
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

// atFirst is the points of a message without signs.
const atFirst = -202

// weights holds the signs' weights, names and descriptions.
var weights = [signCount]struct {
	points      int16
	name, words string
}{
	ruledAsk:      {23, "placed-question", "they say that it is a question of its writer's own"},
	ruled:         {118, "placed", "the rules that place it say so"},
	hasTwoWords:   {-26, "one-or-two-words", "it has a word or two"},
	hasManyWords:  {16, "many-words", "it is long"},
	hasMostWords:  {54, "very-many-words", "it is very long"},
	hasCode:       {35, "code", "it has a link, code or a quote"},
	ofProblem:     {51, "problem", "it speaks of a problem"},
	ofYou:         {-44, "of-you", "it speaks of the one it is to"},
	hasSmiley:     {-61, "smiley", "it has a smiley"},
	isLoud:        {-33, "exclamation", "it has an exclamation mark"},
	isAdvice:      {-50, "advice", "it gives advice"},
	isFact:        {41, "fact", "it tells what its writer did or saw"},
	isNameAlone:   {-17, "name-alone", "it is a name alone"},
	hasGreeting:   {45, "greets", "it greets and says more"},
	marked:        {57, "question-mark", "it has a question mark"},
	asksPhrase:    {48, "question-words", "its words ask"},
	asksOfMe:      {22, "question-of-me", "it asks and speaks of its writer"},
	asksOfYou:     {-13, "question-to-you", "it asks and speaks of the one it is to"},
	asksSelf:      {56, "asks-for-self", "it is a question of its writer's own"},
	ownMild:       {-42, "mild-opening", "who began with a question that was hardly about themselves"},
	ownOfYou:      {-37, "being-helped-of-you", "and speaks of the one it is to"},
	ownHelped:     {37, "being-answered", "whom somebody has answered"},
	helped:        {31, "was-answered", "its writer was answered before"},
	askedBack:     {27, "was-asked", "its writer was asked something"},
	toAHelper:     {22, "to-helper", "it is to somebody who mostly helps"},
	toOneAsking:   {-25, "to-one-asking", "it is to somebody who asks"},
	toALikeOne:    {-36, "to-newer", "it is to somebody who helps no more than its writer"},
	isAnswer:      {-52, "answers", "it answers somebody"},
	isHelping:     {-47, "helping", "its writer is helping somebody"},
	givesMore:     {-76, "helps-more", "its writer helps more than they ask"},
	gives:         {-40, "helps-too", "its writer helps too"},
	asksMore:      {92, "asks-more", "its writer asks more than they help"},
	isNew:         {20, "newcomer-here", "its writer is new"},
	isGuest:       {31, "nearly-new", "its writer is nearly new"},
	newOfMe:       {35, "newcomer-of-me", "who speaks of themselves"},
	hasGreeted:    {21, "greeted", "its writer greeted just now"},
	hasNoted:      {-52, "took-note", "its writer took note of an answer"},
	afterQuestion: {18, "after-others-question", "somebody asked just before"},
	since1:        {47, "asked-just-now", "its writer asked a minute ago"},
}

// signs returns the signs that hold for the message, except those of the rules' result.
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
