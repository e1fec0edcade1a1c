package health

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
)

// watched is a pipeline that a watcher checks every 5 s of simulated time.
type watched struct {
	*place
	watcher            *watcher
	events, classified string
	last               int // seq of the last classified event
}

func newWatched(t *testing.T) *watched {
	p := newPlace(t, piped)
	for _, s := range p.stages() {
		if s.Name != "thread" && s.Name != "turn" {
			p.hold(s.Lock)
		}
	}
	w := &watched{place: p}
	w.watcher = &watcher{Options: Options{Dir: p.home.Dir(), Now: func() time.Time {
		return p.now
	}}, memory: newMemory()}
	t.Cleanup(w.watcher.memory.close)
	return w
}

// says advances the time by 5 s, in which a message arrives and each stage but one processes it.
func (w *watched) says(hung string) (told []string) {
	w.t.Helper()
	w.now = w.now.Add(5 * time.Second)
	stamp := w.now.Format(time.RFC3339)
	if hung != "watch" {
		w.write(beatName, fmt.Sprintf(`{"beat_at":%q,"connected_since":%[1]q,"source":"local"}`, stamp))
	}
	// The chat's clock is years behind: it must not matter.
	w.events += eventLine(len(w.events), w.now.AddDate(-3, 0, 0))
	w.write(eventsName, w.events)
	if hung != "classify" {
		w.classified = w.events
		w.write(classifiedName, w.classified)
	}
	if lines := strings.SplitAfter(strings.TrimSuffix(w.classified, "\n"), "\n"); hung != "dispatch" {
		w.last = len(w.classified) - len(lines[len(lines)-1]) - 1
		if w.classified == "" {
			w.last = -1
		}
	}
	w.write(markName, fmt.Sprintf(`{"seq":%d,"decisions":%d}`, w.last, w.decided()))
	for _, n := range w.watcher.look(context.Background()) {
		told = append(told, n.Status+" "+n.Name)
	}
	return told
}

func (w *watched) decided() int64 {
	info, err := os.Stat(w.home.Path(decision.LogName))
	if err != nil {
		return 0
	}
	return info.Size()
}

func (w *watched) approve() {
	w.t.Helper()
	key, text := "local.dev.1", "because"
	for _, r := range []decision.Record{
		{Kind: decision.Offer, Key: key, Cycle: 1, DraftSHA256: decision.Sum(text), Text: text,
			Target: &decision.Target{}, Meta: &decision.Meta{}},
		{Kind: decision.Approve, By: "ana", Key: key, Cycle: 1, DraftSHA256: decision.Sum(text), Text: text},
	} {
		r.At = w.now.UTC().Format(time.RFC3339)
		if _, err := decision.Append(w.home, r); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestWatchNoticesSilentStalls: every stage holds its lock, one makes no progress, and it is
// reported by name within a minute, and not before it is true.
func TestWatchNoticesSilentStalls(t *testing.T) {
	for _, tt := range []struct{ hung, want, back string }{
		{"watch", "fail tri-watch", "ok tri-watch"},
		{"classify", "fail lag tri-classify", "ok lag tri-classify"},
		{"dispatch", "fail lag tri-dispatch", "ok lag tri-dispatch"},
		{"reply", "fail lag tri-reply", ""},
	} {
		t.Run(tt.hung, func(t *testing.T) {
			w := newWatched(t)
			first := w.says("")
			for range 20 { // idle or at work: nothing is reported
				if told := w.says(""); len(told) > 0 {
					t.Fatalf("told %q", told)
				}
			}
			if tt.hung == "reply" {
				w.approve()
			}
			began, told := w.now, []string(nil)
			for w.now.Sub(began) < time.Minute && len(told) == 0 {
				told = w.says(tt.hung)
			}
			if took := w.now.Sub(began); len(told) != 1 || told[0] != tt.want || took < 15*time.Second {
				t.Fatalf("after %v told %q, first %q", took, told, first)
			}
			if told := w.says(tt.hung); len(told) > 0 {
				t.Errorf("told again: %q", told)
			}
			if tt.back != "" {
				if told := w.says(""); len(told) != 1 || told[0] != tt.back {
					t.Errorf("when it went on: %q", told)
				}
			}
		})
	}
}

func TestTrack(t *testing.T) {
	var tr track
	for i, tt := range []struct {
		at, end      int64
		waits, still int
	}{
		{0, 0, 0, 0},
		{0, 10, 0, 1},   // it has just arrived; there was no progress before either
		{0, 20, 1, 2},   //
		{5, 20, 2, 0},   // progress, but the first has not been reached
		{10, 20, 2, 0},  // now it has; the second arrived one look later
		{20, 20, 0, 0},  //
		{20, 20, 0, 0},  //
		{20, 30, 0, 1},  //
		{30, 15, 0, 0},  // another log
		{0, 15, 0, 0},   //
		{-1, 15, 1, 0},  //
		{-1, 15, 2, 1},  //
		{15, 200, 0, 0}, //
	} {
		now := noon.Add(time.Duration(i) * time.Second)
		waits, still := tr.see(tt.at, tt.end, now)
		if waits != time.Duration(tt.waits)*time.Second || still != time.Duration(tt.still)*time.Second {
			t.Errorf("%d: %v, %v", i, waits, still)
		}
	}
	for i := range int64(3 * maxArrivals) {
		tr.see(15, 200+i, noon)
	}
	if len(tr.came) > maxArrivals {
		t.Errorf("%d arrivals are kept", len(tr.came))
	}
}

func TestSlowIsNoStall(t *testing.T) {
	p := newPlace(t, piped)
	x := p.examination()
	for i := range 30 {
		x.checks = nil
		p.now = p.now.Add(5 * time.Second)
		waits, still := x.memory.of("lag tri-classify").see(int64(i), int64(10*i+10), p.now)
		x.waits("lag tri-classify", "behind", waits, still)
	}
	want(t, x.checks, "lag tri-classify", Warn, "falls behind")
}

func (p *place) examination() *checker {
	return &checker{Options: Options{Dir: p.home.Dir(), Now: func() time.Time {
		return p.now
	}}, home: p.home, memory: newMemory()}
}

func TestChanges(t *testing.T) {
	ok, warn, fail := Check{"a", OK, "", ""}, Check{"a", Warn, "w", ""}, Check{"a", Fail, "f", ""}
	other := Check{"b", Fail, "o", ""}
	for _, tt := range []struct {
		before, now []Check
		want        string
	}{
		{nil, []Check{ok}, ""},
		{nil, []Check{warn, other}, "warn a, fail b"},
		{[]Check{warn}, []Check{warn}, ""},
		{[]Check{warn}, []Check{ok, warn, fail}, "fail a"},
		{[]Check{fail}, []Check{fail, fail}, "fail a"},
		{[]Check{fail, fail}, []Check{fail}, ""},
		{[]Check{fail}, []Check{ok}, "ok a"},
		{[]Check{fail, other}, []Check{fail}, "ok b"},
		{[]Check{ok}, nil, ""},
	} {
		var got []string
		for _, c := range changes(findings(tt.before), findings(tt.now)) {
			got = append(got, c.Status+" "+c.Name)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%v, then %v: told %q, want %q", tt.before, tt.now, got, tt.want)
		}
	}
}

func TestNewsIsOneLine(t *testing.T) {
	var b strings.Builder
	n := News{"2026-03-02T12:00:00Z", Check{"config", Fail, "a:1: x\na:2: \x1b[2Jy", "mend\tit"}}
	if err := n.Print(&b); err != nil {
		t.Fatal(err)
	}
	if want := "2026-03-02T12:00:00Z fail config: a:1: x a:2: <U+001B>[2Jy → mend it\n"; b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
	b.Reset()
	var back News
	if err := n.WriteJSON(&b); err != nil || json.Unmarshal([]byte(b.String()), &back) != nil || back != n {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	p := newPlace(t, piped)
	ctx, stop := context.WithCancel(context.Background())
	told := 0
	err := Watch(ctx, Options{Dir: p.home.Dir(), Now: func() time.Time {
		return p.now
	}}, time.Millisecond, func(n News) error {
		told++
		stop()
		return nil
	})
	if err != nil || told == 0 {
		t.Errorf("%v, told %d", err, told)
	}
	broken := fmt.Errorf("broken")
	if err := Watch(context.Background(), Options{Dir: p.home.Dir(), Now: time.Now}, time.Millisecond,
		func(News) error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
}

func TestAnotherHomeInItsPlace(t *testing.T) {
	w := newWatched(t)
	w.approve()
	w.now = w.now.Add(time.Hour)
	w.says("")
	if err := os.Rename(w.home.Dir(), w.home.Dir()+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.home.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(5 * time.Second)
	news := fmt.Sprint(w.watcher.look(context.Background()))
	if !strings.Contains(news, "no configuration") || !strings.Contains(news, "{lag tri-reply ok") {
		t.Errorf("told %v", news)
	}
}

func TestSupervised(t *testing.T) {
	pid := os.Getpid()
	for _, tt := range []struct{ dispatch, name, status, message string }{
		{`"state":"up","pid":1,"since":"2026-03-02T11:00:00Z","restarts":9,"ended":"ended by killed"`,
			"tri-supervise", OK, "13 restarts"},
		{`"state":"waiting","since":"2026-03-02T11:59:59Z","restarts":1,"ended":"ended by killed"`,
			"tri-dispatch", Warn, "being started again: ended by killed"},
		{`"state":"waiting","since":"2026-03-02T11:59:59Z","restarts":3,"ended":"ended with status 78"`,
			"tri-dispatch", Fail, "ends after every start, 3 times so far: ended with status 78"},
		{`"state":"starting","since":"2026-03-02T11:59:00Z"`, "tri-dispatch", Fail, "starting for 1 min"},
		{`"state":"waiting","since":"2026-03-02T11:59:00Z","next":"2026-03-02T11:59:01Z","ended":"x"`,
			"tri-dispatch", Fail, "does not start it again"},
		{`"state":"down","since":"2026-03-02T11:59:00Z"`, "tri-dispatch", Fail, "not started"},
	} {
		p := newPlace(t, piped+"pipeline: [{name: mine, command: [sleep, '9']}]\n")
		p.hold(supervisorLock)
		p.write(supervisorFile,
			fmt.Sprintf(`{"pid":%d,"stages":[{"name":"dispatch",%s},{"name":"mine","state":"up","pid":%d,"since":"2026-03-02T11:59:30Z","restarts":4,"ended":"ended with status 1"}]}`, pid, tt.dispatch, pid))
		checks := p.look()
		want(t, checks, tt.name, tt.status, tt.message)
		want(t, checks, "stage mine", Fail, "has ended 4 times: ended with status 1")
		want(t, checks, "tri-supervise", OK, fmt.Sprintf("process %d", pid))
	}
}

func TestRunningAndLooping(t *testing.T) {
	p := newPlace(t, piped)
	p.hold(supervisorLock)
	p.hold("locks/dispatch")
	p.write(supervisorFile,
		`{"stages":[{"name":"dispatch","state":"up","since":"2026-03-02T11:59:58Z","restarts":7,"ended":"ended with status 70"}]}`)
	want(t, p.look(), "tri-dispatch", Fail, "has ended 7 times, the last time 2 s ago")
	p.now = p.now.Add(time.Hour)
	want(t, p.look(), "tri-dispatch", OK, "runs")
	p.write(supervisorFile, `{`)
	want(t, p.look(), "tri-supervise", Fail, "supervise.json")
}

func TestSpendDrillsSignalsTrust(t *testing.T) {
	p := newPlace(t, piped+"auto_reply: {enabled: true, hours: 'Mon-Fri 09:00-17:00', zone: UTC}\n")
	checks := p.look()
	want(t, checks, "budget", OK, "0 investigations")
	want(t, checks, "auto-reply", Warn, "not earned")
	at := noon.Add(-time.Hour).Format(time.RFC3339)
	const drill = `{"at":%q,"faults":[{"fault":"bad_line","decidable":true,"caught":9,"missed":%d}]}` + "\n"
	p.write("drills.ndjson", fmt.Sprintf(drill, at, 0))
	want(t, p.look(), "drills", OK, "9 planted faults")
	p.write("drills.ndjson", fmt.Sprintf(drill, at, 1))
	want(t, p.look(), "drills", Warn, "1 of 10 planted faults passed the validator in 7 days")

	p.write("spend.ndjson",
		fmt.Sprintf(`{"at":%q,"kind":"reserve","day":"2026-03-02","run_id":"a"}`+"\n"+
			`{"at":%[1]q,"kind":"settle","day":"2026-03-02","run_id":"a","cost_usd":0.25}`+"\n"+
			`{"at":%[1]q,"kind":"reserve","day":"2026-03-02","run_id":"v","work":"validate"}`+"\n", at))
	want(t, p.look(), "budget", OK, "1 investigations today, $0.25")
	p.write("dispatch.ndjson", fmt.Sprintf(`{"at":%q,"key":"k","spent":{"run_id":"b","why":"50 of 50"}}`+"\n",
		at))
	want(t, p.look(), "budget", Warn, "1 questions found nothing left: 50 of 50")
	p.write("dispatch.ndjson", "")
	p.write("spend.ndjson",
		fmt.Sprintf(`{"at":%q,"kind":"settle","day":"2026-03-02","run_id":"a","cost_usd":null}`+"\n", at))
	want(t, p.look(), "spend", Warn, "1 of today's runs do not report")

	done := fmt.Sprintf(`{"id":"a","at":%q,"outcome":"shown"}`+"\n", at)
	p.write("signals-done.ndjson", done)
	want(t, p.look(), "signals", OK, "1 cards")
	p.write("signals-done.ndjson",
		done+fmt.Sprintf(`{"id":"b","at":%q,"outcome":"refused","why":"not there"}`+"\n", at))
	want(t, p.look(), "signals", Warn,
		"1 of 2 cards and reactions were not shown in 24 h, the last: not there")
	p.write("todos.ndjson", `{"id":"t-000000000001","at":"2026-03-01T08:00:00Z","kind":"add","by":"a","text":"call",`+
		`"due":"2026-03-01T09:00:00Z"}`+"\n"+
		`{"id":"t-000000000001","at":"2026-03-01T09:00:00Z","kind":"told","by":"tri-dispatch"}`+"\n")
	p.write("signals-done.ndjson", `{"id":"due-t-000000000001","outcome":"refused","why":"not a member"}`+"\n")
	want(t, p.look(), "reminders", Warn, "1 due and not shown, one of them because: not a member")
}

func TestDraftsThatWait(t *testing.T) {
	w := newWatched(t)
	w.approve()
	w.now = w.now.Add(15 * time.Second)
	want(t, w.look(), "lag tri-reply", OK, "1 approved drafts wait")
	w.now = w.now.Add(time.Minute)
	want(t, w.look(), "lag tri-reply", Fail, "1 approved drafts wait to be posted")
}
