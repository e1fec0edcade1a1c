package conversation

// Reasons in records.
const (
	quoted      = "quoted"                // it quotes a message of the conversation
	sameMessage = "same-message"          // an edit or a deletion of one
	replyToYou  = "reply-to-you"          // its author was addressed there
	byName      = "addressed-by-name"     // it names a person who speaks there
	samePerson  = "same-person"           // its author speaks there
	answersOpen = "answers-open-question" // the last message there was a question
	sameWords   = "same-words"            // it shares rare words with it
	nextInLine  = "next-in-line"          // only its position, directly after it
)

// rule is a feature of a message and a conversation, or of a message that might start one. In the
// descriptions, "I" is the author of the message.
type rule int

const (
	// Number of messages in the room since the conversation's last.
	near0 rule = iota // it was the last
	near3
	near8
	near20
	near50
	nearMore
	// Time since then.
	soon1 // at most a minute
	soon3
	soon10
	soon30
	soon120
	soonMore

	mine         // my last message was there
	mineOnce     // I spoke there, and elsewhere since
	opener       // I began it
	stranger     // I have not spoken there
	namedLast    // a person I name spoke there last
	namedOnce    // a person I name has spoken or been addressed there
	namedNot     // no person I name has
	namedSpeaker // a person I name sent the last message there
	toldMe       // I was addressed there since my last message
	toldMeOnce   // I was last addressed there, before my last message
	lastToMe     // its last message is to me
	lastToOther  // its last message is to someone else
	only         // no other was active for ten minutes
	onlyOpen     // and its last message is a question, and mine is not
	fewWords     // its recent words overlap with the message
	someWords
	manyWords

	// Of a message that would start a conversation.
	begins      // all of them
	firstWord   // I have not spoken yet, in a room with more than 40 messages
	longSilent  // I have not spoken for more than 40 messages
	beginAsking // it is a question
	beginHello  // it is a greeting
	beginNaming // it names someone
	beginLong   // it has 12 words or more
	nRules
)

// weights are the points of each rule, in hundredths: 100 points multiply the odds by e. They were fitted,
// with the rules as features of a log-linear model, to five of the ten annotated hours of #ubuntu and to
// an hour each of #rust and #mediawiki, then rounded by hand.
var weights = [nRules]int{
	near0: 165, near3: 65, near8: 10, near20: -45, near50: -105, nearMore: -175,
	// The annotated rooms are never quiet for long, so the last step is set by hand.
	soon1: 85, soon3: 55, soon10: -45, soon30: -45, soon120: -115, soonMore: -400,

	mine: 95, mineOnce: -30, opener: 125, stranger: -145,
	namedLast: 210, namedOnce: 150, namedNot: -235, namedSpeaker: 175,
	toldMe: 105, toldMeOnce: 20, lastToMe: 45, lastToOther: -85,
	fewWords: 115, someWords: 160, manyWords: 250,
	// They also never have only one question; set by hand, from 20.
	only: 55, onlyOpen: 80,

	begins: 85, firstWord: 125, longSilent: 70,
	beginAsking: 85, beginHello: 115, beginNaming: -120, beginLong: 110,
}

// reasons maps a rule to its reason in a record, if it is the strongest.
var reasons = [nRules]string{
	mine: samePerson, mineOnce: samePerson, opener: samePerson,
	namedLast: byName, namedOnce: byName, namedSpeaker: byName,
	toldMe: replyToYou, toldMeOnce: replyToYou, lastToMe: replyToYou,
	fewWords: sameWords, someWords: sameWords, manyWords: sameWords,
}

// cold is after how many seconds a conversation can no longer be continued.
const cold = 24 * 60 * 60
