package conversation

// Reasons, as records have them.
const (
	quoted      = "quoted"                // it quotes a message of the conversation
	sameMessage = "same-message"          // an edit or a deletion of one
	replyToYou  = "reply-to-you"          // its author was spoken to there
	byName      = "addressed-by-name"     // it names somebody who speaks there
	samePerson  = "same-person"           // its author speaks there
	answersOpen = "answers-open-question" // a question was the last word there
	sameWords   = "same-words"            // it has rare words in common with it
	nextInLine  = "next-in-line"          // nothing but its place: right behind it
)

// rule is something that may hold of a message and a conversation, or of a message
// that might begin one. In its words "I" am the author of the message.
type rule int

const (
	// How many messages of the room ago the conversation spoke last.
	near0 rule = iota // it is the last
	near3
	near8
	near20
	near50
	nearMore
	// How long ago.
	soon1 // within a minute
	soon3
	soon10
	soon30
	soon120
	soonMore

	mine         // I spoke there when I last spoke
	mineOnce     // I spoke there, and elsewhere since
	opener       // I began it
	stranger     // I have not spoken there
	namedLast    // whom I name spoke there when they last spoke
	namedOnce    // whom I name has spoken there, or was spoken to
	namedNot     // whom I name has not
	namedSpeaker // whom I name is the one who spoke last there
	toldMe       // somebody has spoken to me there since I last spoke
	toldMeOnce   // the last to speak to me did there, before I last spoke
	lastToMe     // its last message is to me
	lastToOther  // its last message is to somebody else
	only         // no other has spoken for ten minutes
	onlyOpen     // and its last message asks, and mine does not
	fewWords     // its last words have some in common with the message
	someWords
	manyWords

	// Of a message that would begin a conversation.
	begins      // all of them
	firstWord   // I have not spoken yet, in a room heard for more than 40 messages
	longSilent  // I have not spoken for more than 40 messages
	beginAsking // it asks
	beginHello  // it greets
	beginNaming // it names somebody
	beginLong   // it has 12 words or more
	nRules
)

// weights are the points that each rule gives, in hundredths: a rule of 100 points
// makes what it speaks for e times as likely. They were fitted, with the rules as
// features of a log-linear model, to five of the ten annotated hours of #ubuntu
// and to an hour each of #rust and #mediawiki, then rounded by hand.
var weights = [nRules]int{
	near0: 165, near3: 65, near8: 10, near20: -45, near50: -105, nearMore: -175,
	// The annotated rooms are never quiet for long; the last step is set by hand.
	soon1: 85, soon3: 55, soon10: -45, soon30: -45, soon120: -115, soonMore: -250,

	mine: 95, mineOnce: -30, opener: 125, stranger: -145,
	namedLast: 210, namedOnce: 150, namedNot: -235, namedSpeaker: 175,
	toldMe: 105, toldMeOnce: 20, lastToMe: 45, lastToOther: -85,
	fewWords: 115, someWords: 160, manyWords: 250,
	// Nor are they ever a room with one question in it: by hand, from 20.
	only: 55, onlyOpen: 80,

	begins: 85, firstWord: 125, longSilent: 70,
	beginAsking: 85, beginHello: 115, beginNaming: -120, beginLong: 110,
}

// reasons are what a rule is called in a record when it is the strongest.
var reasons = [nRules]string{
	mine: samePerson, mineOnce: samePerson, opener: samePerson,
	namedLast: byName, namedOnce: byName, namedSpeaker: byName,
	toldMe: replyToYou, toldMeOnce: replyToYou, lastToMe: replyToYou,
	fewWords: sameWords, someWords: sameWords, manyWords: sameWords,
}

// cold is for how many seconds a conversation can be continued at most.
const cold = 24 * 60 * 60
