package voice

import (
	"slices"
	"strings"
	"testing"

	"tri/lib/base/text"
	returns "tri/lib/record/draft"
)

// say returns n words of prose, with a full stop after every ten.
func say(n int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i == 0:
			b.WriteString("Word")
		case i%10 == 0:
			b.WriteString(". Word")
		default:
			b.WriteString(" word")
		}
	}
	return b.String() + "."
}

func TestCuts(t *testing.T) {
	code := "```go\n" + strings.Repeat("func f() int { return 1 }\n\n", 30) + "```"
	list := strings.TrimSuffix(strings.Repeat("- an item of a list that goes on\n\n", 20), "\n\n")
	for _, c := range []struct {
		name, draft string
		want        []string // how each part begins
	}{
		{"short", say(80), nil},
		{"two paragraphs", say(60) + "\n\nThe point. " + say(30), []string{"Word", "The point"}},
		{"one paragraph of prose", say(150), []string{"Word", "Word"}},
		{"250 words", say(90) + "\n\n" + say(90) + "\n\nSo it is " + say(60),
			[]string{"Word", "Word", "So it is"}},
		{"code stays whole", say(40) + "\n\n" + code + "\n\nThat is all.",
			[]string{"Word", "```go", "That is all."}},
		{"announced code", say(80) + "\n\nThe lines:\n\n" + code, []string{"Word", "The lines:"}},
		{"a list stays whole", list, nil},
		{"list after prose", say(80) + "\n\n" + list, []string{"Word", "- an item"}},
		{"an unclosed fence", "```\n" + say(200), nil},
		{"a quotation", say(70) + " He said \"One. Two. Three\". " + say(10), []string{"Word", "Word"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var parts []string
			last := 0
			for _, at := range append(Cuts(c.draft), len(c.draft)) {
				parts = append(parts, c.draft[last:at])
				last = at
			}
			if strings.Join(parts, "") != c.draft {
				t.Error("the parts joined are not the draft")
			}
			if len(parts) == 1 && c.want == nil {
				return
			}
			ok := slices.EqualFunc(parts, c.want, strings.HasPrefix)
			if !ok {
				t.Errorf("%d parts: %q", len(parts), parts)
			}
			for _, p := range parts {
				if strings.Count(p, "```")%2 != 0 {
					t.Errorf("code was cut: %q", p)
				}
			}
		})
	}
}

func TestPointLast(t *testing.T) {
	point := "The limit is 5 tries."
	summary := "The limit is 5 tries."
	for _, c := range []struct {
		name, draft string
		moved       bool
	}{
		{"first of three", point + "\n\n" + say(50) + "\n\n" + say(50), true},
		{"short", point + "\n\nWord.\n\nWord.", false},
		{"the next refers to it", point + "\n\nThis is so. " + say(50) + "\n\n" + say(50), false},
		{"last", say(50) + "\n\n" + say(50) + "\n\n" + point, false},
		{"beside code", point + "\n\n" + say(90) + "\n\n```\nx\n```", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := PointLast(c.draft, summary)
			if moved := got != c.draft; moved != c.moved {
				t.Fatalf("moved: %v, want %v: %q", moved, c.moved, got)
			}
			if c.moved && !strings.HasSuffix(got, point) {
				t.Errorf("the point is not last: %q", got)
			}
		})
	}
}

// The parts are the draft whatever it holds; none is blank; a code block is in one part.
func FuzzCuts(f *testing.F) {
	f.Add(say(200) + "\n\n```\na\n\nb\n```\n\n- x\n\n- y")
	f.Add("。" + strings.Repeat("重试次数。", 80))
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		cuts := Cuts(s)
		if len(cuts) >= MaxParts || len(cuts) > 0 && text.Words(s) <= PartWords {
			t.Fatalf("%d cuts of %d words", len(cuts), text.Words(s))
		}
		for _, at := range append(cuts, len(s)) {
			if at < last || at > len(s) || len(cuts) > 0 && strings.TrimSpace(s[last:at]) == "" {
				t.Fatalf("cut at %d after %d of %q", at, last, s)
			}
			last = at
		}
	})
}

// TestFit: each message is within the limit, unless one block is not; code stays whole.
func TestFit(t *testing.T) {
	code := "```go\n" + strings.Repeat("func f() {}\n\n", 8) + "```"
	for _, c := range []struct {
		name, draft string
		limit       int
		want        []string // how each part begins
	}{
		{"any length", say(200), 0, nil},
		{"it fits", say(10), 100, nil},
		{"code at the cut", say(10) + "\n\n" + code + "\n\nThat is all.", 120,
			[]string{"Word", "```go", "That is"}},
		{"what announces it", say(10) + "\n\nThe lines:\n\n" + code, 150, []string{"Word", "The lines:"}},
		{"code with what follows", say(18) + "\n\n" + code + "\n\nAll.", 150, []string{"Word", "```go"}},
		{"a block that is longer", say(5) + "\n\n" + say(60) + "\n\nEnd.", 100,
			[]string{"Word", "Word", "End."}},
		{"one block", "```\n" + strings.Repeat("x\n", 200) + "```", 100, nil},
		{"blank lines around it", "\n\n\n" + say(10) + "\n\n" + say(10) + "\n\n\n\n", 60,
			[]string{"\n\n\nWord", "Word"}},
		{"characters, not bytes", strings.Repeat("é", 60) + "\n\n" + strings.Repeat("ü", 50), 112, nil},
	} {
		parts, err := returns.Cut(c.draft, Fit(c.draft, nil, c.limit))
		if err != nil || len(parts) == 1 && c.want != nil || len(parts) > 1 &&
			!slices.EqualFunc(parts, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, %v", c.name, parts, err)
		}
	}
	draft := say(10) + "\n\n" + say(10) + "\n\n" + say(10)
	cuts := Fit(draft, []int{len(say(10)) + 2}, 80)
	if len(cuts) != 2 || !slices.Equal(cuts, Fit(draft, cuts, 80)) {
		t.Errorf("a part of two is cut again: %v", cuts)
	}
	if cuts := Fit(draft, []int{5}, 0); !slices.Equal(cuts, []int{5}) {
		t.Errorf("without a limit: %v", cuts)
	}
}
