package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stats"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
	"tri/lib/report/history"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// labelled returns the estimate for the golden home.
func labelled() (rate, low, high float64, n int, err error) { return 0.5, 0.1, 0.9, 200, nil }

// all returns the reports of a home by name.
func all(t *testing.T, h *durable.Home) map[string]Printer {
	t.Helper()
	cfg, from := team(), noon.Add(-7*day)
	out := map[string]Printer{}
	add := func(name string, p Printer, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = p
	}
	out["brief"] = Morning(h, cfg, noon, from)
	week, err := LastWeek(h, cfg, noon)
	add("week", week, err)
	cost, err := Spending(h, cfg, noon, from)
	add("cost", cost, err)
	accept, err := Accept(h, cfg, noon, labelled)
	add("acceptance", accept, err)
	trusted, err := Trust(h, cfg, noon)
	add("trust", trusted, err)
	conversation, err := Thread(h, cfg, "dev:20")
	add("thread", conversation, err)
	page, err := HTML(h, cfg, noon, from, labelled)
	add("html", page, err)
	return out
}

// TestGolden compares the reports of the golden home with reviewed texts.
func TestGolden(t *testing.T) {
	for name, p := range all(t, build(t)) {
		var text, records bytes.Buffer
		if err := errors.Join(p.Print(&text), WriteJSON(&records, p)); err != nil {
			t.Fatal(name, err)
		}
		for _, line := range bytes.Split(bytes.TrimSpace(records.Bytes()), []byte("\n")) {
			if err := ndjson.Check(line); err != nil {
				t.Errorf("%s: %v: %s", name, err, line)
			}
		}
		if name == "html" {
			continue
		}
		for i, line := range strings.Split(text.String(), "\n") {
			if name != "thread" && name != "brief" && columns(line) > width {
				t.Errorf("%s:%d: %d columns: %s", name, i+1, columns(line), line)
			}
		}
		file := "testdata/" + name + ".golden"
		if *update {
			if err := errors.Join(os.MkdirAll("testdata", 0o755),
				os.WriteFile(file, text.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != text.String() {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text.String(), want)
		}
	}
}

// TestEmptyHome: every report says that there is no data, and invents no figures.
func TestEmptyHome(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	a, err := Accept(h, team(), noon, func() (rate, low, high float64, n int, err error) { return })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range a.Criteria {
		if c.Result != stats.Unsure || c.Value != nil || c.Note == "" {
			t.Errorf("%+v", c)
		}
	}
	cost, err := Spending(h, team(), noon, noon.Add(-day))
	if err != nil || cost.Total.cost() != "-" {
		t.Errorf("%+v, %v", cost, err)
	}
	page, err := HTML(h, team(), noon, noon.Add(-90*day), labelled)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.Print(&out); err != nil || strings.Contains(out.String(), "NaN") {
		t.Error(err, out.String())
	}
}

// payloads are texts that are known to break programs and agents.
func payloads(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"blns.json", "bipia_text_attack_train.json"} {
		b, err := os.ReadFile(filepath.Join("../../../shared/data/hostile/text", name))
		if err != nil {
			t.Skip(err)
		}
		var list []string
		if json.Unmarshal(b, &list) != nil {
			var groups map[string][]string
			if err := json.Unmarshal(b, &groups); err != nil {
				t.Fatal(name, err)
			}
			for _, g := range groups {
				list = append(list, g...)
			}
		}
		out = append(out, list...)
	}
	var packed []string // ten per text, since each costs a thread
	for i := 0; i < len(out); i += 10 {
		packed = append(packed, strings.Join(out[i:min(len(out), i+10)], "\n"))
	}
	out = packed
	var controls strings.Builder
	for r := rune(0); r < 0x20; r++ {
		controls.WriteRune(r)
	}
	return append(out, controls.String()+"\x7f\u0080\u009b31m\u202e\u2028\u200b\ufeff",
		"</style></svg></title><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "]]>--><!--",
		"\x1b]8;;http://evil\x07x\x1b\\")
}

// hostile returns a home in which all outside text is from texts.
func hostile(t *testing.T, texts []string) *durable.Home {
	t.Helper()
	h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	b := &builder{t: t, home: h, minute: -1000}
	for i, text := range texts {
		id := fmt.Sprint(1000 + i)
		b.minute++
		e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev", ChatName: text,
			MessageID: id, CreateTime: at(b.minute), MsgType: "text", Content: text,
			Sender: event.Sender{ID: "u" + id, Type: "user", Name: text}, Mentions: []string{}}}
		b.event(e, event.Actionable, text)
		key := b.take(e)
		ret := draft.Return{Confidence: "high", ConfidenceReason: text, SummaryForOrchestrator: text,
			DraftReply:   text + ".",
			EvidenceRefs: []draft.Ref{{Kind: draft.KindFile, Ref: text, SupportsClaim: text, Quote: text}}}
		value, err := json.Marshal(ret)
		b.must(err)
		b.input(thread.Input{Key: key, Run: &run.Result{RunID: run.ID(run.Investigate, key, 1, 1),
			Kind: run.Investigate, Key: key, Cycle: 1, Round: 1, Agent: text, Model: text,
			StartedAt: at(b.minute), EndedAt: at(b.minute), Status: run.Done, Value: value}})
		value, err = json.Marshal(verdict.Verdict{Verdict: verdict.Pass, Reasons: []string{text},
			Checks: []verdict.Check{{Name: text, Result: text, By: "agent", Note: text}}})
		b.must(err)
		b.input(thread.Input{Key: key, Run: &run.Result{RunID: run.ID(run.Validate, key, 1, 1),
			Kind: run.Validate, Key: key, Cycle: 1, Round: 1, Agent: text, StartedAt: at(b.minute),
			EndedAt: at(b.minute), Status: run.Done, Value: value}})
		r := decision.Record{At: at(b.minute), Kind: decision.Offer, By: "tri-dispatch", Key: key, Cycle: 1,
			Text: text + ".", DraftSHA256: decision.Sum(text + "."), Target: &decision.Target{ReplyToID: id},
			Meta: &decision.Meta{ValidatorVerdict: "pass", InvestigatorRounds: 1}}
		offer(b, r)
		r.Kind, r.By, r.Text, r.DraftSHA256, r.Note = decision.Dismiss, "ana", "", "", text
		offer(b, r)
		b.put(repliesLog, outbox.Reply{Platform: "local", ChatID: text, ReplyToMessageID: id,
			PostedAt: at(b.minute), ReplyText: text, Key: key, Cycle: 1, Outcome: outbox.Refused, Why: text,
			ApprovedBy: text})
	}
	b.fold()
	return h
}

func offer(b *builder, r decision.Record) {
	b.t.Helper()
	r.Text = strings.ToValidUTF8(r.Text, "?")
	if r.Text != "" {
		r.DraftSHA256 = decision.Sum(r.Text)
	}
	_, err := decision.Append(b.home, r)
	b.must(err)
}

// element matches a tag; harmless are the tags that the page consists of, with harmless attributes.
var (
	element  = regexp.MustCompile(`<[^>]*>?`)
	harmless = regexp.MustCompile(`^</?(!doctype|html|head|meta|title|style|body|header|h1|h2|p|main|section|div|span|strong|figure|figcaption|i|b|br|svg|desc|line|text|rect|path|circle|table|thead|tbody|tr|th|td|footer)( html| (lang|charset|http-equiv|content|name|class|viewBox|role|x|y|x1|x2|y1|y2|cx|cy|r|d|width|height|text-anchor)="[^"<>]*")*/?>$`)
)

// TestNothingActsThere: no text of people and agents contains terminal control sequences in the
// output, or adds or changes an element of the page.
func TestNothingActsThere(t *testing.T) {
	texts := payloads(t)
	h := hostile(t, texts)
	for name, p := range all(t, withThread20(t, h)) { // all needs a thread with that id
		var out bytes.Buffer
		if err := p.Print(&out); err != nil {
			t.Fatal(name, err)
		}
		for i, r := range out.String() {
			if r != '\n' && (unicode.IsControl(r) || r == unicode.ReplacementChar && name != "html" ||
				r == 0x202e || r == 0x2028 || r == 0x200b) {
				t.Errorf("%s: %U stands raw in %q", name, r, out.String()[max(0, i-20):min(out.Len(), i+20)])
				break
			}
		}
		if name != "html" {
			continue
		}
		for _, m := range element.FindAllString(out.String(), -1) {
			if !harmless.MatchString(m) {
				t.Errorf("in the page: %s", m)
			}
		}
	}
	for i := range texts {
		c, err := Thread(h, team(), fmt.Sprint("dev:", 1000+i))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := c.Print(&out); err != nil || bytes.ContainsFunc(out.Bytes(), func(r rune) bool {
			return r != '\n' && unicode.IsControl(r)
		}) {
			t.Errorf("%v %q", err, out.String())
		}
	}
}

// withThread20 adds the thread that all needs.
func withThread20(t *testing.T, h *durable.Home) *durable.Home {
	t.Helper()
	b := &builder{t: t, home: h, minute: 1}
	b.ask("20", "why?")
	return h
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"},
		{"a\x1b[1mb", 20, "a<U+001B>[1mb"}, {"👨‍👩‍👧 x", 3, "👨‍👩‍👧…"}} {
		if got := fit(tt.text, tt.most); columns(got) > tt.most ||
			!strings.HasSuffix(tt.want, "…") && got != tt.want {
			t.Errorf("%q in %d: %q", tt.text, tt.most, got)
		}
	}
	var s sheet
	s.wrap("mark: ", strings.Repeat("word ", 60)+strings.Repeat("x", 300)+" "+strings.Repeat("日", 90))
	for _, line := range strings.Split(s.String(), "\n") {
		if columns(line) > width {
			t.Errorf("%d columns: %s", columns(line), line)
		}
	}
	if !strings.HasSuffix(strings.ReplaceAll(strings.ReplaceAll(s.String(), "\n", ""), " ", ""),
		strings.Repeat("x", 300)+strings.Repeat("日", 90)) {
		t.Errorf("something is lost:\n%s", s.String())
	}
}

// TestUnknownIsNotNothing: an unreported cost is never summed as zero.
func TestUnknownIsNotNothing(t *testing.T) {
	cost := 0.25
	for _, tt := range []struct {
		runs         []*history.Run
		cost, tokens string
	}{
		{nil, "-", "-"},
		{[]*history.Run{{Tokens: -1}}, "unknown", "unknown"},
		{[]*history.Run{{CostUSD: &cost, Tokens: 1200}}, "$0.25", "1,200"},
		{[]*history.Run{{CostUSD: &cost, Tokens: 1200}, {Tokens: -1}}, "≥ $0.25", "≥ 1,200"},
	} {
		var sum Took
		for _, r := range tt.runs {
			sum.add(r)
		}
		if sum.cost() != tt.cost || sum.tokens() != tt.tokens {
			t.Errorf("%s, %s; want %s, %s", sum.cost(), sum.tokens(), tt.cost, tt.tokens)
		}
	}
}

// TestFarFuture: a message can have any time, and a chart ends today.
func TestFarFuture(t *testing.T) {
	talk := &history.Talk{Days: []history.Day{{Date: noon.Format(time.DateOnly)}, {Date: "9999-12-31"}}}
	if list, names := days(talk, noon.Add(-day), noon); len(list) != 2 || len(names) != 2 {
		t.Errorf("%d days", len(list))
	}
}

// TestParts: a draft is prose and code by its fences, and nothing of either is lost.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		draft string
		want  []part
	}{
		{"It is 5.", []part{{false, "It is 5."}}},
		{"Here:\n\na.go:1\n```go\n\tx := 1\n```\n\nAlso: b.go:2", []part{{false, "Here:\n\na.go:1"},
			{true, "\tx := 1"}, {false, "Also: b.go:2"}}},
		{"```\na\n```\n```\nb\n```", []part{{true, "a"}, {true, "b"}}},
		{"Say:\n````\n```MaxRetries = 3``` in a.go\n````\nnot here", []part{{false, "Say:"},
			{true, "```MaxRetries = 3``` in a.go"}, {false, "not here"}}},
		{"```x = 3``` is it", []part{{false, "```x = 3``` is it"}}},
		{"open\n```\nrest ``` in a line\n", []part{{false, "open"}, {true, "rest ``` in a line"}}},
	} {
		if got := parts(c.draft); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.draft, got, c.want)
		}
	}
}
