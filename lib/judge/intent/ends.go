package intent

import (
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/record/draft"
)

// Signs of a draft that is no answer.
const (
	SaysFailed = "says that it failed"
	AsksBack   = "asks back"
	LeavesOpen = "leaves questions open"
)

const (
	ending    = 500 // characters at the end of a draft in which a failure is said
	questions = 3   // marks from which a draft asks back
)

var failure = lazyregexp.New(`(?i)失敗しました|できません(?:でした)?[。！\s]*$|エラーが発生|認証.{0,20}エラー|無法|无法完成|失败了|未能|` +
	`no [\pL ]{0,20}tokens? found|\b(?:i|we) (?:could not|couldn't|cannot|can't|was unable|were unable|am unable|was not able|failed)\b|` +
	`\b(?:could not|couldn't|unable to) (?:find|determine|access|complete|finish|reproduce|locate)\b|` +
	`\b(?:saya|kami) (?:tidak bisa|tidak dapat|gagal)\b|tidak (?:berhasil|ditemukan)\b|` +
	`\b(?:ich|wir) konnten? .{0,60}nicht\b|\bno (?:pude|pudimos|se pudo|he podido)\b|je n'ai pas pu|impossible de (?:trouver|terminer)|não (?:consegui|foi possível)`)

// Ends returns signs in a return that its draft is no answer: that it says so at its end, asks back outside
// of code, or has open questions. They are added to what a run's status and checks say.
func Ends(r *draft.Return) (signs []string) {
	runes := []rune(strings.TrimSpace(r.DraftReply))
	if failure.MatchString(string(runes[max(0, len(runes)-ending):])) {
		signs = append(signs, SaysFailed)
	}
	prose := code.ReplaceAllString(r.DraftReply, " ")
	if strings.Count(prose, "?")+strings.Count(prose, "？") >= questions {
		signs = append(signs, AsksBack)
	}
	if len(r.OpenQuestions) > 0 {
		signs = append(signs, LeavesOpen)
	}
	return signs
}

var code = lazyregexp.New("(?s)```.*?(?:```|$)|`[^`\n]*`|https?://\\S+")
