package intent

import (
	"strings"

	"tri/lib/base/lazyregexp"
)

// subjects have the words of an entry of a list in the one group of theirs that is not empty.
var subjects = []*lazyregexp.Pattern{
	lazyregexp.New(`(?is)^\s*(?:to-?do|task|new (?:to-?do|task)|tugas(?: baru)?|catatan|neue aufgabe|aufgabe|(?:nueva |nova )?tar[ea]+fa?|(?:nouvelle )?tâche|タスク(?:追加)?|やること(?:メモ)?|メモ|待办|新任务|新待办|任务)\s*[:：,，、-]\s*(.+)$`),
	lazyregexp.New(`(?is)\b(?:note|memo|reminder) to (?:my)?self[:,]?\s*(.+)$`),
	lazyregexp.New(`(?is)\b(?:add|put|write|stick|append|save|note|get|include)\s+(?:to|on)\s+(?:my|our|the)\s+(?:to-?do list|to-?dos?|tasks|list)\s*[:,]?\s*(.+)$`),
	lazyregexp.New(`(?is)\b(?:add|put|write|stick|append|save|note|get|include|insert|throw)\s+(.+?)\s+(?:to|on|onto|in|into|down on)\s+(?:my|our|the)(?: team's| \pL+)?\s+(?:list|to[- ]?do list|to[- ]?dos?|tasks|task list|backlog)\b`),
	lazyregexp.New(`(?is)(?:tambah\pL*|masuk\pL*|catat|catet|taruh|simpan|tulis)\s+(?:ke|di)\s+(?:daftar tugas|to-?do|list)\s*:\s*(.+)$`),
	lazyregexp.New(`(?is)(?:tambah\pL*|masuk\pL*|catat|catet|taruh|simpan|tulis)\s+(.+?)\s+(?:ke|di|dalam)\s+(?:dalam )?(?:list|daftar|to-?do|todolist|tugas|catatan)`),
	lazyregexp.New(`(?is)catat di todo\s*:\s*(.+)$`),
	lazyregexp.New(`(?is)^(.+?)(?:を|は)?\s*(?:todo|リスト|タスク|やること)(?:リスト|一覧)?(?:に|へ|として)`),
	lazyregexp.New(`(?is)(?:やることリスト|todo|リスト|タスク)(?:に|へ)\s*(.+?)を`),
	lazyregexp.New(`(?is)把\s*(.+?)\s*(?:加到|加入|加进|添加到|放到|放进|记到|记入|写进|列入)`),
	lazyregexp.New(`(?is)(?:待办|清单)\s*[:：,，]\s*(.+)$`),
}

// Subject returns the words of a message that say what is put on a list: without the order to do so where
// the form of it is known, else all of them.
func Subject(said string) string {
	s := strings.TrimSpace(said)
	for _, p := range subjects {
		if m := p.FindStringSubmatch(s); m != nil {
			if got := strings.Trim(strings.TrimSpace(m[1]), "\"'“”「」『』`"); got != "" {
				return got
			}
		}
	}
	return s
}
