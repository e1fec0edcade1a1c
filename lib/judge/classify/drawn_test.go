package classify

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/ndjson"
)

const drawnRows = "testdata/drawn"

// TestDrawn: rooms and texts that are drawn by lot are judged as they were, and of
// the same signs. They go where no real room goes: everybody speaks across each
// other, and time and place stand on the bounds of the rules or one beyond. The
// file has a letter for each message, which says six bits of all that was made of
// it; what differs is told whole. -update as in TestJudgements.
func TestDrawn(t *testing.T) {
	var rows []drawing
	for i := range 280 {
		rows = append(rows, drawTalk(t, uint64(i)))
	}
	rows = append(rows, drawTexts(t)...)
	if *update {
		var out bytes.Buffer
		for _, row := range rows {
			fmt.Fprintf(&out, "%s\t%s\n", row.name, row.letters())
		}
		if err := os.WriteFile(drawnRows, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(drawnRows)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(want) != len(rows) {
		t.Fatalf("%d rows are drawn, %s has %d", len(rows), drawnRows, len(want))
	}
	for i, row := range rows {
		name, letters, _ := strings.Cut(want[i], "\t")
		if got := row.letters(); row.name != name || got != letters {
			t.Errorf("row %d: %s", i+1, row.differs(name, letters))
		}
		if i > 5 && t.Failed() {
			t.Fatal("and maybe more")
		}
	}
}

// feeder judges lines as a stage does.
type feeder struct {
	*state
	scan ndjson.Scanner
	e    Event
}

func feeds(c *Classifier) *feeder { return &feeder{state: c.state()} }

func (f *feeder) feed(t *testing.T, line string) made {
	t.Helper()
	text := []byte(strings.TrimSuffix(line, "\n"))
	if err := f.scan.Scan(text); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	rec := ndjson.Record{Bytes: text, Members: f.scan.Members, Seq: -1}
	for _, m := range f.scan.Members {
		if string(m.Key) == "seq" {
			var err error
			if rec.Seq, err = strconv.ParseInt(string(m.Value), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Prepare(rec, &f.e); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	f.place(&f.e)
	return makes(&f.e, f.state)
}

// The parts of messages in drawn rooms: openings, middles and endings.
var (
	drawnHeads = []string{"", "", "", "", "", "", "hi, ", "hello all, ", "ok, ", "thanks, ", "well ",
		"maybe ", "no, ", "yes ", "lol ", "*", "!", "good morning ", "so "}
	drawnSays = []string{
		"why is the build red", "how do i restart it", "is it down for you too",
		"does anyone know where the log is", "can you send me the log", "could you also add it",
		"which version do you use",
		"my build fails since today", "it does not work for me", "i'm getting a timeout when i deploy",
		"it crashes again", "the server is down", "it says error 42", "i have 3 GB free though",
		"i get a segfault",
		"did you restart it", "what does it say", "are you sure", "have you tried another browser",
		"show me the log", "try another browser", "you should run make clean", "update to 1.3",
		"you need to set the flag",
		"thanks", "thank you so much", "thanks a lot bob", "that was it", "it works now",
		"never mind, found it", "solved", "got it", "great", "ok", "ok bob", "yes", "no", "sure", "right",
		"lol", "hm", "nice", "cool", "indeed", "yes please", "no idea",
		"i will look later", "will do", "i'll ask", "let me check", "later", "one moment", "brb",
		"hi", "hello", "good morning", "hi, i am new here", "hey bob",
		"i am new here and i want to learn how this works before i begin",
		"lunch at noon", "the new release is out", "deploy in five minutes", "i wrote the docs yesterday",
		"i have installed the new one", "it is in the wiki", "git blame", "same here", "we use two of them",
		"there is a link below the form",
		"maybe it is full", "perhaps the disk", "bob", "?", "👍", "👍👍", ":)", "...", "", "`x`", "x", "1.2",
		"anyone", "the lock",
	}
	drawnMore = []string{"", "", "", "", "", " and then", " in main.go on the other machine",
		" since i changed the file of the one that you wrote",
		" but not for them, it was there and so were we and all of us and nobody saw it",
		" and so on and so on until it is as long as it gets and nobody reads it any more, which is not what one wants and not what one gets and that is all"}
	drawnTails = []string{"", "", "", "", "", "?", "?", "?", "!", " :)", " https://x.test/a", " `x`",
		", right?", ", thanks", " please", " 👍", "...", " i think", "??", " it fails", "*", " (why?)"}
	drawnNames = []string{"ann", "bob", "cyd", "dan", "eve", "fay", "gus", "al"}
	// Seconds, at and around the bounds of the rules.
	drawnSteps = []int64{0, 1, 10, 20, 30, 59, 60, 61, 90, 119, 120, 121, 179, 180, 181, 239, 240, 241, 299,
		300, 301, 599, 600, 601, 1200, 2399, 2400, 2401, 10799, 10800, 10801, 86399, 86400, 86401,
		-1, -60, -86401}
	// Bytes, at and around the bounds of the folds.
	drawnPlaces = []int64{1, 200, 40_000, generation / 4, generation - 1, generation, generation + 1,
		2*generation - 1, 2 * generation, 2*generation + 1, 3 * generation, -500}
)

func pick[T any](rnd *rand.Rand, of []T) T { return of[rnd.IntN(len(of))] }

// drawTalk is a talk in one room, or in two.
func drawTalk(t *testing.T, seed uint64) drawing {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 11))
	o := Options{Config: config.Classifier{BotID: "tri", BotIDs: []string{"tre"}}}
	name := fmt.Sprintf("talk %d", seed)
	kind := seed % 8
	switch kind {
	case 1:
		o.Team.Helpers = []string{"ann", "bob"}
		name += " helpers"
	case 2:
		o.Team.Members = []string{"ann", "bob", "cyd"}
		name += " members"
	case 3:
		o.Config.OtherBots = "classify"
		name += " bots"
	default:
		kind = 0
	}
	threads := 0 // of ten messages
	switch seed % 5 {
	case 0:
		threads = 5
	case 1:
		threads = 1
	}
	c := drawnClassifier(t, o, kind)
	st := feeds(c)
	d := drawing{name: name}
	r := &drawnRoom{rnd: rnd, now: 1_700_000_000 + int64(rnd.IntN(1000)),
		people: drawnNames[:2+rnd.IntN(len(drawnNames)-1)], threads: threads,
		quick: 2 + rnd.IntN(12), far: seed%7 == 3}
	for i := range 20 + rnd.IntN(3)*40 {
		line := r.next(i)
		d.made = append(d.made, st.feed(t, line))
		d.said = append(d.said, line)
	}
	return d
}

var drawnClassifiers [5]*Classifier

func drawnClassifier(t *testing.T, o Options, kind uint64) *Classifier {
	if drawnClassifiers[kind] == nil {
		drawnClassifiers[kind] = classifier(t, o)
	}
	return drawnClassifiers[kind]
}

// drawnRoom draws one message after another.
type drawnRoom struct {
	rnd     *rand.Rand
	now, at int64
	people  []string
	threads int
	quick   int  // how many messages come soon, for one that comes on a bound
	far     bool // places are on bounds too
	last    string
	to      string // whom the last one spoke to
}

func (r *drawnRoom) next(i int) string {
	rnd := r.rnd
	if rnd.IntN(r.quick) == 0 {
		r.now += pick(rnd, drawnSteps)
	} else {
		r.now += 5 * int64(rnd.IntN(13))
	}
	r.at += 200
	if r.far && rnd.IntN(4) == 0 {
		r.at = max(0, r.at-200+pick(rnd, drawnPlaces))
		if rnd.IntN(6) == 0 {
			r.at = r.at / generation * generation
		}
	}
	from := pick(rnd, r.people)
	if r.to != "" && rnd.IntN(2) == 0 {
		from = r.to // who was spoken to answers
	}
	to, text := "", pick(rnd, drawnHeads)+pick(rnd, drawnSays)+pick(rnd, drawnMore)+pick(rnd, drawnTails)
	if rnd.IntN(3) == 0 {
		text = pick(rnd, drawnSays)
	}
	mentions := ""
	switch n := rnd.IntN(20); {
	case n < 6:
		to = pick(rnd, r.people)
		if r.last != "" && r.last != from && rnd.IntN(2) == 0 {
			to = r.last
		}
		text, mentions = to+": "+text, fmt.Sprintf("%q", to)
	case n < 8:
		to = pick(rnd, r.people)
		text = to + pick(rnd, []string{", ", " ", ": "}) + text
	case n == 8:
		to = pick(rnd, r.people)
		mentions = fmt.Sprintf("%q,%q", to, pick(rnd, r.people))
	case n == 9 && rnd.IntN(2) == 0:
		mentions = `"tri"`
	}
	r.last, r.to = from, to
	more := ""
	switch rnd.IntN(60) {
	case 0:
		more = `,"deleted":true`
	case 1:
		from = "tre"
	case 2, 3:
		more = `,"kind":"edit"`
	}
	kind := "user"
	if rnd.IntN(40) == 0 {
		kind = "bot"
	}
	thread := "null"
	if rnd.IntN(10) < r.threads || rnd.IntN(30) == 0 {
		thread = fmt.Sprintf("%q", fmt.Sprint(max(0, i-rnd.IntN(12))))
		if rnd.IntN(3) == 0 {
			more += `,"thread_inferred":"near"`
		}
	}
	chat := "c"
	if rnd.IntN(25) == 0 {
		chat = "d"
	}
	return fmt.Sprintf(`{"seq":%d,"platform":"p","chat_id":%q,"message_id":"%d","create_time":%q,"content":%s,"thread_id":%s,"sender":{"id":%q,"type":%q},"mentions":[%s]%s}`+"\n",
		r.at, chat, i, time.Unix(r.now, 0).UTC().Format(time.RFC3339), ndjson.AppendString(nil, text), thread,
		from, kind, mentions, more)
}

// drawTexts are texts of words of all languages, with signs between them.
func drawTexts(t *testing.T) (rows []drawing) {
	t.Helper()
	files, err := filepath.Glob("testdata/languages/*.tuned.tsv")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d languages, %v", len(files), err)
	}
	files = append(files, "testdata/english/tuned.tsv")
	words := make([][]string, len(files))
	for i, file := range files {
		for _, s := range samples(t, file) {
			words[i] = append(words[i], strings.Fields(s.text)...)
		}
	}
	for i := range files {
		rnd := rand.New(rand.NewPCG(uint64(i), 12))
		d := drawing{name: "texts " + strings.TrimSuffix(filepath.Base(files[i]), ".tuned.tsv")}
		st := feeds(drawnClassifier(t, Options{}, 4))
		for j := range 300 {
			// a room each
			line := strings.Replace(says(drawText(rnd, words[i])), `"dev"`, fmt.Sprintf(`"%d"`, j), 1)
			d.made, d.said = append(d.made, st.feed(t, line)), append(d.said, line)
		}
		rows = append(rows, d)
	}
	return append(rows, drawMarks(t))
}

// drawMarks are texts of hardly more than what is no letter.
func drawMarks(t *testing.T) drawing {
	rnd := rand.New(rand.NewPCG(0, 13))
	d := drawing{name: "texts of marks"}
	st := feeds(drawnClassifier(t, Options{}, 4))
	for j := range 3000 {
		var b strings.Builder
		for range 1 + rnd.IntN(9) {
			b.WriteString(pick(rnd, drawnMarks))
		}
		line := strings.Replace(says(b.String()), `"dev"`, fmt.Sprintf(`"%d"`, j), 1)
		d.made, d.said = append(d.made, st.feed(t, line)), append(d.said, line)
	}
	return d
}

var drawnMarks = append(append(strings.Split("::==^<>>>>@`*_-+().!?;,{}[]#$%&\\|/'\"~  \n\n", ""),
	strings.Split("oDdpPO3)1U", "")...), "؟", "⁇", "⁈", "⁉", "⸮", "፧", "﹖", "❓", "❔",
	"。", "．", "！", "；", "¡", "؛", "۔", "।", "։", "，", "、", "،", "՞", "γ", "hm?", "why", "is", "ok", "thanks",
	"not", "```", "\n>", "<@", "<#", "<:", "<a:", "<!", "<3", ":)", ":o)", ":-)", ":'(",
	":ok:", "://", "\t", "？", "¿", "’", "é", "行", "吗", "の", "ไ", "나요", "ㅠㅠ", "ㅋ", "👍", "…", "\u200d",
	"ooookay", "pleaseee", "whyyy", "OK", "Why", "it", "?;", "+1", "-1", "2")

var drawnSigns = []string{" ", " ", " ", " ", " ", " ", " ", " ", " ", ", ", ". ", "? ", "! ", ": ", "; ",
	" - ", "-", "/", "'", "’", "\n", "\n> ", "\n>", " (", ") ", " \"", "\" ", "`", " ` ", "```", " <", "> ",
	"<@U1> ", "<#C1|x> ", "<:a:1> ",
	"@", "#", "*", "_", "=", "&", "%", "$", "^", "^^", "\\", "|", "{", "}", "[", "]", " :) ", ":-)", " ;) ",
	" :+1: ", " +1 ", " -1 ", "+", " 1 ", "42", "?", "??", "?!", "?;", "?=", "?*", "？", "。", "、", "！", "…",
	"...", " 👍 ", "👍", "❤️", "\u200d", "\u200c", "\u00a0", "\ufe0f",
	" https://x.test/why?a=1 ", " http://", "a://b ", " x.test ", " me@x.test ", " <3 ", " >.> ", " o/ ", "~",
	" e\u0301", " É", " Ü", " ı", "ß", "ﬁ", "Ａ", "é", "\t", "   "}

func drawText(rnd *rand.Rand, words []string) string {
	var b strings.Builder
	common := drawnSigns[:9]
	for range rnd.IntN(4) * rnd.IntN(8) {
		b.WriteString(pick(rnd, words))
		if rnd.IntN(3) == 0 {
			b.WriteString(pick(rnd, drawnSigns))
		} else {
			b.WriteString(pick(rnd, common))
		}
	}
	if rnd.IntN(6) > 0 {
		i := rnd.IntN(len(words))
		b.WriteString(strings.Join(words[i:min(len(words), i+1+rnd.IntN(5))], " "))
	}
	if rnd.IntN(2) == 0 {
		b.WriteString(pick(rnd, drawnSigns))
	}
	if rnd.IntN(20) == 0 {
		return strings.ToUpper(b.String())
	}
	return b.String()
}
