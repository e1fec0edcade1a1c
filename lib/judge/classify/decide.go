package classify

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
)

// Features of a message, numbered. Those up to fText are of its words alone.
const (
	fWords = iota
	fMark
	fPhrase
	fAbout
	fState
	fThanks
	fSpeech
	fMedia
	fAck
	fBegins
	fSmall
	fAsks
	fVoice
	fEnding
	fLines
	fText
	fNamed
	fOpeningAge
	fOpeningSince
	fOtherAge
	fOrder
	fOwnVoice
	fThread
	fFirstAsk
	fPairVoice
	fPairFirst
	fRoomOrder
	fStarted
	fPlaced
	fPart
	fPerson
	nFeatures
)

// Bins is the number of values of a feature; it is more than any rule or flag needs.
const Bins = 64

// features holds the value of each feature.
type features = [nFeatures]uint8

// featureWords says what each feature is, by its name in records and in words.
var featureWords = [nFeatures]struct{ name, words string }{
	fWords: {"words", "its length"}, fMark: {"mark", "its question mark, or none"}, fPhrase: {"phrase", "a phrase that asks, or none"},
	fAbout: {"about", "whether it speaks of me or of you"}, fState: {"state", "whether it tells of a problem, a result or a fact"},
	fThanks: {"thanks", "whether it thanks or promises"}, fSpeech: {"speech", "whether it guesses, advises or shows code"},
	fMedia: {"media", "its links, smileys and exclamation marks"}, fAck: {"ack", "whether it acknowledges"},
	fBegins: {"begins", "how it begins"}, fSmall: {"small", "whether it says anything"},
	fAsks: {"asks", "how much its words are like a question's"}, fVoice: {"voice", "how much its words are like an asker's"},
	fEnding: {"ending", "how it ends"}, fLines: {"lines", "its lines"}, fText: {"text", "its text as a whole"},
	fNamed: {"named", "who named its writer before it"}, fOpeningAge: {"opening-age", "when its writer opened something"},
	fOpeningSince: {"opening-since", "how many others have spoken since"}, fOtherAge: {"other-age", "when another opened something"},
	fOrder: {"order", "which of the two was last"}, fOwnVoice: {"own-voice", "how its writer spoke before"},
	fThread: {"thread", "its writer's part in the thread"}, fFirstAsk: {"first-ask", "who asked first in the exchange"},
	fPairVoice: {"pair-voice", "how its writer and the other have spoken"}, fPairFirst: {"pair-first", "which of the two asked first"},
	fRoomOrder: {"room-order", "what was opened in the room"}, fStarted: {"started", "how the thread began, and by whom"},
	fPlaced: {"placed", "where the rules place it"}, fPart: {"part", "whether its writer asks or helps"},
	fPerson: {"person", "who its writer is in the room"},
}

// Decider is what is fitted: weights in hundredths of a logit, a table of them for each feature.
type Decider struct {
	Grams [Grams]Gram
	Text  Table // of the words alone: for a person who needs help
	Wants Table // for a message that needs a helper
}

type decider = Decider

// Table is a sum of weights by the values of the features.
type Table struct {
	Base   int16
	Points [nFeatures][Bins]int16
}

// Score is the sum, in hundredths of a logit.
func (t *Table) Score(x *[nFeatures]uint8) int {
	n := int(t.Base)
	for f := range x {
		n += int(t.Points[f][x[f]%Bins])
	}
	return n
}

// text is Score of the features of the words alone.
func (t *Table) text(x *features) int {
	n := int(t.Base)
	for f := range fText {
		n += int(t.Points[f][x[f]%Bins])
	}
	return n
}

//go:embed decider
var fitted []byte

// deciderSize is the length of a decider in its file: the weights of words, then the two tables, numbers
// of two bytes with the low one first.
const deciderSize = 2*Grams + 2*2*(1+nFeatures*Bins)

var errDecider = errors.New("not a decider")

// ReadDecider reads a decider as Bytes writes it.
func ReadDecider(b []byte) (*Decider, error) {
	if len(b) != deciderSize {
		return nil, errDecider
	}
	d := new(Decider)
	for i := range d.Grams {
		d.Grams[i] = Gram{int8(b[2*i]), int8(b[2*i+1])}
	}
	b = b[2*Grams:]
	next := func() int16 {
		n := int16(uint16(b[0]) | uint16(b[1])<<8)
		b = b[2:]
		return n
	}
	for _, t := range []*Table{&d.Text, &d.Wants} {
		t.Base = next()
		for f := range t.Points {
			for i := range t.Points[f] {
				t.Points[f][i] = next()
			}
		}
	}
	return d, nil
}

// Bytes returns the decider as in its file.
func (d *Decider) Bytes() []byte {
	b := make([]byte, 0, deciderSize)
	for _, g := range d.Grams {
		b = append(b, byte(g.Asks), byte(g.Voice))
	}
	for _, t := range []*Table{&d.Text, &d.Wants} {
		b = append(b, byte(t.Base), byte(uint16(t.Base)>>8))
		for f := range t.Points {
			for _, n := range t.Points[f] {
				b = append(b, byte(n), byte(uint16(n)>>8))
			}
		}
	}
	return b
}

// sum is what the decider says of a message.
type sum struct {
	x       features
	score   int16 // hundredths of a logit
	weighed bool
	because uint16 // the feature that reversed the rules' decision, 0 for none
}

// decide weighs a message that the rules have placed, unless they alone decide.
func (t *turn) decide(d *decider, x *features) {
	x[fPlaced] = uint8(t.why)*2 + flags8(t.wanted)
	t.x = *x
	if t.bound() {
		return
	}
	t.weighed, t.score = true, int16(min(max(d.Wants.Score(x), -999), 999))
	wanted := int(t.score) >= t.v.from
	if wanted != t.wanted {
		t.sum.because = d.Wants.strongest(x, wanted)
	}
	t.wanted = wanted
}

// bound reports whether the rules alone decide: exact structure, and the lists of the configuration.
func (t *turn) bound() bool {
	v := t.v
	switch {
	case t.ack, v.mention, v.chatter, v.helper, t.why == whyAnnounces, t.why == whyTopic:
		return true
	case t.asks:
		return t.wanted && t.nto == 0 && (t.target == nobody || v.phrase && !v.second) // it asks the room
	}
	settled := t.p.thanked != 0 && t.e.time-t.p.thanked > quietTime && !t.own && !v.problem
	return settled || v.ack && v.reply // "yes" to what was asked
}

// strongest returns the reason of the feature that says most for or against.
func (t *Table) strongest(x *features, wanted bool) uint16 {
	best, of := 0, 0
	for f := range x {
		n := int(t.Points[f][x[f]%Bins])
		if !wanted {
			n = -n
		}
		if f != fPlaced && n > best {
			best, of = n, f
		}
	}
	return uint16(whySign + of)
}

// usualFrom is the probability from which a message is actionable if the configuration sets none.
const usualFrom = 0.4

// pointsOf returns the score of a probability.
func pointsOf(p float64) (int, error) {
	if p == 0 {
		p = usualFrom
	}
	if !(p > 0 && p < 1) {
		return 0, fmt.Errorf("classifier.actionable_from: %v is not between 0 and 1", p)
	}
	return int(math.Round(100 * math.Log(p/(1-p)))), nil
}

// percent returns the probability of a score.
func percent(score int16) int {
	return min(max(int(math.Round(100/(1+math.Exp(-float64(score)/100)))), 1), 99)
}

// readText fills in the features of the words alone, and the tone of the message.
func (c *Classifier) readText(body []byte, t *reading, v *verdict) {
	x := &v.text
	x[fWords] = bin(int64(len(t.words)), 0, 1, 2, 4, 7, 12, 20, 40)
	switch {
	case t.mark && t.markEnd == len(t.words):
		x[fMark] = 3
	case t.mark:
		x[fMark] = 2
	case t.loose:
		x[fMark] = 1
	}
	switch {
	case v.ack && len(t.words) == 0:
		x[fAck] = 3
	case v.ack:
		x[fAck] = 2
	case v.nameAck || v.ackName:
		x[fAck] = 1
	}
	x[fPhrase] = flags8(v.phrase, v.lone)
	x[fAbout] = flags8(v.first, v.second)
	x[fState] = flags8(v.problem, v.solved, v.fact)
	x[fThanks] = flags8(v.thanks, v.later)
	x[fSpeech] = flags8(v.guess, v.advice, v.code)
	x[fMedia] = flags8(v.linked, v.emoji, v.loud)
	x[fBegins] = flags8(v.ackword, v.nods, v.greets, v.tells)
	x[fSmall] = flags8(v.filler, v.brief, v.reply, v.hollow)
	x[fEnding], x[fLines] = ending(body)
	asks, voice := tone(t.words, &c.decider.Grams)
	x[fAsks], x[fVoice] = step(asks, -96, 16, 13), step(voice, -80, 12, 13)
	all := c.decider.Text.text(x) / 4
	x[fText] = step(all, -104, 16, 15)
	v.voice = int8(min(max(all, -127), 127))
}

// ending tells a message's last sign, and how many lines it has.
func ending(body []byte) (sign, lines uint8) {
	if len(body) == 0 {
		return 0, 0
	}
	switch body[len(body)-1] {
	case '.':
		sign = 1
	case '!':
		sign = 2
	case '?':
		sign = 3
	case ':':
		sign = 4
	case '`', ')':
		sign = 5
	}
	return sign, bin(int64(bytes.Count(body, []byte{'\n'})), 0, 1, 4)
}
