package draft

import (
	"strings"
	"testing"
	"time"

	"tri/lib/evidence"
)

// TestHostileIsQuick: no text inside the caps costs noticeable time; a validator
// that an attacker can stall is no validator.
func TestHostileIsQuick(t *testing.T) {
	for _, unit := range []string{
		"a", "a.", "a-", "@", "@**", "<@", "<!", "://", "a://", "x:y@", "password=", "token: a1", "`", "```", "```\n", "1", "1,", "1.", "1:", "a/", "./", "../",
		"lines 1 ", "line 1, 2", "you should ", "you should delete data ", "请先删除数据", "please a ", "\n- ", "a.b:1 ", "\u200d", "👩\u200d", "\U000E0041", "重试", "-", "--a ", "$a ", "_", "aA", "eyJaaaaaaaa.", "1xx/",
	} {
		text := strings.Repeat(unit, MaxDraftRunes/len([]rune(unit)))
		refs := []evidence.Ref{{Kind: evidence.File, Ref: "a.go:1", Quote: text[:min(len(text), MaxQuoteRunes)]}}
		src := Sources{Texts: []string{text}, Refs: refs, Secrets: []string{"correct horse battery"}}
		start := time.Now()
		Safety(text, src)
		Smell(text, src)
		Misjudged(text, Low, src)
		Risk(text, src)
		Untraced(text, src, []evidence.Finding{{Path: "a.go", Start: 1, End: 1, Text: strings.Repeat("some line of the file\n", 2000)}})
		Visible(text)
		took := time.Since(start)
		t.Logf("%q %v", unit, took)
		if took > 5*time.Second {
			t.Errorf("%q repeated takes %v", unit, took)
		}
	}
}
