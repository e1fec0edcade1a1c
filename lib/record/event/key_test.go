package event

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	for _, tt := range []struct{ platform, chat, thread, want string }{
		{"slack", "C1", "1700000000.000100", "slack._431.1700000000_2e000100"},
		{"local", "dev", "142", "local.dev.142"},
		{"", "", "", ".."},
		{"irc", "#a-b", "-x", "irc._23a-b._2dx"},
	} {
		if got := Key(tt.platform, tt.chat, tt.thread); got != tt.want {
			t.Errorf("Key(%q, %q, %q) = %q, want %q", tt.platform, tt.chat, tt.thread, got, tt.want)
		}
	}
}

func TestKeyTellsNeighboursApart(t *testing.T) {
	parts := []string{"", "a", "A", "b", "a.b", "a_b", "_61", "a\x00", "../../x", "a/b", "~",
		strings.Repeat("a", 300), strings.Repeat("a", 301), strings.Repeat("á", 100)}
	seen := map[string][3]string{}
	for _, p := range parts {
		for _, c := range parts {
			for _, th := range parts {
				key := Key(p, c, th)
				if old, dup := seen[key]; dup {
					t.Errorf("%q and %q share %q", old, [3]string{p, c, th}, key)
				}
				seen[key] = [3]string{p, c, th}
			}
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("slack", "C1", "1.2", "slack", "C1", "1_2")
	f.Add("a", "b.c", "d", "a.b", "c", "d")
	f.Fuzz(func(t *testing.T, p1, c1, t1, p2, c2, t2 string) {
		k1, k2 := Key(p1, c1, t1), Key(p2, c2, t2)
		if k1 == k2 && (p1 != p2 || c1 != c2 || t1 != t2) {
			t.Errorf("(%q %q %q) and (%q %q %q) share %q", p1, c1, t1, p2, c2, t2, k1)
		}
		if len(k1) > maxKey || !filepath.IsLocal(k1+".json") || strings.ContainsAny(k1, "/\\:\x00 ") ||
			k1 != strings.ToLower(k1) {
			t.Errorf("unsafe key %q", k1)
		}
	})
}

func TestParseRefusesCaseFolding(t *testing.T) {
	good := `{"platform":"slack","chat_id":"C1","message_id":"1","thread_id":null,"content":"x","sender":{"id":"a","type":"user"},"mentions":[]}`
	e, err := Parse([]byte(good))
	if err != nil || e.Key() != Key("slack", "C1", "1") {
		t.Fatalf("%v, %v", e, err)
	}
	for _, bad := range []string{
		strings.Replace(good, `"thread_id"`, `"THREAD_ID"`, 1),
		strings.Replace(good, `"content"`, `"Content":"y","content"`, 1),
		strings.Replace(good, `"chat_id":"C1"`, `"chat_id":""`, 1),
		strings.Replace(good, `"x"`, `7`, 1),
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

// TestParseReadsNamesExactly: nothing that encoding/json folds reaches the struct.
func TestParseReadsNamesExactly(t *testing.T) {
	good := `{"platform":"slack","chat_id":"C1","message_id":"1","content":"x","classification":"ack","sender":{"id":"a","type":"user"},"attachments":[{"name":"f"}],"mentions":[]}`
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"long s":          strings.Replace(good, `"classification"`, `"claſſification"`, 1),
		"long s, escaped": strings.Replace(good, `"classification"`, `"cla\u017f\u017fification"`, 1),
		"both": strings.Replace(good, `"classification":"ack"`,
			`"classification":"ack","claſſification":"ambient"`, 1),
		"Kelvin":              strings.Replace(good, `"mentions"`, `"permalin\u212a":"x","mentions"`, 1),
		"case in sender":      strings.Replace(good, `"id":"a"`, `"id":"a","ID":"b"`, 1),
		"double in sender":    strings.Replace(good, `"id":"a"`, `"id":"a","id":"b"`, 1),
		"case in attachments": strings.Replace(good, `"name":"f"`, `"Name":"f"`, 1),
	} {
		if bad == good {
			t.Fatal(name)
		}
		if e, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s: accepted: %+v", name, e)
		}
	}
	if e, err := Parse([]byte(strings.Replace(good, `"mentions"`, `"X-Sender":1,"größe":{"ID":1},"mentions"`,
		1))); err != nil || e.Sender.ID != "a" {
		t.Errorf("a field of others: %v", err)
	}
}
