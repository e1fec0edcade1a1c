package questiontype

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"tri/lib/judge/pattern"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct{ text, kind, reason string }{
		{"is staging down?", StatusCheck, "status:is-it-down"},
		{"Is the payments API slow right now, or is it just me?", StatusCheck, "status:is-it-down"},
		{"has the retry fix been merged yet?", StatusCheck, "status:is-it-done"},
		{"any update on the migration?", StatusCheck, "status:any-news"},
		{"when will 2.3 be released", StatusCheck, "status:when-live"},
		{"what's the status of PR 1423?", StatusCheck, "status:status-of"},
		{"is it possible to set this up?", Technical, "technical:asks"},
		{"why is staging down?", Technical, "technical:why"},
		{"how do I know whether it is deployed?", Technical, "technical:how-to"},
		{"what does /v1/orders return when the card is declined?", APIContract, "contract:returns"},
		{"which fields are required in the webhook payload?", APIContract, "contract:which-fields"},
		{"is the `email` field nullable?", APIContract, "contract:field-optional"},
		{"How many plans can I attach to one product via the API?", APIContract, "contract:limit"},
		{"how many customers are on the old plan?", DataLookup, "data:how-many"},
		{"can you look up order 18231 please", DataLookup, "data:look-up"},
		{"what is the default timeout of the client?", DataLookup, "data:what-value"},
		{"anybody have any favourite talks so far?", Other, "other:opinion"},
		{"who is on call this week?", Other, "other:people"},
		{"can someone review my PR?", Other, "other:review-please"},
		{"what does `cargo verify-project` do?", Technical, "technical:asks"},

		{"staging udah live belum?", StatusCheck, "status:is-it-done.id"},
		{"fitur baru kapan rilis ya", StatusCheck, "status:when-live.id"},
		{"kenapa upload gagal?", Technical, "technical:why.id"},
		{"ada berapa user aktif bulan ini?", DataLookup, "data:how-many.id"},
		{"field apa yang wajib di endpoint ini?", APIContract, "contract:which-fields.id"},
		{"ステージングは落ちていますか？", StatusCheck, "status:is-it-down.ja"},
		{"修正はもうデプロイされましたか", StatusCheck, "status:is-it-done.ja"},
		{"なぜエラーになりますか", Technical, "technical:why.ja"},
		{"アクティブユーザーは何人ですか", DataLookup, "data:how-many.ja"},
		{"このAPIは何を返しますか？", APIContract, "contract:returns.ja"},
		{"测试环境挂了吗？", StatusCheck, "status:is-it-down.zh"},
		{"新版本上线了吗", StatusCheck, "status:is-it-done.zh"},
		{"为什么登录失败", Technical, "technical:why.zh"},
		{"现在有多少个用户？", DataLookup, "data:how-many.zh"},
		{"这个接口返回什么？", APIContract, "contract:returns.zh"},
		{"¿está caído el servidor?", StatusCheck, "status:is-it-down.es"},
		{"¿cuándo se publica la nueva versión?", StatusCheck, "status:when-live.es"},
		{"¿cuántos usuarios tenemos?", DataLookup, "data:how-many.es"},
		{"¿qué devuelve el endpoint de pagos?", APIContract, "contract:returns.es"},
		{"¿por qué falla el login?", Technical, "technical:why.es"},
		{"o site está fora do ar?", StatusCheck, "status:is-it-down.pt"},
		{"quantos clientes temos?", DataLookup, "data:how-many.pt"},
		{"o que o endpoint retorna?", APIContract, "contract:returns.pt"},
		{"por quê o login falha?", Technical, "technical:why.pt"},
		{"ist der Fix schon deployt?", StatusCheck, "status:is-it-done.de"},
		{"wie viele Kunden haben wir?", DataLookup, "data:how-many.de"},
		{"welche Felder sind Pflicht?", APIContract, "contract:which-fields.de"},
		{"warum schlägt der Build fehl?", Technical, "technical:why.de"},
		{"le correctif est déployé ?", StatusCheck, "status:is-it-done.fr"},
		{"combien de clients avons-nous ?", DataLookup, "data:how-many.fr"},
		{"quels champs sont obligatoires ?", APIContract, "contract:which-fields.fr"},
		{"pourquoi le build échoue ?", Technical, "technical:why.fr"},
	} {
		if k := Judge(tt.text, true); k.Type != tt.kind || k.Reason != tt.reason {
			t.Errorf("%s\n got %s by %s\nwant %s by %s", tt.text, k.Type, k.Reason, tt.kind, tt.reason)
		}
	}
}

func TestWhatAsksNothing(t *testing.T) {
	for _, tt := range []struct{ text, kind, reason string }{
		{"i keep getting this error in teamspeak", Technical, "technical:error"},
		{"`panic: nil map`", Technical, "technical:code"},
		{"our server takes forever since we enabled the html cache for it", Technical, "technical:tells"},
		{"hey bot", Other, "other:asks-nothing"},
		{"", Other, "other:asks-nothing"},
	} {
		if k := Judge(tt.text, false); k.Type != tt.kind || k.Reason != tt.reason {
			t.Errorf("%s: %s by %s, want %s by %s", tt.text, k.Type, k.Reason, tt.kind, tt.reason)
		}
	}
}

func TestMinutes(t *testing.T) {
	for _, tt := range []struct {
		text    string
		minutes float64
		because string
	}{
		{"is staging down?", 3, "status 3"},
		{"which package parses dates?", 3, "technical 5, where-is -2"},
		{"how do I set the port?", 5, "technical 5"},
		{"why does the upload fail?", 7, "technical 5, why +2"},
		{"why does checkout fail intermittently?", 11, "technical 5, why +2, intermittent +4"},
		{"what is the root cause of the slow queries since the upgrade?", 16,
			"technical 5, root-cause +5, performance +3, history +3"},
		{"kenapa upload kadang lambat sejak update?", 17,
			"technical 5, why.id +2, intermittent.id +4, performance.id +3, history.id +3"},
		{"why? what changed? who did it?", 9, "technical 5, why +2, several-questions +2"},
	} {
		k := Judge(tt.text, true)
		if got := strings.Join(k.Because, ", "); k.Minutes != tt.minutes || got != tt.because {
			t.Errorf("%s: %v (%s), want %v (%s)", tt.text, k.Minutes, got, tt.minutes, tt.because)
		}
	}
}

// TestQuotesAreNotAsked: quotes of others and pasted text decide nothing.
func TestQuotesAreNotAsked(t *testing.T) {
	k := Judge("> is staging down?\nhow do I restart it?\n```\nwhy is it slow\n```", true)
	if k.Reason != "technical:how-to" || !slices.Equal(k.Because, []string{"technical 5", "pasted +2"}) {
		t.Errorf("%+v", k)
	}
}

// TestRules reads the files once more: each has every section of types, and no
// rule matches a text that says nothing.
func TestRules(t *testing.T) {
	names, err := fs.Glob(files, "rules/*.txt")
	if err != nil || len(names) != 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := pattern.Set{}
		if err := set.Parse(name, string(b), sections); err != nil {
			t.Fatal(err)
		}
		for _, section := range slices.Sorted(maps.Keys(sections)) {
			seen := map[string]bool{}
			if len(set[section]) == 0 {
				t.Errorf("%s: nothing in [%s]", name, section)
			}
			for _, r := range set[section] {
				for _, empty := range []string{"", "ok", "hm, 42", "👍", "the cat sat on the mat", "。"} {
					if r.Match(empty) {
						t.Errorf("%s: [%s] %s matches %q", name, section, r.Name, empty)
					}
				}
				if seen[r.Name] {
					t.Errorf("%s: [%s] has two rules %s", name, section, r.Name)
				}
				seen[r.Name] = true
			}
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, file := range []string{"[nothing]", "[why]\nno colon", "[why]\nx +2: a", "[minutes]\nx: a",
		"[minutes]\nx +two: a", "[why]\nx: ("} {
		if err := (pattern.Set{}).Parse("rules/en.txt", file, sections); err == nil ||
			!strings.HasPrefix(err.Error(), "rules/en.txt:") {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("why is `x` down?\n> no\n```\ncode", true)
	f.Add(strings.Repeat("é", 10000), false)
	f.Fuzz(func(t *testing.T, text string, asks bool) {
		k := Judge(text, asks)
		if kinds[k.Type].short == "" || !strings.HasPrefix(k.Reason, kinds[k.Type].short+":") ||
			k.Minutes < 1 || k.Minutes > 60 || len(k.Because) == 0 {
			t.Errorf("%q: %+v", text, k)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	rules()
	for b.Loop() {
		Judge("why does checkout fail intermittently since the upgrade? we see 502s from the payments service and nothing in its logs", true)
	}
}
