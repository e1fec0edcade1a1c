package classify

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
)

// TestPacksAreNormal checks that the built-in packs meet the lexicon's assumptions and initial capacities.
func TestPacksAreNormal(t *testing.T) {
	packs, err := loadPacks(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(packs) < 14 {
		t.Errorf("%d packs", len(packs))
	}
	for _, p := range packs {
		if !bytes.Equal(normal(p.text), p.text) {
			t.Errorf("%s is not in the form that normal gives", p.path)
		}
	}
	l, err := newLexicon(packs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.words) > roomWords || len(l.nodes) > roomNodes {
		t.Errorf("%d words, %d nodes; there is room for %d and %d", len(l.words), len(l.nodes),
			roomWords, roomNodes)
	}
}

func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTeamPacks(t *testing.T) {
	dir := folder(t,
		"README", "no pack",
		"de.txt", "# ours\n[anywhere]\nhaste mal\n[ack]\nläuft bei dir\n",
		"fr.txt", "# ours alone\n\n[replace]\n[thanks]\nmerci\n",
		"nl.txt", "[anywhere]\nweet iemand\nIemand die\n[thanks]\nbedankt/dankjewel\n[common]\nhet een ik jij\n",
		"km.txt", "[end]\nទេ\n",
		"tr.txt", "[anywhere]\nnasıl\n[end]\nmı/mi\n")
	c := classifier(t, Options{Config: config.Classifier{PacksDir: dir}})
	for text, want := range map[string]string{
		"haste mal den Link":              "question:word:haste mal",
		"läuft bei dir":                   "ack:words",
		"weiß jemand wo die logs sind":    "question:word:weiß jemand",
		"weet iemand waar de logs staan":  "question:word:weet iemand",
		"iemand die dit kent":             "question:word:iemand die",
		"dankjewel":                       "ack:words",
		"merci":                           "ack:words",
		"quelqu'un sait où sont les logs": "nothing-asked",
		"អាចប្រើបានទេ":                    "question:word:ទេ",
		"NASIL KURULUR":                   "question:word:nasil",
		"bu çalışıyor mu, çalışmıyor mı":  "question:word:mi",
	} {
		if e := run(t, c, says(text))[0]; strings.Join(e.Reasons, " ") != want {
			t.Errorf("%q: %v, want %s", text, e.Reasons, want)
		}
	}
	if e := run(t, c, says("ik heb het gezien"))[0]; e.Lang != "nl" {
		t.Errorf("lang %q, want nl", e.Lang)
	}
	plain := classifier(t, Options{})
	if same := classifier(t,
		Options{Config: config.Classifier{PacksDir: folder(t)}}); same.version != plain.version {
		t.Error("an empty folder changes the version")
	}
	if c.version == plain.version {
		t.Error("packs do not change the version")
	}
	only := classifier(t, Options{Config: config.Classifier{PacksDir: dir, Languages: []string{"nl"}}})
	if e := run(t, only, says("anyone know why"))[0]; e.IsQuestion {
		t.Error("a language that is not in use asked")
	}
}

func TestFaultyTeamPacks(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"de.txt", "[anywhere]\nx\n[wherever]\n", `de.txt:3: no section "wherever"`},
		{"de.txt", "x\n", "de.txt:1: stands before the first section"},
		{"de.txt", "[ack]\n[replace]\n", `de.txt:2: no section "replace"`},
		{"de.txt", "[ack]\n-nya\n", "de.txt:2: the end of a word"},
		{"th.txt", "[anywhere]\nทำไม ครับ\n", "th.txt:2: has a space"},
		{"de.txt", "[anywhere]\n" + strings.Repeat("a/b ", 20), "de.txt:2: stands for too many phrases"},
		{"de.txt", "[ack]\n\xff\xfe\n", "de.txt:2: is not UTF-8"},
		{"de.txt", "[ack]\n" + strings.Repeat("word ", 4000), "de.txt:2: is too long"},
		{"de.txt", strings.Repeat("#\n", maxPack), "is longer than 1048576 bytes"},
		{"german.txt", "[ack]\nx\n", "is not named after a language"},
		{"../x", "", ""},
	} {
		dir := filepath.Join(t.TempDir(), "none")
		if tt.want != "" {
			dir = folder(t, tt.file, tt.text)
		}
		_, err := New(Options{Config: config.Classifier{PacksDir: dir}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\xff") {
			t.Errorf("%.40q: %v, want %s", tt.text, err, tt.want)
		}
	}
	many := make([]string, 0, 80)
	for i := range 40 {
		many = append(many, "x"+string(rune('a'+i%26))+string(rune('a'+i/26))+".txt", "[ack]\nx\n")
	}
	if _, err := New(Options{Config: config.Classifier{PacksDir: folder(t, many...)}}); err == nil ||
		!strings.Contains(err.Error(), "languages, at most 32") {
		t.Errorf("too many languages: %v", err)
	}
}

func TestPackOutsideItsFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "de.txt")); err != nil {
		t.Skip(err)
	}
	if _, err := New(Options{Config: config.Classifier{PacksDir: dir}}); err == nil {
		t.Error("a link led out of the folder")
	}
}

// TestWriting is one thing written in several ways.
func TestWriting(t *testing.T) {
	c := classifier(t, Options{})
	for text, want := range map[string]string{
		"làm sao để tắt":           "question:word:làm sao",      // NFD
		"lam sao de tat":           "question:word:lam sao",      // no accents
		"ＨＯＷ ＤＯ Ｉ reset it":        "question:word:how do i",     // full width
		"ﾅｾﾞ 落ちる":                  "nothing-asked",              // half width, of no phrase
		"ﾄﾞｳﾔｯﾃ":                   "nothing-asked",              // katakana for hiragana
		"다시 되나요":                   "question:word:되나요",          // jamo
		"다시 되나요ㅠㅠ":                 "question:word:되나요",          // crying behind it
		"كَيْفَ أُغَيِّر المفتاح":  "question:word:كيف",          // vowel signs
		"كيــــف أغير المفتاح":     "question:word:كيف",          // drawn out
		"ﻛﻴﻒ أغير":                 "question:word:كيف",          // forms by place in the word
		"हां जी":                   "ack:words",                  // anusvara for chandrabindu
		"ज़रूर":                    "ack:words",                  // nukta as one letter
		"ทําไมช้า":                 "question:word:ทำไม",         // am in two
		"ไฟไหม้แล้ว":               "nothing-asked",              // ไหม in another word
		"เกี่ยวกับระบบ":            "nothing-asked",              // กี่ in another word
		"makasiiihhh":              "nothing-asked",              // drawn out inside
		"makasihhhh":               "ack:words",                  // and at its end
		"Oooookay":                 "ack:words",                  // and at its beginning
		"I'm sorry":                "ack:words",                  // a phrase of three spellings
		">.> .":                    "ack:emoji",                  // a face, no quote
		"^^^":                      "nothing-asked",              // refers to an earlier message
		"how are you doing?":       "no-question:small-talk",     // no tag
		"ЧТО ДЕЛАТЬ":               "question:word:что делать",   // capitals
		"πού είναι το log;":        "question:ends-with-mark",    // Greek
		"first; then":              "nothing-asked",              // not Greek
		"ինչպե՞ս անել":             "question:mark-inside",       // Armenian
		"هل هذا صحيح":              "question:word:هل",           // no mark
		"؟":                        "nothing-asked",              // nothing before it
		"¿funciona ya":             "question:mark-inside",       // opened only
		"it works❓":                "question:ends-with-mark",    // as an emoji
		"什么都没有":                    "nothing-asked",              // told
		"好几天没用":                    "nothing-asked",              // told
		"いつも使っています":                "nothing-asked",              // told
		"静かですよ":                    "nothing-asked",              // か that does not end
		"ada yang tau ga":          "question:word:ada yang tau", // chat spelling
		"ไม่เป็นไรครับ":            "ack:words",                  // ไร in another word
		"ขอบคุณครับผม":             "ack:words",                  // particles
		"\u202eكيف أغير":           "question:word:كيف",          // a mark of direction
		"क्\u200dया हुआ":           "question:word:क्या",         // a joiner inside
		"kya yeh fix ho gaya":      "question:word:kya",          // Latin letters
		"pas de souci":             "ack:words",                  // told wins nothing here
		"comment on the PR please": "nothing-asked",              // English, not French
		"we use ai":                "nothing-asked",              // English, not Vietnamese
		"that was funny ha":        "nothing-asked",              // nor this
	} {
		if e := run(t, c, says(text))[0]; strings.Join(e.Reasons, " ") != want {
			t.Errorf("%q: %v, want %s", text, e.Reasons, want)
		}
	}
}
