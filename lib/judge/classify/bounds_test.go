package classify

import (
	"fmt"
	"strings"
	"testing"

	"tri/lib/base/config"
)

// boundCases are talks whose last message comes when a rule just holds, and a
// second later. A line is "seconds who text", the seconds since the
// line before; text as in testdata/talks. The last has no seconds: at has them.
var boundCases = []struct {
	name, talk   string
	at           int
	holds, later string
}{
	{"who asked goes on while it is not quiet", `
0 ann why is my build red?
ann the log of it has three GB`, 600,
		`actionable ----i- 70 en "follow-up"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"in a slow room longer, once somebody has answered", `
0 ann why is my build red?
10 bob ann: it may be the disk
ann the log of it has three GB`, 2400,
		`actionable ----i- 70 en "follow-up"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"less long after they took note", `
0 ann why is my build red?
10 bob ann: it may be the disk
10 ann ok
ann the log of it has three GB`, 240,
		`actionable ----i- 70 en "follow-up"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"and after thanks", `
0 ann why is my build red?
10 bob ann: it may be the disk
10 ann thanks
ann it fails again at the end of the log`, 120,
		`actionable ----i- 70 en "follow-up"`,
		`actionable ------ 75 en "problem"`},
	{"what is said next answers a question that is fresh", `
0 ann why is my build red?
bob the disk was full last week`, 180,
		`ambient ------ 80 en "answers-someone"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"who spoke to one who asked still helps", `
0 ann why is my build red?
10 bob ann: it may be the disk
100 ann bob: no, it has space
bob the runner was moved last week`, 200,
		`ambient ------ 80 en "goes-on-helping"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"and then no more", `
0 ann why is my build red?
10 bob ann: it may be the disk
250 cyd how do i deploy?
bob could it be the lock that cyd set`, 50,
		`ambient -q---- 75 en "question:word:could * be" "clarifies"`,
		`actionable -q---- 85 en "question:word:could * be"`},
	{"a thread is open for a day", `
0 ann why is my build red?
bob #0 look at the disk of the runner`, 86400,
		`actionable ----i- 60 en "thread:in-flight"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"and is settled by thanks, a while later", `
0 ann why is my build red?
10 bob #0 the disk is full
10 ann #0 thanks
bob #0 the other one is as well`, 120,
		`actionable ----i- 60 en "thread:in-flight"`,
		`ambient ------ 80 en "answers-someone"`},
	{"thanks for something else do not open it again", `
0 ann why is my build red?
10 bob #0 the disk is full
10 ann #0 thanks
121 ann how do i deploy?
10 ann #0 thanks
bob #0 the other one is as well`, 10,
		`ambient ------ 80 en "answers-someone"`,
		`ambient ------ 80 en "answers-someone"`},
	{"outside threads, where the room uses them, not for long", `
0 ann why is my build red?
1 bob #0 the disk is full
1 ann #0 which one is it?
1 bob #0 that of the runner
ann the log of it has three GB`, 119,
		`actionable ----i- 70 en "follow-up"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"who told something long ago tells again", `
0 ann why is my build red?
0 bob ann: it may be the disk
1 ann thanks
ann the release of the week is out now`, 10799,
		`ambient ------ 80 en "nothing-asked"`,
		`ambient ------ 80 en "nothing-asked"`},
	{"yes to nobody, when others have spoken since, answers nobody", `
0 ann why is my build red?
10 cyd lunch is at noon in the big hall
bob yes`, 10,
		`ack --a--- 95 en "ack:words"`,
		`ack --a--- 95 en "ack:words"`},
	{"nor behind one's own word in the thread of another", `
0 ann #0 why is my build red?
10 bob #0 it may be the disk
bob #0 yes`, 10,
		`ack --a-i- 95 en "ack:words"`,
		`ack --a-i- 95 en "ack:words"`},
	{"one who asked a minute ago", `
0 ann why is my build red?
ann and the one of bob`, 60,
		`actionable ----i- 70 en "follow-up"`,
		`actionable ----i- 70 en "follow-up"`},
}

// TestBounds: rules hold up to their bounds and no further.
func TestBounds(t *testing.T) {
	c := classifier(t, Options{Config: config.Classifier{BotID: "tri"}})
	for _, tt := range boundCases {
		rows := strings.Split(strings.TrimSpace(tt.talk), "\n")
		for _, more := range []int{0, 1} {
			st := feeds(c)
			var got string
			now := int64(1_700_000_000)
			for i, row := range rows {
				if i == len(rows)-1 {
					row = fmt.Sprintf("%d %s", tt.at+more, row)
				}
				part := strings.SplitN(row, " ", 3)
				var after int64
				if _, err := fmt.Sscan(part[0], &after); err != nil {
					t.Fatal(err)
				}
				now += after
				l := utterance{seq: int64(i) * 200, at: now, id: fmt.Sprint(i), from: part[1], text: part[2]}
				if rest, ok := strings.CutPrefix(l.text, "#"); ok {
					l.thread, l.text, _ = strings.Cut(rest, " ")
				}
				if name, _, ok := strings.Cut(l.text, ": "); ok && !strings.Contains(name, " ") {
					l.to = []string{name}
				}
				got = st.feed(t, l.event()).is
			}
			want := tt.holds
			if more > 0 {
				want = tt.later
			}
			if got != want {
				t.Errorf("%s, %d seconds: %s, want %s", tt.name, tt.at+more, got, want)
			}
		}
	}
}
