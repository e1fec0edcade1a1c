package autoreply

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/journal"
)

// now is a Friday noon.
var now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func TestHours(t *testing.T) {
	for _, tt := range []struct {
		text, zone, at string
		want           bool
	}{
		{"Mon-Fri 09:00-17:00", "", "2026-03-20T09:00:00Z", true},
		{"Mon-Fri 09:00-17:00", "", "2026-03-20T17:00:00Z", false},
		{"Mon-Fri 09:00-17:00", "", "2026-03-21T12:00:00Z", false},
		{"Mon-Fri 09:00-17:00", "Asia/Jakarta", "2026-03-20T03:00:00Z", true},
		{"Mon-Fri 09:00-17:00", "Asia/Jakarta", "2026-03-20T12:00:00Z", false},
		{"Fri-Mon 00:00-24:00", "", "2026-03-22T23:59:59Z", true},
		{"Fri-Mon 00:00-24:00", "", "2026-03-24T00:00:00Z", false},
		{"mon 09:00-12:00, Fri 13:00-15:00", "", "2026-03-20T13:30:00Z", true},
		{"Fri 13:00-15:00", "Europe/Berlin", "2026-07-03T11:00:00Z", true}, // summer time
		{"", "", "2026-03-20T12:00:00Z", false},
	} {
		h, err := parseHours(tt.text, tt.zone)
		at, bad := time.Parse(time.RFC3339, tt.at)
		if err != nil || bad != nil || h.Hold(at) != tt.want {
			t.Errorf("%q in %q at %s: %v, %v", tt.text, tt.zone, tt.at, h.Hold(at), err)
		}
	}
	for _, text := range []string{"Mon", "Mon-Fri", "09:00-17:00", "Mon 9-17", "Mon 17:00-09:00",
		"Mon 09:00-09:00", "Mo 09:00-17:00", "Mon 09:00-25:00", "Mon 09:00-17:00,"} {
		if _, err := parseHours(text, ""); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := parseHours("Mon 09:00-17:00", "Mars/Base"); err == nil {
		t.Error("a zone that is not there is taken")
	}
}

func TestChanged(t *testing.T) {
	const text = "The gateway retries 3 times, in client.go:41. It is not configurable."
	for _, same := range []string{
		text,
		"the gateway retries 3 times — in client.go:41. It is not configurable!",
		"Hi Ben, the gateway retries 3 times, in client.go:41. It is not configurable. Thanks!",
		"The gateway retries 3 times, in client.go:41. It is not configruable.",
		"The gateway retries 3 times, in `client.go:41`.  It is \"not\" configurable",
	} {
		if a, b := changed(text, same); len(a)+len(b) > 0 {
			t.Errorf("%q: %q became %q", same, a, b)
		}
	}
	for _, other := range []string{
		strings.Replace(text, "3", "4", 1),
		strings.Replace(text, "not ", "", 1),
		strings.Replace(text, "41", "42", 1),
		strings.Replace(text, "configurable", "reconfigurable", 1),
		strings.Replace(text, "times", "time", 1),
		strings.Replace(text, "retries", "retried", 1),
		text + " Ask Ben.",
		"The gateway retries 3 times, in client.go:41.",
		"It is not configurable. The gateway retries 3 times, in client.go:41.",
		"",
	} {
		if a, b := changed(text, other); len(a)+len(b) == 0 {
			t.Errorf("%q is the same", other)
		}
	}
	for _, pair := range [][2]string{{"a < 3", "a > 3"}, {"使える", "使えない"}, {"use -f", "use f"},
		{"legal typical", "legal atypical"}, {"maximum", "minimum"}, {"≤ 5 MB", "≥ 5 MB"}, {"5%", "5"},
		{"$5", "€5"}, {"a - b", "a + b"}, {"[0, 5)", "[0, 5]"}, {".5 s", "5 s"}, {"done ✅", "done ❌"},
		{"a != b", "a = b"}, {"if !x", "if x"}, {"!(a)", "(a)"}, {"it is 3.", "it is 3?"}, {"3,5", "3, 5"},
		{"Hi ana no it is not, see x", "Hi ana yes it is, see x"}, {"Hi No, see x", "Hi Yes, see x"}} {
		if a, b := changed(pair[0], pair[1]); len(a)+len(b) == 0 {
			t.Errorf("%q is the same", pair)
		}
	}
}

func TestCorrects(t *testing.T) {
	for _, yes := range []string{"that's wrong", "That is not right, it is five", "no, it is the other",
		"Nope.", "no, it is the other, thanks", "Actually it is great that it is 5",
		"Actually it is 5", "itu salah", "Das stimmt nicht.", "違います", "this isn't correct"} {
		if !Corrects(yes) {
			t.Errorf("%q corrects nothing", yes)
		}
	}
	for _, no := range []string{"thanks!", "what went wrong there?", "that's right", "now it works",
		"nothing else", "ok", "is there a correct way?",
		"No problem, thanks!", "no worries", "Actually, that is great, thanks", "nope, all good", "No, thanks"} {
		if Corrects(no) {
			t.Errorf("%q corrects", no)
		}
	}
}

func policy(t *testing.T, edit func(*config.Config)) *Policy {
	t.Helper()
	cfg := config.Default()
	cfg.AutoReply = config.AutoReply{Enabled: true, Hours: "Mon-Sun 00:00-24:00",
		Production: []config.Condition{{Name: "deploys", When: "(?i)deploy"}},
		Never:      []config.Condition{{Name: "incidents", When: ".content | test(\"outage\")"}}}
	cfg.Gate.Chat.ChatID = "ops"
	if edit != nil {
		edit(cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPreconditions(t *testing.T) {
	p := policy(t, nil)
	asked := Asked{Mention: true, Type: "technical_qa"}
	judged := Judged{Confidence: "high", Round: 1, Verdict: "pass", Risk: "passes"}
	if c := p.Preconditions(asked, judged, now); len(c) != 7 || !Hold(c) {
		t.Errorf("%+v", c)
	}
	never, production := p.Rules([]byte(`{"content":"outage after the deploy?"}`), "outage after the deploy?")
	if fmt.Sprint(never, production) != "[incidents] [deploys]" {
		t.Error(never, production)
	}
	if never, _ := p.Rules([]byte(`broken`), ""); len(never) != 1 {
		t.Error("a rule that cannot be asked does not hold")
	}
	for i, change := range []func(*Asked, *Judged, *Policy){
		func(a *Asked, _ *Judged, _ *Policy) { a.Mention = false },
		func(_ *Asked, j *Judged, _ *Policy) { j.Confidence = "medium" },
		func(_ *Asked, j *Judged, _ *Policy) { j.Round = 2 },
		func(_ *Asked, j *Judged, _ *Policy) { j.Risk = "needs_high_confidence" },
		func(a *Asked, _ *Judged, _ *Policy) { a.Type = "status_check" },
		func(_ *Asked, _ *Judged, p *Policy) { p.Hours = Hours{} },
		func(_ *Asked, _ *Judged, p *Policy) { p.Told = false },
	} {
		a, j, p := asked, judged, *p
		change(&a, &j, &p)
		for k, c := range p.Preconditions(a, j, now) {
			if c.Holds != (k != i) || c.Why == "" {
				t.Errorf("change %d: %+v", i, c)
			}
		}
	}
	if c := p.Preconditions(Asked{Mention: true, Type: "technical_qa", Never: never}, judged, now); Hold(c) {
		t.Error("what is never answered is answered")
	}
}

// history is a book of so many good drafts in each of the last weeks.
type history struct {
	*Book
	n int
}

func (h *history) word(kind, key, text string, at time.Time, note string) {
	r := decision.Record{At: at.Format(time.RFC3339), Kind: kind, By: "ana", Key: key, Cycle: 1, Text: text,
		Note: note, DraftSHA256: decision.Sum(text)}
	if kind == decision.Auto {
		r.By = decision.Dispatcher
	}
	if kind == decision.Offer {
		r.Meta = &decision.Meta{ValidatorVerdict: "pass", InvestigatorRounds: 1}
		r.Target = &decision.Target{ReplyToID: key}
	}
	h.Decided(&r, true)
}

// draft is one that passed and what was said of it.
func (h *history) draft(at time.Time, kind, text, note string) string {
	h.n++
	key := fmt.Sprint("k", h.n)
	h.Asked(Asked{Key: key, MessageID: key, At: at, Mention: true, Type: "technical_qa"})
	h.Returned(key, 1, 1, "high")
	h.Validated(key, 1, 1, "pass", "passes")
	h.word(decision.Offer, key, "It is 3.", at, "")
	if kind != "" {
		h.word(kind, key, text, at.Add(time.Minute), note)
	}
	return key
}

func good(t *testing.T, perWeek int) *history {
	h := &history{Book: newBook(policy(t, nil))}
	for w := range Weeks {
		for i := range perWeek {
			at := now.Add(-time.Duration(w)*week - time.Duration(i+1)*time.Hour)
			key := h.draft(at, decision.Approve, "It is 3.", "")
			h.word(decision.Claim, key, "", at.Add(2*time.Minute), "")
		}
	}
	return h
}

func TestGateOpens(t *testing.T) {
	r := good(t, 12).Report(now)
	if !r.Open || r.Would != 48 || r.WouldWrong != 0 || len(r.Preconditions) != 7 ||
		r.Weeks[3].Judged != 12 || r.Weeks[3].High < 0.1 {
		t.Errorf("%+v", r)
	}
	for _, n := range []int{0, 9} {
		if r := good(t, n).Report(now); r.Open || len(r.Missing) != Weeks {
			t.Errorf("%d a week: %+v", n, r.Missing)
		}
	}
	// What was posted automatically was judged by no person.
	h := good(t, 9)
	for range 5 {
		h.draft(now.Add(-time.Hour), decision.Auto, "It is 3.", "")
	}
	if r := h.Report(now); r.Open || r.Weeks[3].Judged != 9 || r.Weeks[3].Passed != 14 || r.Would != 36 {
		t.Errorf("%+v", r.Weeks[3])
	}
	// An empty week in the middle is not skipped over.
	if r := good(t, 12).Report(now.Add(week)); r.Open || r.Weeks[3].Judged != 0 {
		t.Errorf("%+v", r.Missing)
	}
}

// TestWhatIsAFalsePositive: each false positive closes the gate of a team that had earned it, and other
// events do not.
func TestWhatIsAFalsePositive(t *testing.T) {
	at := now.Add(-time.Hour)
	for name, tt := range map[string]struct {
		tell func(h *history)
		why  string
	}{
		"nothing":         {func(*history) {}, ""},
		"nobody decided":  {func(h *history) { h.draft(at, "", "", "") }, ""},
		"edit of wording": {func(h *history) { h.draft(at, decision.Edit, "Hi Ben, it is 3!", "") }, ""},
		"edit of meaning": {func(h *history) {
			h.draft(at, decision.Edit, "It is 4.", "")
		}, `edited: "3" became "4"`},
		"dismissal": {func(h *history) { h.draft(at, decision.Dismiss, "", "no") }, "dismissed: no"},
		"redo": {func(h *history) {
			h.draft(at, decision.Redo, "", "look again")
		}, "sent back: look again"},
		"undone dismissal": {func(h *history) {
			h.word(decision.Undo, h.draft(at, decision.Dismiss, "", ""), "", at.Add(time.Hour), "")
		}, ""},
		"automatic, taken back": {func(h *history) {
			h.word(decision.Undo, h.draft(at, decision.Auto, "It is 3.", ""), "", at.Add(time.Hour), "")
		}, "taken back"},
		"correction": {func(h *history) {
			h.Said("k1", "cho", "that is wrong", now.Add(-time.Minute))
		}, "corrected by cho: that is wrong"},
		"deleted":   {func(h *history) { h.Deleted("k1", now.Add(-time.Minute)) }, "our reply was deleted"},
		"too early": {func(h *history) { h.Said("k1", "cho", "that is wrong", now.Add(-5*time.Hour)) }, ""},
		"elsewhere": {func(h *history) {
			h.Said("other", "cho", "that is wrong", now.Add(-time.Minute))
		}, ""},
	} {
		h := good(t, 12)
		tt.tell(h)
		r := h.Report(now)
		if r.Open != (tt.why == "") || (len(r.Wrong) > 0) == r.Open ||
			len(r.Wrong) > 0 && !strings.Contains(r.Wrong[0].Why, tt.why) {
			t.Errorf("%s: open %v, %+v, missing %q", name, r.Open, r.Wrong, r.Missing)
		}
	}
}

func TestProductionAndDrills(t *testing.T) {
	h := good(t, 100)
	at := now.Add(-3 * week)
	h.Asked(Asked{Key: "p", MessageID: "p", At: at, Production: []string{"deploys"}})
	h.word(decision.Offer, "p", "It is 3.", at, "")
	h.word(decision.Dismiss, "p", "", at.Add(time.Minute), "")
	r := h.Report(now)
	if r.Open || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "touched production") ||
		r.Weeks[0].Rate > MaxRate {
		t.Errorf("%+v", r.Missing)
	}
	h = good(t, 12)
	drill := func(caught, missed int) Drill {
		return Drill{At: now.Add(-time.Hour).Format(time.RFC3339), Faults: []Fault{
			{Fault: "bad_line", Decidable: true, Caught: caught, Missed: missed},
			{Fault: "inverted_unit", Missed: 5}}} // of which the cited lines say nothing
	}
	h.drills = []Drill{drill(9, 1)}
	if r := h.Report(now); r.Open || r.Weeks[3].Planted.Hits != 1 || len(r.Missed) != 1 {
		t.Errorf("a missed fault does not count: %+v", r)
	}
	h = good(t, 12)
	h.drills = []Drill{drill(1, 0)}
	if r := h.Report(now); !r.Open {
		t.Errorf("%+v", r.Missing)
	}
	// Caught faults make no wrong draft right, and right drafts no missed fault caught.
	h = good(t, 8)
	for range 2 {
		h.draft(now.Add(-time.Hour), decision.Dismiss, "", "")
		for w := range Weeks {
			h.draft(now.Add(-time.Hour-time.Duration(w)*week), decision.Approve, "It is 3.", "")
		}
	}
	h.drills = []Drill{drill(100, 0)}
	if r := h.Report(now); r.Open || r.Weeks[3].Rate != 2.0/12 || r.Weeks[3].MissRate != 0 ||
		len(r.Missing) != 1 {
		t.Errorf("%+v", r.Missing)
	}
	h = good(t, 100)
	h.drills = []Drill{drill(9, 1)}
	if r := h.Report(now); r.Open || r.Weeks[3].MissRate != 0.1 || r.Weeks[3].Rate != 0 {
		t.Errorf("%+v", r.Missing)
	}
	none := &history{Book: newBook(policy(t, func(c *config.Config) { c.AutoReply.Production = nil }))}
	if r := none.Report(now); !strings.Contains(strings.Join(r.Missing, " "),
		"no rule in auto_reply.production") {
		t.Error(r.Missing)
	}
}

// TestRead: the logs of a home make the same book.
func TestRead(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at := now.Add(-time.Hour).Format(time.RFC3339)
	put := func(name string, vs ...any) {
		var b strings.Builder
		for _, v := range vs {
			line, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		if err := h.Replace(name, []byte(b.String())); err != nil {
			t.Fatal(err)
		}
	}
	type m = map[string]any
	put(journal.Name,
		m{"at": at, "key": "k", "event": m{"message_id": "1", "content": "why does the deploy fail?",
			"classification": "actionable", "is_bot_mention": true, "sender": m{"id": "ben", "type": "user"},
			"create_time": at}, "facts": m{"question_type": "technical_qa"}},
		m{"at": at, "key": "k", "run": m{"kind": "investigate", "status": "done", "cycle": 1, "round": 1,
			"value": m{"confidence": "high"}}},
		m{"at": at, "key": "k", "run": m{"kind": "validate", "status": "done", "cycle": 1, "round": 1,
			"value": m{"verdict": "pass", "risk_gate_check": "passes"}}},
	)
	put(DrillFile, Drill{At: at, Faults: []Fault{{Fault: "bad_line", Decidable: true, Caught: 1}}})
	for _, r := range []decision.Record{
		{At: at, Kind: decision.Offer, By: "tri-dispatch", Key: "k", Cycle: 1, Text: "It is 3.",
			DraftSHA256: decision.Sum("It is 3."), Target: &decision.Target{ReplyToID: "1"},
			Meta: &decision.Meta{ValidatorVerdict: "pass", InvestigatorRounds: 1}},
		{At: at, Kind: decision.Edit, By: "eve", Key: "k", Cycle: 1, Text: "4", DraftSHA256: decision.Sum("4"),
			Original: decision.Sum("It is 3.")}, // may not
		{At: at, Kind: decision.Approve, By: "ana", Key: "k", Cycle: 1, Text: "It is 3.",
			DraftSHA256: decision.Sum("It is 3.")},
	} {
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Read(h, policy(t, nil), decision.Policy{Approvers: []string{"ana"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	r := b.Report(now)
	if r.Would != 1 || r.Weeks[3].Judged != 1 || r.Weeks[3].Wrong != 0 || r.Production.N != 1 ||
		r.Weeks[3].Planted.N != 1 {
		t.Errorf("%+v", r)
	}
}
