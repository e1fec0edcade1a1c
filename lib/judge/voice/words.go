package voice

import (
	"strings"
	"sync"

	"tri/lib/base/text"
)

// Language is the only language whose words the lists below hold. A draft in another one is cut into
// parts and not rephrased.
const Language = "en"

// neutral are the words that say nothing by themselves. Whatever is not in this list, nor in a row of
// classes, has to stay: a name, a unit or an adjective that nobody has heard of is safe. A word belongs
// here only if no sentence becomes false by adding or removing it.
var neutral = set(`
	a an the this that these those it its they them their there which who
	is are am be do does get gets
	in at on of with and so also too then as well but however though although
	note please hey hi ok okay oh ah anyway basically
	located lives sits resides`)

// relating are neutral words that are compared between two figures: 5 of 10 is not 5 in 10.
var relating = set("in at on of with as do does get gets")

// classes are rows of words that may replace each other.
var classes = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for row := range strings.Lines(`
		all every each
		may might maybe perhaps possibly
		probably likely
		about roughly approximately around
		usually normally typically
		often frequently
		sometimes occasionally
		begin begins start starts
		use uses utilize utilizes
		we us i me
		our my
		nobody none no-one`) {
		if words := strings.Fields(row); len(words) > 0 {
			for _, w := range words {
				all[w] = words[0]
			}
		}
	}
	return all
})

var numerals = map[string]string{
	"zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}

func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return text.Set(words) })
}
