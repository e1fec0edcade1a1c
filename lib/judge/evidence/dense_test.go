package evidence

import (
	"slices"
	"testing"
)

func TestDenseTerms(t *testing.T) {
	for text, want := range map[string][]string{
		"プロンプトは引数では渡されません": {"プロンプト", "は", "引数", "で", "は", "渡", "ません"},
		"空的响应不会重试":         {"空", "的", "响应", "不会", "重试"},
		"gatewayの再試行":      {"gateway", "の", "再試", "試行"},
		"日志默认启用":           {"日志", "默认", "启用"},
	} {
		var got []string
		for _, w := range terms(text) {
			got = append(got, w.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzAnalyse: whatever is typed, words stand in order and none reaches over the
// next.
func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{"引数では渡されません。x", "不会not重试", "ーァ漢a字", "İ不ſ設定されず", "\xff無効\xe3"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, code bool) {
		c := analyse(text, code)
		for i, w := range c.terms {
			if w.at > w.end || w.end > len(c.text) || i > 0 && c.terms[i-1].end > w.at {
				t.Fatalf("%q: %+v", text, c.terms)
			}
		}
	})
}
