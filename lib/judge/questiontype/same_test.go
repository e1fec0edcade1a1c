package questiontype

import (
	"strings"
	"testing"
)

func TestSameQuestion(t *testing.T) {
	const asked = "How often does the gateway retry a failed payment?"
	for _, same := range []string{
		asked,
		"how often does the gateway retry a failed payment",
		"Hi team, how often does the gateway retry a failed payment??",
		"<@U07BOT> could you tell me how often the gateway retries", // other words
		"@tri: How often does gateway retry failed payment, please?",
		"Hello! Quick question: how often does the gateway retry a `failed` payment?",
	} {
		a, ok1 := Words(asked)
		b, ok2 := Words(same)
		if want := !strings.HasPrefix(same, "<@"); (a == b) != want || !ok1 || !ok2 {
			t.Errorf("%q: %q and %q", same, a, b)
		}
	}
	for _, other := range []string{
		"How often does the gateway not retry a failed payment?",
		"How often doesn't the gateway retry a failed payment?",
		"How often does the gateway retry a failed payment 3 times?",
		"How often does the gateway retry a failed payout?",
		"How often does the gateway retry a failed payments?",
		"How often does the payment retry a failed gateway?",
		"How often does the gateway-2 retry a failed payment?",
		"How often did the gateway retry a failed payment?",
		"Why does the gateway retry a failed payment?",
		"How often does the gateway retry a failed payment in staging?",
		"How often does the gateway retry an unfailed payment?",
		"How seldom does the gateway retry a failed payment?",
		"How often does the gateway retry a failed payment? And a refund?",
		"How often do the gateways retry a failed payment?",
	} {
		a, _ := Words(asked)
		if b, _ := Words(other); a == b {
			t.Errorf("%q is taken for %q", other, asked)
		}
	}
	for _, pair := range [][2]string{
		{"Is the limit 100 or 1000?", "Is the limit 1000 or 100?"},
		{"What does Martin's service export?", "What does Marvin's service export?"},
		{"What does --dry-run do in deploy?", "What does -dry-run do in deploy?"},
		{"Which calls use HTTP/1 here?", "Which calls use HTTP/2 here?"},
		{"Can the worker lose jobs on restart?", "Can't the worker lose jobs on restart?"},
		{"What does _run do in deploy?", "What does run do in deploy?"},
		{"What does __init__ do in deploy?", "What does init do in deploy?"},
		{"What is in *args of deploy?", "What is in args of deploy?"},
		{"What is in *args of deploy?", "What is in **args of deploy?"},
		{"What does save! do in deploy?", "What does save do in deploy?"},
		{"What does empty? do in deploy?", "What does empty do in deploy?"},
		{"Does the cache expire < 5 minutes?", "Does the cache expire > 5 minutes?"},
		{"What does v1.2 of parser do?", "What does v12 of parser do?"},
		{"Why is retry enabled by default?", "Why is retry disabled by default?"},
		{"ゲートウェイは支払いを再試行しますか？", "ゲートウェイは支払いを再試行しませんか？"},
	} {
		a, _ := Words(pair[0])
		b, _ := Words(pair[1])
		if a == b && a != "" {
			t.Errorf("%q is taken for %q", pair[1], pair[0])
		}
	}
	for _, loose := range []string{
		"why does it fail?", "what does this function return here?", "Why is my account locked?",
		"how many orders failed today?",
		"why does the deploy fail now! really", "why?", "", "what changed in the latest release?", "why is the build still red?",
		"kenapa ini gagal terus?", "これはなぜ失敗しますか", "how?", "is it?", "can anyone help?",
		"what is on the attached picture?",
	} {
		if words, ok := Words(loose); ok {
			t.Errorf("%q says what is asked: %q", loose, words)
		}
	}
	for _, firm := range []string{asked, "What is MAX_RETRIES for?", "ゲートウェイは支払いを何回再試行しますか？",
		"apa fungsi retry limit di gateway?"} {
		if _, ok := Words(firm); !ok {
			t.Errorf("%q does not say what is asked", firm)
		}
	}
}
