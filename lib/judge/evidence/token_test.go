package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"the limit is three":                                           "",
		"`MaxRetries` is 3 (see lib/retry.go:6)":                       "name:MaxRetries number:3",
		"maxRetries, MAX_TRIES and retry.Limit() but JSON":             "name:maxRetries name:MAX_TRIES name:retry.Limit",
		"pass --dry-run or set $TRI_HOME":                              "flag:--dry-run flag:$TRI_HOME",
		"in lib/retry.go, read/write and/or n/a":                       "path:lib/retry.go",
		"waits 30s, 1_000 or 1,000 times, 50%":                         "number:30s number:1_000 number:1,000 number:50%",
		"1. first\n2) second 7":                                        "number:7",
		"on line 12 and lines 14-16, in 3 places, the 2nd":             "",
		"GitHub, PostgreSQL and OAuth on macOS":                        "",
		"see https://x.test/a/b_c":                                     "",
		"`retry limit = 4`":                                            "name:retry name:limit number:4",
		"```go\nconst X_Y = 5\n```":                                    "name:X_Y number:5",
		"utf8 and sha256, e.g. v2":                                     "name:sha256",
		"SCRAM-SHA-256-PLUS and nothing else":                          "name:SCRAM-SHA-256-PLUS",
		"a 30-second pause, localhost:8080, status:404, 5xx and utf-8": "number:30-second number:8080 number:404",
		"Makefile:12, lib/x.go:3-4 and a/b#L7-L9":                      "",
		"batasnya 3 kali, lihat `MaxRetries`":                          "name:MaxRetries number:3",
		"重试次数是 3，见 `MaxRetries`":                                       "name:MaxRetries number:3",
	} {
		var got []string
		for _, tok := range Tokens(in) {
			got = append(got, tok.Kind+":"+tok.Text)
		}
		if !sameSet(got, strings.Fields(want)) {
			t.Errorf("%q:\n got %v\nwant %v", in, got, want)
		}
	}
}

func sameSet(a, b []string) bool {
	seen := map[string]int{}
	for _, s := range a {
		seen[s]++
	}
	for _, s := range b {
		seen[s]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestTokenIn(t *testing.T) {
	for _, c := range []struct {
		tok  Token
		text string
		want bool
	}{
		{Token{Name, "MaxRetries"}, "const MaxRetries = 3", true},
		{Token{Name, "MaxRetries"}, "const MaxRetriesAll = 3", false},
		{Token{Name, "retry.Limit"}, "package retry\nconst Limit = 3", true},
		{Token{Name, "retry.Limit"}, "const Limit = 3", false},
		{Token{Name, "Retry-After"}, "headers['retry-after']", true},
		{Token{Name, "Retry-After"}, "error.retryAfter", true},
		{Token{Name, "Retry-After"}, "error.retryAfterAll", false},
		{Token{Name, "SCRAM-SHA-256"}, `mech == "SCRAM-SHA-256"`, true},
		{Token{Name, "SCRAM-SHA-256-PLUS"}, `mech == "SCRAM-SHA-256"`, false},
		{Token{Name, "unix+ws"}, "protocol === 'ws+unix:'", false},
		{Token{Number, "a fifth of a second"}, "200 * time.Millisecond", true},
		{Token{Number, "a fifth of a second"}, "500 * time.Millisecond", false},
		{Token{Number, "one second"}, "in the same second", true},
		{Token{Number, "one second"}, "30 * time.Second", false},
		{Token{Number, "8"}, "8 * 1024", false},
		{Token{Number, "3"}, "= 3", true},
		{Token{Number, "3"}, "= 30", false},
		{Token{Number, "3"}, "= 0.3", false},
		{Token{Number, "3"}, "three tries", true},
		{Token{Number, "30s"}, "30 * time.Second", true},
		{Token{Number, "1,000"}, "1_000", true},
		{Token{Number, "1000"}, "limit 1,000", true},
		{Token{Number, "256"}, "sha256", false},
		{Token{Number, "10"}, "0x10", true},
		{Token{Path, "./lib/retry.go"}, "see lib/retry.go", true},
		{Token{Flag, "--dry-run"}, "[--dry-run]", true},
		{Token{Flag, "--dry"}, "[--dry-run]", false},
		{Token{Flag, "--dry-run"}, `flag.Bool("dry-run", false, "")`, true},
		{Token{Flag, "--dry-run"}, "parser.dry_run", true},
		{Token{Flag, "--limit"}, "var limit int", false},
		{Token{Flag, "$APP_PORT"}, `os.Getenv("APP_PORT")`, true},
		{Token{Flag, "$APP_PORT"}, "APP_PORTS", false},
		{Token{Name, "Clients"}, "type Client struct", true},
		{Token{Name, "SHA-256"}, "sha256.New()", true},
		{Token{Name, "SHA-512"}, "sha256.New()", false},
		{Token{Name, "Client.Do"}, "func (c *Client) Do(", true},
		{Token{Name, "3f1c9d0"}, "commit 3f1c9d0b7a5e4c2d8f6a", true},
		{Token{Number, "60s"}, "time.Minute", true},
		{Token{Number, "30 seconds"}, "30 * time.Second", true},
		{Token{Number, "30 minutes"}, "30 * time.Second", false},
		{Token{Number, "1 KB"}, "1<<10", true},
		{Token{Number, "1 MB"}, "1<<10", false},
		{Token{Number, "50%"}, "ratio = 0.5", true},
		{Token{Number, "0.5"}, "50%", true},
		{Token{Number, "1000000"}, "1_000_000", true},
		{Token{Number, "0600"}, "0o600", true},
		{Token{Number, "0644"}, "0o600", false},
		{Token{Number, "1.2.0"}, "v1.2", true},
		{Token{Number, "v1.3"}, "v1.2.0", false},
		{Token{Number, "5000"}, "5 * time.Second", false},
		{Token{Number, "5 s"}, "timeoutMs: 5000", true},
		{Token{Number, "90 minutes"}, "1h30m", true},
		{Token{Number, "10k"}, "10_000", true},
		{Token{Number, "2 weeks"}, "14 * 24 * time.Hour", true},
	} {
		if got := c.tok.In(c.text); got != c.want {
			t.Errorf("%v in %q: %v", c.tok, c.text, got)
		}
	}
}

func TestCitations(t *testing.T) {
	got := Citations("man/tri.1:8 see lib/x.go:12 and ./a/b.go#L3-L5, Makefile:7; lines 20-22. http://h.test/x.go:9 localhost:80 10:30 10.0.0.1:8080")
	want := []Place{{"man/tri.1", 8, 8}, {"lib/x.go", 12, 12}, {"a/b.go", 3, 5}, {"Makefile", 7, 7},
		{"", 20, 20}, {"", 22, 22}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestProseCitations: the ways in which people name lines.
func TestProseCitations(t *testing.T) {
	for text, want := range map[string]string{
		"see L99":                "99",
		"at line 120":            "120",
		"the 120th line":         "120",
		"lines 3 to 9":           "3 9",
		"on line forty-two":      "42",
		"the third line":         "3",
		"line number 7":          "7",
		"line １２":                "12",
		"baris 12 sampai 14":     "12 14",
		"120行目を参照":               "120",
		"第 12 行":                 "12",
		"lines 5, 6 and 7":       "5 6 7",
		"the online 3 of us":     "",
		"XL5 and HTML5 and L":    "",
		"a deadline of 5 counts": "",
	} {
		var got []string
		for _, p := range Citations(text) {
			got = append(got, fmt.Sprint(p.Start))
		}
		if !sameSet(got, strings.Fields(want)) {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

// TestLookalikes: a name or a path with letters of another alphabet is found nowhere.
func TestLookalikes(t *testing.T) {
	for text, want := range map[string]string{
		"it is in clіent.go":       "clіent.go",
		"see MaxRеtries there":     "MaxRеtries",
		"ＭaxRetries decides":       "ＭaxRetries",
		"API-ключ и web-сервер":    "",
		"Goのclient.goにある":          "",
		"30 µs later, π is Greek":  "",
		"重试次数 MaxRetries":          "MaxRetries",
		"функция в файле работает": "",
	} {
		got := ""
		for _, tok := range Tokens(text) {
			if tok.Kind == Name && (mixed(tok.Text) || tok.Text == "MaxRetries") {
				got = tok.Text
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, Tokens(text))
		}
	}
}

// FuzzContrary: no text breaks the comparison, and a verbatim quote never contradicts itself.
func FuzzContrary(f *testing.F) {
	f.Add("Sessions never expire after 30 minutes.",
		"// Sessions expire after 30 seconds, not before.\nif n < 12 {\nreturn errShort\n}")
	f.Add("half an hour and a half of 1h30m, 0x1F << 99", "time.Second * 5 // days\n`a` **b** 1_000 9e999")
	f.Add("ａ３ ４行目", "\xff\xfe %% 5 %")
	f.Fuzz(func(t *testing.T, claim, text string) {
		if len(claim)+len(text) > 4000 {
			t.Skip()
		}
		e := FromLines("a.go", split([]byte(text)), 1)
		_ = FromText("the claim", claim).Contrary(e, FromText("it", text))
		for _, q := range append(quantities(claim, false), spelled(claim)...) {
			if q.end > len(claim) && q.end > len(strings.ToLower(claim)) || q.at > q.end {
				t.Fatalf("%q: %+v", claim, q)
			}
			if len(q.values) > 0 && q.values[0] == q.values[0] && !q.same(q) {
				t.Fatalf("%q is not itself: %+v", q.text, q)
			}
		}
		for _, tok := range Tokens(claim) {
			_ = e.Where(tok)
		}
		for _, p := range Citations(claim) {
			if p.Start < 1 {
				t.Fatalf("%q: %+v", claim, p)
			}
		}
	})
}

func FuzzTokens(f *testing.F) {
	f.Add("`a b` c_d 3 --x lib/x.go:3 ```y```")
	f.Fuzz(func(t *testing.T, s string) {
		for _, tok := range Tokens(s) {
			if tok.Text == "" || tok.Kind == "" {
				t.Fatalf("%q: %v", s, tok)
			}
			_ = tok.In(s)
			_ = fmt.Sprint(find(split([]byte(s)), tok.Text))
		}
	})
}

// TestReadings: what code writes in another form than a claim is not called absent.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		line, names string
		in          bool
	}{
		{"maxFails = 12 // failed looks: about half an hour", "half a day", false},
		{"if code < 300 {", "299", true}, {"if code >= 300 {", "299", true}, {"if code < 300 {", "301", false},
		{"if code <= 300 {", "301", true}, {"if n > 4 {", "5", true}, {"if n > 4 {", "3", false},
		{"n = 300", "299", false}, {"n <- 300", "299", false}, {"f := func(n int) => 300", "301", false},
		{"return http.StatusNotImplemented", "501", true}, {"return http.StatusNotImplemented", "500", false},
		{"return NewClientErr(err)", "`ClientErr`", true}, {"return FatalClientErr(err)", "`ClientErr`", false},
	} {
		lines := FromLines("a.go", []string{c.line}, 1)
		for _, tok := range Tokens(c.names) {
			if got := lines.Where(tok) != ""; got != c.in {
				t.Errorf("%s in %q: %v", c.names, c.line, got)
			}
		}
	}
	if all := Tokens("status 0, then 2 of 17"); len(all) != 1 || all[0].Text != "17" {
		t.Errorf("%v", all)
	}
	if all := passages([]string{"*t = TLSRequired", " * it is read", " */"}, 1); !all[0].code || all[1].code {
		t.Errorf("%+v", all)
	}
	for text, n := range map[string]int{"false is TLSNotRequired": 0, "it is not required": 1, "再試行する": 0,
		"再試行しません": 1} {
		s := newSentence(text, 0, false)
		if got := s.negations(); len(got) != n {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestNumberIsNoName: a number that lines and a claim share, with words of any program beside it, does not
// make the lines be about the claim.
func TestNumberIsNoName(t *testing.T) {
	lines := []*Text{FromLines("check.js",
		[]string{"if (!(error.statusCode >= 400)) {", "  error.statusCode = 400"}, 1)}
	for claim, want := range map[string]bool{
		"A stream error keeps a numeric status of 400 or more, otherwise it gets 400.": false,
		"An error whose `statusCode` is below 400 gets the status 400.":                true,
	} {
		if c := FromText("the claim", claim).Cover(lines, nil); c.About != want {
			t.Errorf("%q: %s", claim, c)
		}
	}
}
