package dispatch

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

var burst = []string{
	"where is the RetryLimit set?", "how long is the session timeout?",
	"which port does the proxy listen on?",
	"what is MaxUploadBytes?", "who owns the audit log?",
}

// TestBurst: of five questions by one person, and by five people, in a room without threads, each is named
// by its draft, said not to be answered, and answered in the end.
func TestBurst(t *testing.T) {
	for _, people := range []int{1, 5} {
		b := newBench(t)
		for i, q := range burst {
			id, root := string(rune('1'+i)), ""
			if people == 1 && i > 0 {
				root = "~1"
			}
			b.add(id, string(rune('a'+i%people)), root, event.Actionable, q)
		}
		left := map[string]bool{}
		for i := range burst {
			left[string(rune('1'+i))] = true
		}
		for round := 1; len(left) > 0; round++ {
			if round > len(burst)+1 {
				t.Fatalf("%d people: %v are not answered after %d rounds", people, left, round)
			}
			b.run()
			for th, err := range thread.Open(b.home) {
				if err != nil {
					t.Fatal(err)
				}
				if th.Status != thread.PendingUser {
					t.Fatalf("%s: %s", th.Key, th.Status)
				}
				open, said := len(th.Questions()), len(th.NotAnswered)
				if people == 5 && said > 0 || people == 1 && open > 1 &&
					(said != open-1 || !strings.Contains(th.Badge, "questions not answered; ")) {
					t.Errorf("%d people: %d of %d not answered: %q", people, said, open, th.Badge)
				}
				for _, m := range th.Questions() {
					if !strings.Contains(strings.Join(th.NotAnswered, " "), m.MessageID) {
						delete(left, m.MessageID)
					}
				}
				b.post(th)
			}
		}
		b.run()
		for th, err := range thread.Open(b.home) {
			t.Errorf("%d people: %s is open: %s, %v", people, th.Key, th.Status, err)
		}
		if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
	}
}

// post approves the draft of a thread and posts it.
func (b *bench) post(th *thread.Thread) {
	b.t.Helper()
	r := decision.Record{Kind: decision.Approve, By: "boss", Via: "terminal", Key: th.Key, Cycle: th.Cycle,
		DraftSHA256: th.DraftSHA256, Text: *th.DraftPending}
	if _, err := decision.Append(b.home, r); err != nil {
		b.t.Fatal(err)
	}
	r.Kind, r.By, r.Via = decision.Claim, "tri-reply", "code"
	if _, err := decision.Append(b.home, r); err != nil {
		b.t.Fatal(err)
	}
	reply := outbox.Reply{Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256, Outcome: outbox.Posted,
		PostedMessageID: "99", ReplyText: *th.DraftPending}
	line, err := json.Marshal(reply)
	if err != nil {
		b.t.Fatal(err)
	}
	log, err := b.home.OpenLog("replies.ndjson")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil }); err != nil {
		b.t.Fatal(err)
	}
}

// TestNoneLeftOutAutomatically: no policy approves a draft that leaves a question out.
func TestNoneLeftOutAutomatically(t *testing.T) {
	now := time.Now()
	th := &thread.Thread{
		InvestigatorReturn: &draft.Return{}, ValidatorReturn: &verdict.Verdict{},
		Messages: []thread.Message{{MessageID: "1", At: now.UTC().Format(time.RFC3339)}},
	}
	if !new(auto).fresh(th, now) {
		t.Fatal("a fresh question is refused")
	}
	if th.NotAnswered = []string{"1"}; new(auto).fresh(th, now) {
		t.Error("a draft that leaves a question out may be approved automatically")
	}
}

// TestEditedAnswer: a text of the approver leaves out only a question that the draft left out, too.
func TestEditedAnswer(t *testing.T) {
	asked := func(id, text string) thread.Message {
		return thread.Message{MessageID: id, Content: text, Actionable: true}
	}
	th := &thread.Thread{Status: thread.PendingUser, Cycle: 1, DraftPending: new("chargeCard makes 5 attempts."),
		Messages: []thread.Message{asked("1", "how many attempts does chargeCard make?"),
			asked("2", "where is the kafka consumer?"), asked("3", "who owns the audit log?")},
		NotAnswered: []string{"2", "3"}}
	for text, want := range map[string]string{
		*th.DraftPending:                          "2 3",
		"5 attempts. There is no kafka here.":     "3",
		"5 attempts.":                             "",
		"Read the README, it says all of it.":     "",
		"No kafka here, and ops own the log.":     "",
		"chargeCard: 5. kafka: no. log: ask ops.": "",
	} {
		reply := outbox.Reply{Cycle: 1, Outcome: outbox.Posted, ReplyText: text}
		if got := strings.Join(notAnswered(th, thread.Input{Reply: &reply}), " "); got != want {
			t.Errorf("%q leaves out %q, want %q", text, got, want)
		}
	}
}
