package classify

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/event"
)

var update = flag.Bool("update", false, "write the judgements anew: read the difference")

const judgements = "testdata/judgements"

// TestJudgements: what is meant to make the filter faster changes no judgement and
// no reason. Every text of the tuned halves, what may stand around a text, and
// rooms in which all goes criss-cross, are judged as they were, and for the same
// words and points; -update after a change that means to judge otherwise.
func TestJudgements(t *testing.T) {
	var got bytes.Buffer
	plain := classifier(t, Options{})
	for _, text := range texts(t) {
		e := run(t, plain, says(text))[0]
		fmt.Fprintf(&got, "%s\t%s\t%.120q\n", said(e), feeds(plain).feed(t, says(text)).madeOf(), text)
	}
	for _, o := range []Options{
		{Config: config.Classifier{BotID: "u6"}},
		{Config: config.Classifier{BotID: "tri", OtherBots: "classify"},
			Team: config.Team{Helpers: []string{"u0", "u1"}}},
		{Team: config.Team{Members: []string{"u0", "u1", "u2"}}},
	} {
		fmt.Fprintf(&got, "\nbot %s, helpers %v, members %v\n", o.Config.BotID, o.Team.Helpers,
			o.Team.Members)
		lines := append(chatter(150, 200), criss()...)
		var in strings.Builder
		for _, l := range lines {
			in.WriteString(l.event())
		}
		c := classifier(t, o)
		st := feeds(c)
		for i, e := range run(t, c, in.String()) {
			fmt.Fprintf(&got, "%s\t%s\t%s %q\n", said(e), st.feed(t, lines[i].event()).madeOf(),
				lines[i].from, lines[i].text)
		}
	}
	characters(t, plain, &got)
	if *update {
		if err := os.WriteFile(judgements, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(judgements)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("judgement %d is\n%s, was\n%s", i+1, line, want[min(i, len(want)-1)])
		}
	}
}

// characters tells what each one makes of a word and of another, in ranges of those
// that make the same.
func characters(t *testing.T, c *Classifier, got *bytes.Buffer) {
	var in strings.Builder
	var all []rune
	for r := rune(1); r < 0x20000; r++ {
		if r < 0x3400 || 0x4dc0 <= r && r < 0x4e10 || 0x9ff0 <= r && r < 0xac10 ||
			0xd790 <= r && r < 0xd800 || 0xe000 <= r && r < 0xe010 || 0xf8f0 <= r && r < 0x10010 ||
			0x1f000 <= r && r < 0x1fb00 {
			all = append(all, r)
			// a room each
			in.WriteString(strings.Replace(says(fmt.Sprintf("ok%cis it", r)), `"dev"`,
				fmt.Sprintf(`"%x"`, r), 1))
		}
	}
	fmt.Fprintln(got)
	last, from := "", rune(0)
	for i, e := range run(t, c, in.String()) {
		if what := said(e); what != last {
			if last != "" {
				fmt.Fprintf(got, "%U-%U %s\n", from, all[i-1], last)
			}
			last, from = what, all[i]
		}
	}
	fmt.Fprintf(got, "%U-%U %s\n", from, all[len(all)-1], last)
}

func said(e event.Classified) string {
	flags := []byte("-----")
	for i, set := range []bool{e.IsBotMention, e.IsQuestion, e.IsAckOrEmoji, e.IsInternalChatter,
		e.MentionsThreadWithInflight} {
		if set {
			flags[i] = "mqaci"[i]
		}
	}
	return fmt.Sprintf("%s %s %.2f %s %s", e.Classification, flags, e.ClassifierConfidence, e.Lang,
		strings.Join(e.Reasons, ","))
}

// texts are those of the tuned halves, and some with what people put around them.
func texts(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/languages/*.tuned.tsv")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d languages, %v", len(files), err)
	}
	for _, file := range append(files, "testdata/english/tuned.tsv") {
		for _, s := range samples(t, file) {
			all = append(all, s.text)
		}
	}
	for _, text := range []string{
		"why is it down", "thanks", "ok bob", "how do I restart it?", "it fails with error 42",
		"did you try to restart it", "i will look later", "yes",
		"lol", "you should run make clean", "i have installed the new one", "maybe it is full?", "right",
		"it works now, thank you", "hello all",
		"なぜ動かないのですか", "terima kasih rani", "为什么不行", "can you", "please",
	} {
		for _, around := range []string{
			"%s", "%s?", "%s!", "%s...", "%s ??", "%s :)", "%s 👍", "%s?!", "  %s  ", "> %s",
			"> quoted why?\n%s", "`%s`", "```\n%s\n```", "see `why?` %s", "bob: %s", "@bob, %s", "bob %s",
			"<@U1> %s", "%s https://x.test/why?a=1", "https://x.test/%[1]s", "*%s", "%s*", "!%s", "(%s)",
			"1. %s", "- %s", "well, %s", "hi, %s", "hey bob, %s", "ok, %s", "%s, right?",
			"%s and so on and so forth until it is no short text any more", "%s\nwhat now", "so\n\n%s",
			"%s 12345", "“%s”", "%s :+1:", "i wonder %s", "no idea. %s", "%s. thanks", "%s yet",
			"\u200d%s\ufe0f", "é́%s",
		} {
			all = append(all, fmt.Sprintf(around, text))
		}
	}
	all = append(all, "", " ", "?", "??", "!", ":+1:", "👍👍", "👨‍👩‍👧", "...", "@bob", "bob:", "bob", "`x",
		"```", "<@U1>", "http://", "a://b", "1", "+1", "-1", "’s", "e\u0301",
		"چرا کار نمی\u200cکند", "یہ کیوں نہیں چلتا", "لماذا لا يعمل", "чому це не працює",
		"почему это не работает", "неші рет", "зошто не работи", "је ли то тачно",
		"build deploy 失敗", "the build 失敗しました", "测试", "测试不行了吗", "東京", "가나다", "ทำไม", "क्यों", "मला मदत करा",
		"don’t know why", "don't", "l’erreur est là", "où est l'erreur",
		"why "+strings.Repeat("word ", 7000), strings.Repeat("word ", 7000)+"why",
		"x"+strings.Repeat("y", 300)+" why", strings.Repeat("y", 300), "WHY IS IT DOWN", "Why Is It Down",
		"w h y", "why_not", "why-not", "a/b/c", "C:\\why", "/why", "#why", "~why", "why\u00a0not",
		"me@x.test why", "why.", "why,", "why;", "wow", "w?h?y", "is it? no", "no? is it", "is it? it is",
		"\"why\"", "'why'", "«why»", "¿por qué no?", "¿por qué no", "why？", "为什么？", "好的。", "ok。", "ok、",
		"<why>", "<https://x.test|why>", "<#C1|why>", "<!here> why", ":why:", ":why: is it", "why :(", ";)",
		"xD", "<3", "^^", "¯\\_(ツ)_/¯", "1?", "$?", "a == b ? c : d", "if (x) return;", "> why\n>> not\nthat",
		"~~why~~", "_why_", "**why**",
		strings.Repeat("ok ", 15), strings.Repeat("thanks ", 12), strings.Repeat("👍", 29),
		strings.Repeat("👍", 30), strings.Repeat("a", 29)+" ok", "why "+strings.Repeat("so ", 400))
	return all
}

// criss is a room with threads, answers, promises and remarks across each other.
func criss() (lines []utterance) {
	now := int64(1_700_100_000)
	for i, row := range strings.Split(strings.TrimSpace(crissText), "\n") {
		who, text, _ := strings.Cut(row, " ")
		now += 10 + int64(i%7)*40
		l := utterance{seq: 1_000_000 + int64(i)*300, at: now, id: fmt.Sprint("x", i), from: who, text: text}
		if rest, ok := strings.CutPrefix(l.text, "#"); ok {
			l.thread, l.text, _ = strings.Cut(rest, " ")
			l.inferred = i%2 == 0
		}
		if name, _, ok := strings.Cut(l.text, ": "); ok && !strings.Contains(name, " ") {
			l.to = []string{name}
		}
		lines = append(lines, l)
	}
	return lines
}

const crissText = `
u0 good morning
u3 my build fails since today
u0 u3: what does it say?
u3 u0: it says no space left
u3 i have 3 GB free though
u1 u3: did you look at the inodes?
u4 is there a way to see who changed a file?
u3 u1: how do i do that?
u1 u3: df -i
u4 git blame, found it
u3 that was it, thanks u1
u0 u4: git blame
u5 hi, i am new here, where do i begin?
u0 u5: the wiki
u5 thanks
u5 and who can give me access?
u1 u5: i will ask
u1 u5: you have it now
u5 great
u6 is it down for you too?
u2 u6: no
u2 works here
u6 hm
u6 it still does not work for me
u6 any idea?
u2 u6: try another browser
u6 u2: same there
u3 lol
u3 u4: lunch?
u4 u3: sure
u0 deploy in five minutes
u1 u0: ok
u0 deployed, please tell me if something breaks
u6 it works now
u6 thank you all
u4 why does the test hang?
u4 never mind
u3 #x35 because of the lock
u4 #x35 which lock?
u3 #x35 the one in main.go
u4 #x35 thanks!
u2 #x39 are you sure?
u5 u1: could you also add bob?
u1 u5: done
u5 u1: and ann?
u1 later
u2 the new release is out: https://x.test/r
u3 nice
u4 u2: does it have the fix?
u2 u4: yes, and the other one
u6 what about the docs?
u0 i'll write them
u6 u0: when?
u0 u6: tomorrow maybe
u4 it crashes again
u4 segfault in the parser
u3 u4: show me the log
u4 u3: https://x.test/log
u3 u4: which version is that?
u4 u3: 1.2
u3 u4: update to 1.3
u4 u3: ok
u4 u3: solved, thanks
u5 can someone review my patch?
u1 u5: looking
u5 u1: no hurry
u1 u5: why did you remove the check?
u5 u1: it was never true
u1 u5: fine
u9 hello, does anybody know how to reset the password?
u9 anyone?
u0 u9: there is a link below the form
u9 u0: i don't see it
u0 u9: scroll down
u9 u0: ah, there
u9 thank you so much
`
