package lark

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/lazyregexp"
	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// marks are the placeholders of mentions in a text.
var marks = lazyregexp.New(`@_user_[0-9]+|@_all`)

// maxDepth and maxPieces limit the nesting and the number of elements of a card that are read.
const (
	maxDepth  = 24
	maxPieces = 2000
)

// readable returns a message's content as a client shows it
// (https://open.larksuite.com/document/server-docs/im-v1/message-content-description/message_content),
// who is mentioned in it, and the attached files. self and app are the bot's two ids.
func (m *message) readable(self, app string) (text string, mentions []string, files []event.Attachment) {
	mentions = []string{}
	named := map[string]string{}
	for _, who := range m.Mentioned {
		id := who.ID
		if id == app {
			id = self
		}
		if who.Key != "" {
			named[who.Key] = "@" + cmp.Or(who.Name, id)
		}
		if userID.MatchString(id) && !slices.Contains(mentions, id) {
			mentions = append(mentions, id)
		}
	}
	if !json.Valid([]byte(m.Raw)) {
		return valid(m.Raw), mentions, nil
	}
	r := gjson.Parse(m.Raw)
	switch m.Kind {
	case "text":
		text = str(r, "text")
	case "post":
		text, files = flatten(r, named)
	case "image":
		files = attach(nil, str(r, "image_key"), "image", "image/*")
	case "file", "folder", "audio", "media":
		files = attach(nil, str(r, "file_key"), cmp.Or(str(r, "file_name"), m.Kind), "")
	case "sticker":
		text = "[sticker]"
	case "merge_forward":
		text = "[messages that were forwarded together]"
	case "system":
		text = filled(r)
	default: // a card or a shared item: its texts, in order
		text = strings.Join(words(r, nil, 0), "\n")
	}
	text = marks.ReplaceAllStringFunc(text, func(key string) string {
		if key == "@_all" {
			return "@all"
		}
		return cmp.Or(named[key], key)
	})
	return valid(text), mentions, files
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func attach(files []event.Attachment, id, name, kind string) []event.Attachment {
	if id == "" {
		return files
	}
	return append(files, event.Attachment{ID: id, Name: name, MIME: kind})
}

// flatten converts rich text to plain text: one line per paragraph.
func flatten(r gjson.Result, named map[string]string) (text string, files []event.Attachment) {
	if !r.Get("content").IsArray() { // by language
		r.ForEach(func(_, v gjson.Result) bool { r = v; return false })
	}
	var lines []string
	if title := str(r, "title"); title != "" {
		lines = append(lines, title)
	}
	for _, paragraph := range list(r, "content") {
		b := strings.Builder{}
		for _, e := range paragraph.Array() {
			switch tag := str(e, "tag"); tag {
			case "a":
				b.WriteString(linked(str(e, "text"), str(e, "href")))
			case "at":
				id := str(e, "user_id")
				b.WriteString(cmp.Or(named[id],
					"@"+cmp.Or(str(e, "user_name"), strings.TrimPrefix(id, "@_"))))
			case "img":
				files = attach(files, str(e, "image_key"), "image", "image/*")
			case "media":
				files = attach(files, str(e, "file_key"), cmp.Or(str(e, "file_name"), "media"), "")
			case "emotion":
				b.WriteString(emojiOf(str(e, "emoji_type")))
			case "hr":
				b.WriteString("---")
			case "code_block":
				b.WriteString("```" + strings.ToLower(str(e, "language")) + "\n" +
					strings.TrimSuffix(str(e, "text"), "\n") + "\n```")
			default: // text, md
				b.WriteString(str(e, "text"))
			}
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n"), files
}

func linked(text, href string) string {
	if text == "" || text == href {
		return href
	}
	return text + " (" + href + ")"
}

// filled returns a system notice with the names inserted.
func filled(r gjson.Result) string {
	text := str(r, "template")
	r.ForEach(func(key, v gjson.Result) bool {
		if v.IsArray() {
			var names []string
			for _, n := range v.Array() {
				names = append(names, cmp.Or(str(n, "text"), n.String()))
			}
			text = strings.ReplaceAll(text, "{"+key.String()+"}", strings.Join(names, ", "))
		}
		return true
	})
	return text
}

// wordy are the fields of cards and shared items that contain visible text.
var wordy = map[string]bool{"text": true, "content": true, "title": true, "subtitle": true, "name": true,
	"summary": true, "topic": true, "alt": true, "user_name": true}

// words returns the texts of a card in order, the title first.
func words(r gjson.Result, all []string, depth int) []string {
	if depth > maxDepth || len(all) > maxPieces {
		return all
	}
	title := str(r, "title")
	if strings.TrimSpace(title) != "" {
		all = append(all, title)
	}
	r.ForEach(func(key, v gjson.Result) bool {
		switch {
		case key.String() == "title" && v.Type == gjson.String:
		case v.IsObject() || v.IsArray():
			all = words(v, all, depth+1)
		case v.Type == gjson.String && wordy[key.String()] && strings.TrimSpace(v.Str) != "":
			all = append(all, v.Str)
		}
		return true
	})
	return all
}

// sent returns a text as it is posted: as rich text, in which mentions, links and styles are
// separate elements and everything else is shown verbatim. (In a message of type text, <at …> would
// notify, and <b> and [](…) would be markup.)
func sent(text string) (content string, err error) {
	var paragraphs [][]map[string]string
	for line := range strings.SplitSeq(shown(text), "\n") {
		paragraphs = append(paragraphs, []map[string]string{{"tag": "text", "text": line}})
	}
	b, err := json.Marshal(map[string]any{"zh_cn": map[string]any{"title": "", "content": paragraphs}})
	return string(b), err
}

// at matches the mention markup of other message types.
var at = lazyregexp.New(`(?i)<(/?at\b)`)

// shown returns text as it can be sent. The platform's handling of control characters is not
// documented, so they are replaced by visible symbols. Mention markup, which would notify in a
// plain text, is broken by a zero-width joiner.
func shown(text string) string {
	return at.ReplaceAllString(sink.Pictures(text), "<\u2060$1")
}

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
