package lark

import "strings"

// emojis are the platform's names of the emoji for reactions that have a Unicode character
// (https://open.larksuite.com/document/server-docs/im-v1/message-reaction/emojis-introduce).
var emojis = map[string]string{
	"👍": "THUMBSUP", "👎": "ThumbsDown", "👌": "OK", "🙏": "THANKS", "💪": "MUSCLE", "👏": "APPLAUSE",
	"👊": "FISTBUMP", "👋": "WAVE", "🤝": "SHAKE",
	"✅": "CheckMark", "❌": "CrossMark", "👀": "GLANCE", "✍️": "Typing", "⏰": "Alarm", "📌": "Pin",
	"📢": "Loudspeaker", "🔥": "Fire", "💯": "Hundred",
	"🎉": "PARTY", "🏆": "Trophy", "🎁": "GIFT", "🌹": "ROSE", "🍺": "BEER", "🎂": "CAKE", "☕": "Coffee",
	"🎵": "Music", "💣": "BOMB", "🔨": "HAMMER",
	"❤️": "HEART", "💔": "HEARTBROKEN", "😄": "LAUGH", "🙂": "SMILE", "😂": "LOL", "😊": "BLUSH", "😉": "WINK",
	"😏": "SMIRK", "😍": "LOVE", "😘": "KISS",
	"🤗": "HUG", "🤔": "THINKING", "😢": "CRY", "😭": "SOB", "😮": "WOW", "😱": "TERROR", "😴": "SLEEP",
	"😅": "SWEAT", "😠": "ANGRY", "🤦": "FACEPALM",
	"🫡": "SALUTE", "🤫": "SHHH", "🤐": "SILENT", "😛": "TONGUE", "🤮": "PUKE", "💀": "SKULL", "💩": "POOP",
	"🥱": "YAWN", "🎆": "FIREWORKS",
}

var chars = func() map[string]string {
	chars := map[string]string{}
	for char, name := range emojis {
		chars[name] = char
	}
	return chars
}()

// emojiOf returns the emoji of a name; an unknown name is returned between colons.
func emojiOf(name string) string {
	if char, ok := chars[name]; ok {
		return char
	}
	return ":" + name + ":"
}

// nearest are names for emoji that the platform does not have.
var nearest = map[string]string{"🔔": "Alarm", "📝": "Typing", "⏩": "No"}

// emojiName returns the name of an emoji, or of the nearest one.
func emojiName(char string) (string, bool) {
	for _, c := range []string{char, char + "\uFE0F", strings.TrimSuffix(char, "\uFE0F")} {
		if name, ok := emojis[c]; ok {
			return name, true
		}
	}
	name, ok := nearest[char]
	return name, ok
}
