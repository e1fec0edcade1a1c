package relation

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	tri    = Names{Bot: []string{"tri"}, People: []string{"ben"}}
	logs   = Item{Texts: []string{"can you pull yesterday's logs and grep for errors"}, IDs: []string{"1"}}
	deploy = Item{Texts: []string{"did the deploy of the billing service go through?"},
		IDs: []string{"2", "3"}}
	asked = Item{Texts: []string{"the upload fails"}, IDs: []string{"4"}, Asked: true}
)

// TestJudge lists messages by the kind that they are. "?" before one: tri-classify calls it actionable.
func TestJudge(t *testing.T) {
	for kind, texts := range map[string][]string{
		Status: {
			"any update?", "any news on this yet?", "hi, any luck?", "@tri are you still there?",
			"did you find anything?", "how's it going?",
			"any updates on the logs?", "anyone?", "bump", "gibt es was neues?", "schon was gefunden?",
			"¿cómo va?", "des nouvelles ?",
			"udah ketemu belum?", "alguma novidade?", "進捗どうですか", "怎么样了？",
		},
		Cancel: {"never mind", "nvm, found it", "@tri stop, please", "stop", "cancel", "scratch that",
			"solved, thanks", "vergiss es", "laisse tomber", "算了", "やめて", "batalin aja", "ahh, never mind",
			"oh wow, nvm", "tri: cancel it"},
		Redirect: {
			"?scratch that -- just the auth service", "actually scratch that -- just the auth service",
			"never mind the errors, look for warnings",
			"I meant the staging logs", "oh wait, sorry, I meant last week's",
			"actually only the auth service", "*staging", "**staging", "staging*",
			"?can you look at staging instead",
			"nein, nur die auth logs", "ich meinte staging", "quise decir ayer", "je voulais dire hier",
			"maksud saya kemarin", "quis dizer ontem",
			"やっぱり認証サービスだけ", "我是说昨天的日志",
		},
		Branch: {
			"?and also btw can you check if the deploy went through",
			"?by the way, where are invoices archived?", "?another question: which port does the proxy use?",
			"?also, how can I define process affinity?",
			"?übrigens: welche Ports nutzt der Proxy?",
		},
		Append: {
			"it says ENOSPC", "?also grep for warnings in the logs", "?can you tell why it does that",
			"and it only happens at night", "found it odd that nobody answers",
			"I just restarted it", "ignore that warning", "done", "stop words are not in the index",
			"solved the build, but the errors are still in the logs",
			"i mean it works on my machine", "no", "actually it crashed again", "still working on the repro",
			"rather than by hand", "*all* of them", "ben: stop it", "@ben stop that please",
			"anything in there looks odd to me",
		},
	} {
		for _, text := range texts {
			plain, actionable := strings.CutPrefix(text, "?")
			got := Judge(Message{Text: plain, Asks: actionable, Names: tri}, []Item{logs})
			if got.Kind != kind || got.Item != 0 || len(got.Reasons) == 0 {
				t.Errorf("%q: %+v, want %s", text, got, kind)
			}
		}
	}
}

func TestKindsOfTheClassifier(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    Message
		open []Item
		kind string
		item int
	}{
		{"thanks", Message{Text: "ty", Ack: true}, []Item{logs}, Ack, 0},
		{"nothing is open", Message{Text: "where is the retry limit?", Asks: true}, nil, New, -1},
		{"never mind, and nothing is open", Message{Text: "never mind"}, nil, New, -1},
		{"yes to our question", Message{Text: "yes", Ack: true}, []Item{asked}, Answer, 0},
		{"thanks while our question waits", Message{Text: "thanks!", Ack: true}, []Item{asked}, Ack, 0},
		{"what a colleague asked: cancel the job?", Message{Text: "cancel it"}, []Item{asked}, Answer, 0},
		{"in another language", Message{Text: "ok, abbrechen"}, []Item{asked}, Answer, 0},
		{"the warning?", Message{Text: "ignore it"}, []Item{asked}, Answer, 0},
		{"on staging or live?", Message{Text: "no importa"}, []Item{asked}, Answer, 0},
		{"shall I restart it?", Message{Text: "不用了"}, []Item{asked}, Answer, 0},
		{"a colleague is told", Message{Text: "@ben ignore that"}, []Item{logs}, Append, 0},
		{"nobody is told", Message{Text: "ignore that"}, []Item{logs}, Cancel, 0},
		{"the bot is told", Message{Text: "tri: cancel it", Names: tri}, []Item{asked}, Cancel, 0},
		{"the bot is told, by another name", Message{Text: "@answers stop", Names: Names{ToBot: true}},
			[]Item{asked}, Cancel, 0},
		{"somebody is told", Message{Text: "@answers stop"}, []Item{logs}, Append, 0},
		{"it is withdrawn all the same", Message{Text: "nvm, stop"}, []Item{asked}, Cancel, 0},
		{"cancelled, and then replaced", Message{Text: "the staging one", Before: []string{"cancel that"}},
			[]Item{logs}, Redirect, 0},
		{"what our question asked for", Message{Text: "on staging, version 3"}, []Item{asked}, Answer, 0},
		{"another question, to our question", Message{Text: "how do I see the version?", Asks: true},
			[]Item{asked}, Append, 0},
		{"yes and a question, to our question", Message{Text: "yes, is that too old?", Asks: true},
			[]Item{asked}, Answer, 0},
		{"a corrected word that looks like thanks", Message{Text: "correct*", Ack: true}, []Item{logs},
			Redirect, 0},
		{"found it, to our question", Message{Text: "found it"}, []Item{asked}, Answer, 0},
		{"never mind, to our question", Message{Text: "never mind"}, []Item{asked}, Cancel, 0},
		{"our question waits for one of two", Message{Text: "version 3"}, []Item{asked, logs}, Answer, 0},
		{"of another conversation", Message{Text: "which port does the proxy use?", Asks: true,
			Elsewhere: true}, []Item{logs}, Branch, 0},
		{"of another conversation, of the same things",
			Message{Text: "are the error logs rotated?", Asks: true, Elsewhere: true},
			[]Item{logs}, Append, 0},
		{"quotes what no item holds", Message{Text: "which port is that?", Asks: true, Quotes: "77"},
			[]Item{logs}, Append, 0},
		{"quotes what no item holds, and asks",
			Message{Text: "which port does this proxy use?", Asks: true, Quotes: "77"},
			[]Item{logs}, Branch, 0},
		{"after scratch that", Message{Text: "just the auth service", Before: []string{"scratch that"}},
			[]Item{logs}, Redirect, 0},
		{"after found it", Message{Text: "it was the proxy", Before: []string{"found it"}},
			[]Item{logs}, Append, 0},
		{"held back together", Message{Text: "scratch that\njust the auth service"}, []Item{logs},
			Redirect, 0},
		{"withdrawn twice", Message{Text: "sorry", Before: []string{"never mind"}, Ack: true},
			[]Item{logs}, Ack, 0},
	} {
		got := Judge(tt.m, tt.open)
		if got.Kind != tt.kind || got.Item != tt.item {
			t.Errorf("%s: %+v, want %s of %d", tt.name, got, tt.kind, tt.item)
		}
	}
}

func TestWhichItem(t *testing.T) {
	open := []Item{logs, deploy}
	for _, tt := range []struct {
		m    Message
		item int
		why  string
	}{
		{Message{Text: "cancel this", Quotes: "1"}, 0, "quoted"},
		{Message{Text: "never mind"}, 1, "newest-item"},
		{Message{Text: "the errors are all of one hour"}, 0, "same-words"},
		{Message{Text: "billing was green an hour ago"}, 1, "same-words"},
		{Message{Text: "it takes long"}, 1, "newest-item"},
	} {
		got := Judge(tt.m, open)
		if got.Item != tt.item || !slices.Contains(got.Reasons, tt.why) {
			t.Errorf("%q: %+v, want item %d, %s", tt.m.Text, got, tt.item, tt.why)
		}
	}
}

// TestCancelIsExact: nothing that is added to a withdrawal leaves it one.
func TestCancelIsExact(t *testing.T) {
	for _, name := range []string{withdraw, settled} {
		for phrase := range phrases()[name].has {
			if got := Judge(Message{Text: phrase}, []Item{logs}); got.Kind != Cancel {
				t.Errorf("%q: %s", phrase, got.Kind)
			}
			for _, rest := range []string{" -- just the auth service", ", why does the deploy fail",
				" in lib/auth/token.go", "\nbut the proxy 500s", "?"} {
				if got := Judge(Message{Text: phrase + rest}, []Item{logs}); got.Kind == Cancel {
					t.Errorf("%q: cancels", phrase+rest)
				}
			}
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("actually scratch that -- just the auth service", "1", true, false)
	f.Add("やっぱり\x00", "", false, true)
	f.Add("*", "9", true, true)
	f.Fuzz(func(t *testing.T, text, quotes string, actionable, ack bool) {
		m := Message{Text: text, Quotes: quotes, Asks: actionable, Ack: ack, Names: tri}
		open := []Item{logs, asked, deploy}
		got, again := Judge(m, open), Judge(m, open)
		if got.Kind != again.Kind || got.Item != again.Item || !slices.Equal(got.Reasons, again.Reasons) {
			t.Fatalf("%+v and %+v", got, again)
		}
		if got.Item < 0 || got.Item >= len(open) || len(got.Reasons) == 0 || got.Margin < 0 ||
			got.Margin > 1 {
			t.Errorf("%+v", got)
		}
		if got.Kind == Cancel && !Withdraws(text, tri) {
			t.Errorf("%q cancels", text)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	m := Message{Text: strings.Repeat("the proxy says ENOSPC and I have no idea why ", 20), Asks: true}
	for b.Loop() {
		Judge(m, []Item{logs, deploy})
	}
}

// TestLongTime: a message is compared with the beginning of a long question.
func TestLongTime(t *testing.T) {
	open := []Item{{Texts: []string{strings.Repeat("add the word ", 100_000)}}, {Texts: []string{"why?"}}}
	took := time.Hour
	for range 3 {
		at := time.Now()
		Judge(Message{Text: "which word was that?", Asks: true}, open)
		took = min(took, time.Since(at))
	}
	if took > 200*time.Millisecond {
		t.Error(took)
	}
}
