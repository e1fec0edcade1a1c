package intent

import (
	"slices"
	"strings"
	"testing"

	"tri/lib/record/draft"
)

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		text string
		open int
		want []string
	}{
		{"It is set in `a.go`.", 0, nil},
		{"I looked at the code, but could not find it.", 0, []string{SaysFailed}},
		{"処理に失敗しました。", 0, []string{SaysFailed}},
		{"认证：无法完成", 0, []string{SaysFailed}},
		{"I could not find it at first. " + strings.Repeat("It is in the table of settings. ", 20), 0, nil},
		{"`parse` returns \"failed to parse\" for these.", 0, nil},
		{"Which one? The old? The new?", 0, []string{AsksBack}},
		{"これ？ あれ？ それ？", 0, []string{AsksBack}},
		{"Use it so:\n```\na ? b : c ? d : e ? f : g\n```\nDone.", 0, nil},
		{"See https://x.test/?a=?&b=?", 0, nil},
		{"Why not?", 1, []string{LeavesOpen}},
		{"", 0, nil},
	} {
		got := Ends(&draft.Return{DraftReply: tt.text, OpenQuestions: make([]string, tt.open)})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
	}
}
