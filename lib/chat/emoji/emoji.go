// Package emoji translates between the few emoji that tri sets and reads as
// reactions and the short names that Slack and Mattermost have for them.
package emoji

import "strings"

// names has, for each emoji, its short names: the first is what we set.
var names = map[string][]string{
	"👀":  {"eyes"},
	"✅":  {"white_check_mark"},
	"☑️": {"ballot_box_with_check"},
	"❌":  {"x"},
	"⏳":  {"hourglass_flowing_sand"},
	"⌛":  {"hourglass"},
	"🔄":  {"arrows_counterclockwise"},
	"🔁":  {"repeat"},
	"👍":  {"+1", "thumbsup"},
	"👎":  {"-1", "thumbsdown"},
	"❓":  {"question"},
	"❗":  {"exclamation"},
	"⚠️": {"warning"},
	"🗑️": {"wastebasket"},
	"✏️": {"pencil2"},
	"🚀":  {"rocket"},
	"🚨":  {"rotating_light"},
	"💬":  {"speech_balloon"},
	"🎉":  {"tada"},
	"❤️": {"heart"},
	"😂":  {"joy"},
	"🙏":  {"pray"},
	"🤔":  {"thinking_face", "thinking"},
	"✋":  {"hand", "raised_hand"},
	"🛑":  {"octagonal_sign"},
	"↩️": {"leftwards_arrow_with_hook"},
	"⏩":  {"fast_forward"},
	"🔔":  {"bell"},
	"📝":  {"memo", "pencil"},
}

var chars = func() map[string]string {
	m := map[string]string{}
	for char, all := range names {
		for _, name := range all {
			m[name] = char
		}
	}
	return m
}()

// Name is the short name of an emoji; ok is false for one that has none here.
func Name(char string) (name string, ok bool) {
	all := names[char]
	if all == nil { // with or without the mark that asks for colour
		all = names[strings.TrimSuffix(char, "\uFE0F")]
	}
	if all == nil {
		all = names[char+"\uFE0F"]
	}
	if all == nil {
		return "", false
	}
	return all[0], true
}

// Char is the emoji of a short name; a name that is not known stays as it is,
// between colons: ":parrot:". A skin tone is dropped.
func Char(name string) string {
	name, _, _ = strings.Cut(name, "::")
	if char, ok := chars[name]; ok {
		return char
	}
	return ":" + name + ":"
}
