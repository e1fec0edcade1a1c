package voice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/agent/search"
	"tri/lib/record/draft"
)

// lies change one fact of a text. Each is a pattern and what takes the place of one match.
var lies = []struct {
	name    string
	where   *regexp.Regexp
	instead func(match string) string
	carrier string // a sentence that has a place for it, for drafts that have none
}{
	{"number", regexp.MustCompile(`\b\d+\b`), func(s string) string {
		return s + "1"
	}, "It is tried 3 times."},
	{"unit", regexp.MustCompile(`\b(seconds|minutes|hours|bytes|lines|characters)\b`),
		swap("seconds", "minutes", "minutes", "hours", "hours", "days", "bytes", "megabytes", "lines",
			"files", "characters", "words"), "It waits 20 seconds."},
	{"name", regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w+\b|\b(?:Slack|Discord|Telegram|Matrix)\b`),
		func(s string) string {
			if s == "Slack" {
				return "Discord"
			}
			return "Slack"
		}, "This is how Slack does it."},
	{"negation added", regexp.MustCompile(` (?:is|are|has|may|can|does) `), func(s string) string {
		return s + "not "
	}, "It is kept."},
	{"negation removed", regexp.MustCompile(`(?: not|n't|never|\bno) `), func(string) string {
		return " "
	}, "It does not retry."},
	{"hedge", regexp.MustCompile(`\b(?:may|might|usually|probably|about|at most|at least|often)\b ?`),
		func(string) string { return "" }, "It probably retries."},
	{"link", regexp.MustCompile(`https://[\w./-]+\w`), func(s string) string {
		return s + "x"
	}, "See https://docs.slack.dev/reference for it."},
	{"code", regexp.MustCompile("(?s)```.*?```|`[^`\n]+`"), func(s string) string {
		return s[:len(s)-3] + "_" + s[len(s)-3:]
	}, "Call `Flush(now)` first."},
	{"path", regexp.MustCompile(`\b[\w-]+/[\w/-]+\.\w+\b`), func(s string) string {
		return strings.Replace(s, "/", "/x", 1)
	}, "It is in lib/flow/reply/post.go:12."},
	{"order", regexp.MustCompile(`\b(\w{4,}) (before|after|and|or|to|than|not|over) (\w{4,})\b`),
		func(s string) string {
			f := strings.Fields(s)
			if filler.MatchString(f[0]) || filler.MatchString(f[2]) {
				return s // no operand
			}
			return f[2] + " " + f[1] + " " + f[0]
		}, "The claim comes before posting."},
	{"quantity", regexp.MustCompile(`\b(?:all|each|every|any|only|some|no|most)\b`),
		swap("all", "some", "each", "some", "every", "any", "any", "all", "only", "also", "some", "all", "no",
			"every", "most", "few"), "It reads every line."},
	{"date", regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`), func(s string) string {
		return s[:9] + string('0'+(s[9]-'0'+1)%10)
	}, "It was measured on 2026-07-03."},
	{"case", regexp.MustCompile(`\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b`), func(s string) string {
		if first := s[:1]; first == strings.ToLower(first) {
			return strings.ToUpper(first) + s[1:]
		}
		return strings.ToLower(s[:1]) + s[1:]
	}, "Call firstWait there."},
}

var filler = regexp.MustCompile(`^(?i:with|that|this|then|they|them|their|there|these|which|does)$`)

func swap(pairs ...string) func(string) string {
	return func(s string) string {
		for i := 0; ; i += 2 {
			if pairs[i] == s {
				return pairs[i+1]
			}
		}
	}
}

// TestLies: of 200 drafts that the built-in search makes of questions about this project, each with each
// kind of lie, none passes. The drafts are followed by a sentence of the project's own comments, and, if a
// draft has no place for a lie, by one that has. The liar also rephrases honestly, to look like a voice.
func TestLies(t *testing.T) {
	drafts, said := drafts(t), 0
	planted := map[string]int{}
	v, m := speaker(t, nil)
	v.Log, v.After = nil, 0
	for i, ret := range drafts {
		for _, lie := range lies {
			original := ret.DraftReply
			places := lie.where.FindAllStringIndex(original, -1)
			places = slices.DeleteFunc(places, func(at []int) bool { // the operands are equal, or none
				return lie.instead(original[at[0]:at[1]]) == original[at[0]:at[1]]
			})
			if len(places) == 0 {
				original += "\n\n" + lie.carrier
				at, end := lie.where.FindStringIndex(lie.carrier), len(original)-len(lie.carrier)
				places = [][]int{{end + at[0], end + at[1]}}
			}
			at := places[rand.New(rand.NewPCG(uint64(i), 1)).IntN(len(places))]
			false_ := original[:at[0]] + lie.instead(original[at[0]:at[1]]) + original[at[1]:]
			m.say = func(string) (string, error) {
				return "So, " + strings.Replace(false_, " is not ", " isn't ", 1), nil
			}
			for _, say := range []func(string) (string, error){m.say, func(string) (string, error) {
				return false_, nil
			}} {
				m.say = say
				got := *ret
				got.DraftReply = original
				if err := v.Apply(context.Background(), &got, Run{Dir: t.TempDir()}); err != nil {
					t.Fatal(err)
				}
				if got.Voice.Rephrased || got.DraftReply != original && !got.Voice.Moved {
					said++
					t.Errorf("%s passed: %q became %q", lie.name, original[max(0, at[0]-40):at[1]],
						false_[max(0, at[0]-40):min(len(false_), at[1]+20)])
				}
			}
			planted[lie.name]++
		}
	}
	total := 0
	for _, lie := range lies {
		total += planted[lie.name]
		if planted[lie.name] < len(drafts)*8/10 {
			t.Errorf("%s: planted into %d of %d drafts", lie.name, planted[lie.name], len(drafts))
		}
	}
	t.Logf("%d drafts, %d lies of %d kinds, %d passed", len(drafts), total, len(lies), said)
}

// drafts returns what the built-in search answers about the declarations of this project.
func drafts(t *testing.T) (all []*draft.Return) {
	t.Helper()
	want := 200
	if testing.Short() {
		want = 10
	}
	find := search.New()
	for _, q := range questions(t) {
		if len(all) == want {
			return all
		}
		res, err := find.Run(context.Background(), agent.Task{Question: q.text, Codebase: "../../.."})
		if errors.Is(err, agent.ErrNothing) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ret := new(draft.Return)
		if err := json.Unmarshal(res.Value, ret); err != nil {
			t.Fatal(err)
		}
		if ret.DraftLanguage != "en" {
			continue
		}
		ret.DraftReply += "\n\n" + q.comment
		all = append(all, ret)
	}
	t.Fatalf("only %d drafts", len(all))
	return nil
}

type question struct{ text, comment string }

// questions asks about the commented functions of the lib/flow folder, in the order of their files.
func questions(t *testing.T) (all []question) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && len(fn.Doc.Text()) > 60 {
				all = append(all, question{fmt.Sprintf("what does %s do?", fn.Name.Name),
					strings.TrimSpace(fn.Doc.Text())})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
