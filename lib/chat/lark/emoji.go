package lark

import "strings"

// emojis are what the platform calls the emoji that it can react with; those that
// are none of Unicode's have only their name
// (https://open.larksuite.com/document/server-docs/im-v1/message-reaction/emojis-introduce).
var emojis = map[string]string{
	"👍": "THUMBSUP", "👎": "ThumbsDown", "👌": "OK", "🙏": "THANKS", "💪": "MUSCLE", "👏": "APPLAUSE", "👊": "FISTBUMP", "👋": "WAVE", "🤝": "SHAKE",
	"✅": "CheckMark", "❌": "CrossMark", "👀": "GLANCE", "✍️": "Typing", "⏰": "Alarm", "📌": "Pin", "📢": "Loudspeaker", "🔥": "Fire", "💯": "Hundred",
	"🎉": "PARTY", "🏆": "Trophy", "🎁": "GIFT", "🌹": "ROSE", "🍺": "BEER", "🎂": "CAKE", "☕": "Coffee", "🎵": "Music", "💣": "BOMB", "🔨": "HAMMER",
	"❤️": "HEART", "💔": "HEARTBROKEN", "😄": "LAUGH", "🙂": "SMILE", "😂": "LOL", "😊": "BLUSH", "😉": "WINK", "😏": "SMIRK", "😍": "LOVE", "😘": "KISS",
	"🤗": "HUG", "🤔": "THINKING", "😢": "CRY", "😭": "SOB", "😮": "WOW", "😱": "TERROR", "😴": "SLEEP", "😅": "SWEAT", "😠": "ANGRY", "🤦": "FACEPALM",
	"🫡": "SALUTE", "🤫": "SHHH", "🤐": "SILENT", "😛": "TONGUE", "🤮": "PUKE", "💀": "SKULL", "💩": "POOP", "🥱": "YAWN", "🎆": "FIREWORKS",
}

var chars = func() map[string]string {
	chars := map[string]string{}
	for char, name := range emojis {
		chars[name] = char
	}
	return chars
}()

// emojiOf is the emoji of a name; one that is not known stays as it is, between
// colons.
func emojiOf(name string) string {
	if char, ok := chars[name]; ok {
		return char
	}
	return ":" + name + ":"
}

// emojiName is the name of an emoji.
func emojiName(char string) (string, bool) {
	for _, c := range []string{char, char + "\uFE0F", strings.TrimSuffix(char, "\uFE0F")} {
		if name, ok := emojis[c]; ok {
			return name, true
		}
	}
	return "", false
}
