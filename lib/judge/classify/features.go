package classify

// feature is a group of values, of which at most one holds for a message.
type feature uint8

const (
	ofWords feature = iota
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
	partPoints
	cameAsking
	partOpened
	partMost
	partEver
	hasThanked
	hasAsked
	partQuestions
	roomSilence
	toPoints
	toEver
	toPartner
	toAsks
	partnerPoints
	partnerAsks
	partnerReplies
	roleAsks
	roleWords
	roleReplies
	ruledAsk
	ruled
	asksSelf
	ownHelped
	toAHelper
	toOneAsking
	isAnswer
	isHelping
	givesMore
	helpsToo
	asksMore
	isNew
	isGuest
	newOfMe
	hasNoted
	since1
	featureCount
)

// features are their numbers of values, names and descriptions. The values of the first are the words of the
// packs, which count for the part that people take; the others' are computed by aloud, around and ruling.
var features = [featureCount]struct {
	size        uint16
	name, words string
}{
	ofWords:        {0, "words", "its words"},
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
	hasNod:         {1, "nod", "it begins with an acknowledgement"},
	hasGreeting:    {2, "greets", "it begins with a greeting"},
	isLone:         {1, "lone-mark", "it is a question mark alone"},
	isLoud:         {1, "exclamation", "it has an exclamation mark"},
	marked:         {1, "question-mark", "it has a question mark"},
	asksPhrase:     {1, "question-words", "its words ask"},
	isAck:          {1, "acknowledges", "it only acknowledges"},
	hasLength:      {9, "length", "its length"},
	asksOfWhom:     {8, "asks", "whether it asks, and of whom it speaks"},
	partPoints:     {9, "part", "whether its writer sounded like an asker or a helper so far"},
	cameAsking:     {8, "came", "whether its writer came with a question"},
	partOpened:     {5, "opening", "how its writer began"},
	partMost:       {4, "strongest", "the most asking of its writer's messages"},
	partEver:       {9, "ever", "whether its writer asks or helps in this room"},
	hasThanked:     {1, "thanked", "its writer gave thanks before"},
	hasAsked:       {1, "asked", "its writer's last message asks"},
	partQuestions:  {4, "questions", "how often its writer asked"},
	roomSilence:    {8, "gap", "the time since the last message"},
	toPoints:       {6, "to-part", "whether the one it is to asks or helps"},
	toEver:         {6, "to-ever", "whether the one it is to asks or helps in this room"},
	toPartner:      {2, "to-partner", "it is to the one who spoke to its writer"},
	toAsks:         {8, "to-asks", "whether it asks the one it is to"},
	partnerPoints:  {5, "partner-part", "whether the one who spoke to its writer asks or helps"},
	partnerAsks:    {9, "partner-asks", "whether the one who spoke to its writer asked"},
	partnerReplies: {4, "replies", "how often others spoke to its writer"},
	roleAsks:       {40, "part-asks", "whether an asker or a helper asks so"},
	roleWords:      {35, "part-words", "whether an asker or a helper speaks so"},
	roleReplies:    {20, "part-replies", "whether an asker or a helper replies to a question"},
	ruledAsk:       {1, "placed-question", "the rules place it as a question of its writer's own"},
	ruled:          {1, "placed", "the rules that place it say so"},
	asksSelf:       {1, "asks-for-self", "it is a question of its writer's own"},
	ownHelped:      {1, "being-answered", "its writer is being answered"},
	toAHelper:      {1, "to-helper", "it is to a person who mostly helps"},
	toOneAsking:    {1, "to-one-asking", "it is to a person who asks"},
	isAnswer:       {1, "answers", "it answers a person who asked"},
	isHelping:      {1, "helping", "its writer is helping a person"},
	givesMore:      {1, "helps-more", "its writer helps more than they ask"},
	helpsToo:       {1, "helps-too", "its writer helps too"},
	asksMore:       {1, "asks-more", "its writer asks more than they help"},
	isNew:          {1, "newcomer-here", "its writer is new"},
	isGuest:        {1, "nearly-new", "its writer is nearly new"},
	newOfMe:        {1, "newcomer-of-me", "its writer is new and speaks of themselves"},
	hasNoted:       {1, "took-note", "its writer took note of an answer"},
	since1:         {1, "asked-just-now", "its writer asked a minute ago"},
}

// featureAt is the number of each feature's first value; the words follow behind the last.
var featureAt = func() (at [featureCount + 1]uint16) {
	for n, f := range features {
		at[n+1] = at[n] + f.size
	}
	return at
}()
