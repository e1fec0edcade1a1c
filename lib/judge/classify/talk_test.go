package classify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/ndjson"
	"tri/lib/record/event"
)

// utterance is one message of a made-up room.
type utterance struct {
	seq, at          int64
	id, thread, from string
	text             string
	to               []string
	inferred         bool
	want             string
}

func (l utterance) event() string {
	thread := "null"
	if l.thread != "" {
		thread = fmt.Sprintf("%q", l.thread)
	}
	extra := ""
	if l.inferred {
		extra = `,"thread_inferred":"same person"`
	}
	to := []string{}
	for _, name := range l.to {
		to = append(to, fmt.Sprintf("%q", name))
	}
	return fmt.Sprintf(`{"seq":%d,"platform":"p","chat_id":"c","message_id":%q,"create_time":%q,"content":%s,"thread_id":%s,"sender":{"id":%q,"type":"user"},"mentions":[%s]%s}`+"\n",
		l.seq, l.id, time.Unix(l.at, 0).UTC().Format(time.RFC3339), ndjson.AppendString(nil, l.text), thread,
		l.from, strings.Join(to, ","), extra)
}

// parseTalk reads a dialogue of testdata/talks: "class  who  text", tab-separated; a line "+N" lets N
// minutes pass, and a text that begins with "#id " is in a thread.
func parseTalk(t *testing.T, text string) (lines []utterance) {
	t.Helper()
	now := int64(1_700_000_000)
	for n, row := range strings.Split(strings.TrimSpace(text), "\n") {
		if row == "" || strings.HasPrefix(row, "# ") {
			continue
		}
		var minutes int64
		if _, err := fmt.Sscanf(row, "+%d", &minutes); err == nil {
			now += minutes * 60
			continue
		}
		part := strings.SplitN(row, "\t", 3)
		if len(part) != 3 {
			t.Fatalf("line %d: %q", n+1, row)
		}
		now += 10
		l := utterance{seq: int64(len(lines)) * 200, at: now, id: fmt.Sprint(len(lines)), want: part[0],
			from: part[1], text: part[2]}
		if rest, ok := strings.CutPrefix(l.text, "#"); ok {
			l.thread, l.text, _ = strings.Cut(rest, " ")
		}
		if name, _, ok := strings.Cut(l.text, ": "); ok && !strings.Contains(name, " ") {
			l.to = []string{name}
		}
		lines = append(lines, l)
	}
	return lines
}

// TestTalks plays dialogues: one a file, whose first line may configure the team.
func TestTalks(t *testing.T) {
	files, err := filepath.Glob("testdata/talks/*.tsv")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d dialogues, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Config: config.Classifier{BotID: "tri"}}
			body := string(text)
			if first, rest, _ := strings.Cut(body, "\n"); strings.HasPrefix(first, "helpers ") {
				o.Team.Helpers, body = strings.Fields(first)[1:], rest
			} else if strings.HasPrefix(first, "members ") {
				o.Team.Members, body = strings.Fields(first)[1:], rest
			}
			lines := parseTalk(t, body)
			var in strings.Builder
			for _, l := range lines {
				in.WriteString(l.event())
			}
			for i, e := range run(t, classifier(t, o), in.String()) {
				if e.Classification != lines[i].want {
					t.Errorf("%s: %q is %s %v, want %s", lines[i].from, lines[i].text, e.Classification,
						e.Reasons, lines[i].want)
				}
			}
		})
	}
}

// chatter is n messages of people who ask, answer, settle and chat, step bytes apart.
func chatter(n int, step int64) []utterance {
	said := []string{"why is the build red?", "it says error 42", "thanks, that works", "ok",
		"anyone know where the log is", "lunch at noon",
		"did you restart it?", "yes", "i'm getting a timeout when i deploy", "hm, look at https://x.test/1",
		"right?", "never mind, found it", "let me check"}
	rnd := rand.New(rand.NewPCG(5, 6))
	var lines []utterance
	now := int64(1_700_000_000)
	for i := range n {
		now += int64(rnd.IntN(120))
		l := utterance{seq: int64(i) * step, at: now, id: fmt.Sprint(i),
			from: fmt.Sprintf("u%d", rnd.IntN(7)), text: said[rnd.IntN(len(said))]}
		if rnd.IntN(3) == 0 {
			l.to = []string{fmt.Sprintf("u%d", rnd.IntN(7))}
			l.text = l.to[0] + ": " + l.text
		}
		if rnd.IntN(9) == 0 {
			l.thread, l.inferred = fmt.Sprint(max(0, i-rnd.IntN(30))), rnd.IntN(2) == 0
		}
		lines = append(lines, l)
	}
	return lines
}

// TestWindow: the result for a record is the same wherever reading began, at least one Window before it.
func TestWindow(t *testing.T) {
	const step = 40_000
	lines := chatter(1000, step)
	c := classifier(t, Options{})
	events := make([]string, len(lines))
	for i, l := range lines {
		events[i] = l.event()
	}
	whole := run(t, c, strings.Join(events, ""))
	wanted := 0
	for _, e := range whole {
		if e.Classification == event.Actionable {
			wanted++
		}
	}
	if wanted < 100 || wanted > 900 {
		t.Errorf("%d of %d are actionable: the window is not tested", wanted, len(whole))
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 25 {
		from := rnd.IntN(len(lines) - Window/step - 10)
		part := run(t, c, strings.Join(events[from:], ""))
		for i := Window/step + 1; i < len(part); i++ {
			got, want := part[i], whole[from+i]
			if got.Classification != want.Classification ||
				got.MentionsThreadWithInflight != want.MentionsThreadWithInflight ||
				got.ClassifierConfidence != want.ClassifierConfidence ||
				fmt.Sprint(got.Reasons) != fmt.Sprint(want.Reasons) {
				t.Fatalf("read from %d, record %d: %s %v %v, want %s %v %v", from, from+i, got.Classification,
					got.ClassifierConfidence, got.Reasons,
					want.Classification, want.ClassifierConfidence, want.Reasons)
			}
		}
	}
}

// TestFoldLeavesTheEvent: two folds take every event in, so neither may change it.
func TestFoldLeavesTheEvent(t *testing.T) {
	f := newFold()
	c := classifier(t, Options{})
	for i, body := range []string{"why is it down?", "right?", "bob: yes", "thanks bob", "ok"} {
		e := Event{facts: facts{room: 1, who: uint64(2 + i%2), thread: uint64(10 + i), time: int64(i),
			at: int64(i), maybe: [3]uint64{2, 3}, nmaybe: 2}}
		var x reading
		c.judgeText([]byte(body), &x, &e.verdict)
		before := e.facts
		verdict := e.verdict
		f.see(&e, c.model)
		if e.facts != before || e.verdict != verdict {
			t.Errorf("%q was changed", body)
		}
	}
}

// FuzzTalk: no conversation breaks the memory, and starting the same conversation again gives the same
// results.
func FuzzTalk(f *testing.F) {
	f.Add([]byte("\x00why?\x01bob: did you\x02thanks\x00it says\x01ok"))
	c, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		play := func() string {
			m := memory{model: c.model}
			var out strings.Builder
			at := int64(0)
			for len(script) > 0 && at < 200*generation {
				n := min(len(script), 1+int(script[0]%40))
				e := Event{facts: facts{room: uint64(script[0] % 3), who: uint64(script[0] % 7),
					thread: uint64(script[0] % 11), at: at, time: at / 1000, threaded: script[0]&8 != 0}}
				e.maybe, e.nmaybe = [3]uint64{uint64(script[0] % 5)}, 1
				var x reading
				c.judgeText(script[:n], &x, &e.verdict)
				s := m.see(&e)
				if s.wanted && s.ack || s.sure > 100 {
					t.Fatalf("%q: %+v", script[:n], s)
				}
				fmt.Fprintln(&out, s)
				at += int64(script[0]) << 12
				script = script[n:]
			}
			return out.String()
		}
		whole := script
		first := play()
		script = whole
		if second := play(); second != first {
			t.Errorf("%q\n%q", first, second)
		}
	})
}

// TestOfOwn: in a room that is known, what somebody new tells that they did or saw is
// of their own, though another asked just before; where to look is an answer.
func TestOfOwn(t *testing.T) {
	for text, want := range map[string]string{
		"I put the disc in and start it under wine, but it says please insert the disc": "actionable",
		"the menu on the left has a row for the settings of the splash":                 "ambient",
	} {
		lines := []string{}
		for i := range 60 {
			lines = append(lines, fmt.Sprintf("ambient\tbob\tthe train of %d was late again", i))
		}
		lines = append(lines, "actionable\tana\thow do I turn off the splash screen?", want+"\tdia\t"+text)
		all := parseTalk(t, strings.Join(lines, "\n"))
		var in strings.Builder
		for _, l := range all {
			in.WriteString(l.event())
		}
		said := run(t, classifier(t, Options{}), in.String())
		if e := said[len(said)-1]; e.Classification != want {
			t.Errorf("%q is %s %v, want %s", text, e.Classification, e.Reasons, want)
		}
	}
}
