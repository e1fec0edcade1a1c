package classify

// Words and pairs of words are hashed into a table of weights, so that words that are in no pack count too.
const (
	gramBits  = 14
	gramWords = 96 // words of a message that are looked up

	// Grams is the size of the table.
	Grams = 1 << gramBits
)

// Keys of what stands for a word.
const (
	linkKey = 1
	codeKey = 2
)

// Gram holds the weights of a word or a pair, in 32nds of a logit: for a question, and for a person who needs
// help.
type Gram struct{ Asks, Voice int8 }

// hashed spreads a key of letters over 32 bits.
func hashed(key uint64) uint32 {
	key ^= key >> 29
	return uint32(key * 0x9E3779B97F4A7C15 >> 32)
}

// startGram stands for the word before the first of a sentence.
const startGram = uint32(0x61C88647)

func (w *word) gram() uint32 { return w.hash >> (32 - gramBits) }

func (w *word) pair(before uint32) uint32 {
	return (before*0x85EBCA6B + w.hash) * 0xC2B2AE35 >> (32 - gramBits)
}

// gramsOf returns the number of every word and pair of words.
func gramsOf(words []word) (all []uint32) {
	before := startGram
	for i := range words[:min(len(words), gramWords)] {
		w := &words[i]
		if w.begins {
			before = startGram
		}
		all = append(all, w.gram(), w.pair(before))
		before = w.hash
	}
	return all
}

// tone sums the weights of a message's words, each sum divided by a root of its length.
func tone(words []word, table *[Grams]Gram) (asks, voice int) {
	before := startGram
	for i := range words[:min(len(words), gramWords)] {
		w := &words[i]
		if w.begins {
			before = startGram
		}
		one, two := &table[w.gram()], &table[w.pair(before)]
		asks += int(one.Asks) + int(two.Asks)
		voice += int(one.Voice) + int(two.Voice)
		before = w.hash
	}
	d := rootOf[min(len(words), gramWords)]
	return asks * 16 / d, voice * 16 / d
}

// rootOf is sixteen times the root of the number of words and one more.
var rootOf = func() (roots [gramWords + 1]int) {
	for n := range roots {
		r := 0
		for r*r < 256*(n+1) {
			r++
		}
		roots[n] = r
	}
	return roots
}()
