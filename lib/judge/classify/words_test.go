package classify

import (
	"strings"
	"testing"
)

// wordCases are messages with the expected class and reason.
var wordCases = []struct{ text, class, reasons string }{
	// Questions, with and without a mark.
	{"where is the retry limit?", "actionable", "question:ends-with-mark question:word:where is"},
	{"where is the retry limit", "actionable", "question:word:where is"},
	{"not below /etc/?", "actionable", "question:ends-with-mark"},
	{"WHERE IS IT", "actionable", "question:word:where is"},
	{"anyone know why the build fails", "actionable", "question:word:anyone know"},
	{"need help with webhooks", "actionable", "question:word:need help"},
	{"can this be set per user? thanks in advance", "actionable",
		"question:mark-inside question:word:can * be"},
	{"it broke again ?!?", "actionable", "question:ends-with-mark"},
	{"the build is red? :)", "actionable", "question:ends-with-mark"},
	{"bob: can i use v2 yet", "actionable", "question:word:can * use"},
	{"@bob can i use v2 yet", "actionable", "question:word:can * use"},
	{"bob can i use v2 yet", "actionable", "question:word:can * use"},
	{"karl, could you look", "actionable", "question:word:could you"},
	{"hi all, so what's the limit", "actionable", "question:word:what's"},
	{"hey what’s the limit", "actionable", "question:word:what's"},
	{"the deploy failed. how do we roll back", "actionable", "question:word:how do we"},
	{"see https://x.test/a?b=c is it down?", "actionable", "question:ends-with-mark question:word:is * down"},
	{"> old question\nwhat is new", "actionable", "question:word:what is"},
	{"which version should i use", "actionable", "question:word:which * should"},
	{"is redis down", "actionable", "question:word:is * down"},
	{"deployed?", "actionable", "question:ends-with-mark"},
	{"is the sandbox behind for anyone else, or just me", "actionable", "question:word:is the"},
	{"who broke staging", "actionable", "question:word:who *"},
	{"<@U1> could the export carry a timezone", "actionable", "question:word:could the"},
	{"hey does stripe support sepa", "actionable", "question:word:does * support"},
	{"retries on the gateway, do we log them or drop them", "actionable", "question:word:do we"},
	{"ok which bucket holds the exports", "actionable", "question:word:which * holds"},
	{"who knows how to rotate the key", "actionable", "question:word:who knows how"},
	// Other languages.
	{"ini efek rilis atau memang lagi naik", "actionable", "question:word:ini * * atau"},
	{"refund dihitung sebelum atau sesudah fee", "actionable", "question:word:sebelum atau sesudah"},
	{"bisa pakai v2 sekarang", "actionable", "question:word:bisa *"},
	{"メモリは落ちていませんよね", "actionable", "question:word:よね"},
	{"weiß jemand wo die logs liegen", "actionable", "question:word:weiß jemand"},
	{"quelqu'un sait où sont les logs", "actionable", "question:word:quelqu'un sait"},
	{"alguém sabe onde ficam os logs", "actionable", "question:word:alguém sabe"},
	{"подскажите, где логи", "actionable", "question:word:подскажите"},
	{"로그가 어디에 있나요", "actionable", "question:word:어디에"},
	{"có ai biết log nằm ở đâu", "actionable", "question:word:có ai biết"},
	{"gimana cara deploy ke staging", "actionable", "question:word:gimana"},
	{"kenapa build gagal terus", "actionable", "question:word:kenapa"},
	{"alguien sabe por qué falla", "actionable", "question:word:alguien sabe"},
	{"ok 为什么坏了", "actionable", "question:word:为什么"},
	{"这个可以用吗", "actionable", "question:word:吗"},
	{"这个可以用？", "actionable", "question:ends-with-mark"},
	{"どうやって設定しますか。", "actionable", "question:word:どうやって"},
	{"ok γιατί?", "actionable", "question:ends-with-mark"},
	// Marks and words that ask nothing.
	{"https://x.test/search?q=1", "ambient", "nothing-asked"},
	{"https://x.test/search?", "ambient", "nothing-asked"},
	{"rename it to `a ? b : c`", "ambient", "nothing-asked"},
	{"a glob like foo?bar works there", "ambient", "nothing-asked"},
	{"?", "ambient", "nothing-asked"},
	{"hi all, how are you?", "ambient", "no-question:small-talk"},
	{"apa kabar?", "ambient", "no-question:small-talk"},
	{"really?", "ambient", "no-question:small-talk"},
	{"> why is it broken?", "ambient", "nothing-asked"},
	{"when i restart it, it works", "ambient", "nothing-asked"},
	{"i know what you mean, it is slow", "ambient", "nothing-asked"},
	{"there is a new release", "ambient", "nothing-asked"},
	{"the fix is in main.go now", "ambient", "nothing-asked"},
	{"ok γιατί", "ambient", "nothing-asked"},
	{"is what I said", "ambient", "nothing-asked"},
	{"what a day", "ambient", "nothing-asked"},
	{"how nice of you", "ambient", "nothing-asked"},
	{"which is fine", "ambient", "nothing-asked"},
	{"when it is done we ship", "ambient", "nothing-asked"},
	{"if it works we ship", "ambient", "nothing-asked"},
	{"what i meant is the other one", "ambient", "nothing-asked"},
	{"can do tomorrow", "ambient", "nothing-asked"},
	{"will do it tomorrow", "ambient", "later"},
	{"did that, still red", "ambient", "nothing-asked"},
	{"ada tiket baru dari toko", "ambient", "nothing-asked"},
	{"bisa, tapi besok", "ambient", "nothing-asked"},
	{"looks fine, one question about the lock inline", "ambient", "nothing-asked"},
	{"and is installed but slow", "ambient", "nothing-asked"},
	{"can also be cached", "ambient", "nothing-asked"},
	// Acknowledgements.
	{"thanks tom!", "ack", "ack:words"},
	{"tom, thanks", "ack", "ack:words"},
	{"saved, thanks", "ack", "ack:words"},
	{"super, thanks kenji", "ack", "ack:words"},
	{"thanks for sharing", "ack", "ack:words"},
	{"terima kasih rani", "ack", "ack:words"},
	{"ありがとう yuki!", "ack", "ack:words"},
	{"thx @ana", "ack", "ack:words"},
	{"merci paul", "ack", "ack:words"},
	{"danke lena", "ack", "ack:words"},
	{"obrigado rui", "ack", "ack:words"},
	{"спасибо", "ack", "ack:words"},
	{"감사합니다", "ack", "ack:words"},
	{"cảm ơn nhé", "ack", "ack:words"},
	{"who knows", "ack", "ack:words"},
	{"will do", "ack", "ack:words"},
	{"そうですよね", "ack", "ack:words"},
	{"ok", "ack", "ack:words"},
	{"OK!", "ack", "ack:words"},
	{"ok?", "ack", "no-question:small-talk ack:words"},
	{"lgtm", "ack", "ack:words"},
	{"+1", "ack", "ack:words"},
	{"ok thanks 👍", "ack", "ack:words"},
	{"bob: thanks a lot!", "ack", "ack:words"},
	{"thanks @bob", "ack", "ack:words"},
	{"sama-sama kak", "ack", "ack:words"},
	{"好的，谢谢", "ack", "ack:words"},
	{"了解です", "ack", "ack:words"},
	{"👍", "ack", "ack:emoji"},
	{"👩‍👩‍👧‍👦👍🏽🇮🇩❤️", "ack", "ack:emoji"},
	{strings.Repeat("👩‍👩‍👧‍👦", 29), "ack", "ack:emoji"},
	{":thumbsup: :+1:", "ack", "ack:emoji"},
	{"<:party:123>", "ack", "ack:emoji"},
	{":-)", "ack", "ack:emoji"},
	{"...", "ack", "ack:emoji"},
	// What only looks like one.
	{strings.Repeat("👍", 30), "ambient", "nothing-asked"},
	{"ok ok ok ok ok ok ok ok ok ok ok ok", "ambient", "nothing-asked"},
	{"ok tom", "ambient", "nothing-asked"},
	{"thanks 42", "ambient", "nothing-asked"},
	{"thanks not", "ambient", "nothing-asked"},
	{"ok it broke", "ambient", "nothing-asked"},
	{"ok https://x.test/", "ambient", "nothing-asked"},
	{"@bob", "ambient", "nothing-asked"},
	{"42", "ambient", "nothing-asked"},
	{"}", "ambient", "nothing-asked"},
	{"bob: run it with /? on the end", "ambient", "nothing-asked"},
	{"bob: put RewriteRule ^x(/.*)?$ in front", "ambient", "nothing-asked"},
	{"", "ambient", "nothing-asked"},
}

func TestWords(t *testing.T) {
	c := classifier(t, Options{})
	for _, tt := range wordCases {
		e := run(t, c, says(tt.text))[0]
		if got := strings.Join(e.Reasons, " "); e.Classification != tt.class || got != tt.reasons {
			t.Errorf("%q: %s (%s), want %s (%s)", tt.text, e.Classification, got, tt.class, tt.reasons)
		}
		if e.Classification == "actionable" != e.IsQuestion {
			t.Errorf("%q: is_question %v", tt.text, e.IsQuestion)
		}
		if e.ClassifierConfidence <= 0 || e.ClassifierConfidence > 1 ||
			e.ClassifiedAt != "2026-01-02T12:00:00Z" {
			t.Errorf("%q: confidence %v at %s", tt.text, e.ClassifierConfidence, e.ClassifiedAt)
		}
	}
}

func TestLang(t *testing.T) {
	c := classifier(t, Options{})
	for text, want := range map[string]string{
		"where is the retry limit": "en", "gimana cara deploy ke staging": "id",
		"no sé cómo hacer esto": "es",
		"这个可以用":                 "zh", "設定しますか": "ja", "좋아요 감사합니다": "ko",
		"das ist noch nicht auf dem Server": "de",
		"je ne sais pas pour le serveur":    "fr", "isso não está certo": "pt",
		"это не для меня": "ru", "mình đã được": "vi", "xyzzy": "", "👍": "",
	} {
		if e := run(t, c, says(text))[0]; e.Lang != want {
			t.Errorf("%q: %q, want %q", text, e.Lang, want)
		}
	}
}
