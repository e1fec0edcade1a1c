package claims

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// TestHostileIsQuick: no text inside the caps costs noticeable time; a validator
// that an attacker can stall is no validator.
func TestHostileIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	cost(t, "a", 100) // reads the lexicons
	for _, unit := range []string{
		"a", "a.", "a-", "i guess. ", "no doubt. ", "@", "@**", "<@", "<!", "://", "a://", "x:y@",
		"password=", "token: a1", "`", "```", "```\n", "1", "1,", "1.", "1:", "a/", "./", "../",
		"lines 1 ", "line 1, 2", "you should ", "you should delete data ", "请先删除数据", "please a ", "\n- ",
		"a.b:1 ", "\u200d", "👩\u200d", "\U000E0041", "重试", "-", "--a ", "$a ", "_", "aA",
		"eyJaaaaaaaa.", "1xx/",
	} {
		short, long := cost(t, unit, draft.MaxDraftRunes/4), cost(t, unit, draft.MaxDraftRunes)
		t.Logf("%q %v, a quarter of it %v", unit, long, short)
		if long > mostGrowth*short+noticed {
			t.Errorf("%q repeated takes %v, a quarter of it %v", unit, long, short)
		}
	}
}

const (
	// mostGrowth lies between the 4 of what grows with the text and the 16 of what
	// grows with its square: a slow machine changes neither.
	mostGrowth = 10
	noticed    = 300 * time.Millisecond
)

// cost is the processor time of a unit repeated: what else runs on the machine
// adds nothing to it.
func cost(t *testing.T, unit string, runes int) time.Duration {
	body := strings.Repeat(unit, runes/len([]rune(unit)))
	refs := []draft.Ref{{Kind: draft.KindFile, Ref: "a.go:1", Quote: body[:min(len(body), runes)]}}
	src := safety.Sources{Texts: []string{body}, Refs: refs, Secrets: []string{"correct horse battery"}}
	found := []evidence.Finding{{Path: "a.go", Start: 1, End: 1,
		Text: strings.Repeat("some line of the file\n", 2000)}}
	start := used(t)
	safety.Check(body, src)
	AIPhrases(body, src)
	OverConfident(body, draft.Low, src)
	OverConfident(body, draft.High, src)
	Risk(body, src)
	Trace(body, src, found)
	text.Visible(body)
	return used(t) - start
}

// used is the processor time that this process has had.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
