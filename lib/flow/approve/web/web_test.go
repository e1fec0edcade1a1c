package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		word, field, value, want, said string
	}{
		{"approve", "", "", "offer tri-dispatch, approve ana", "Approved; it is posted in 10s"},
		{"edit", "text", "It is 6.\r\n", "offer tri-dispatch, edit ana", "with your text"},
		{"dismiss", "note", "asked twice", "offer tri-dispatch, dismiss ana", "Dismissed"},
		{"redo", "note", "look at the client", "offer tri-dispatch, redo ana", "investigated again"},
		{"answer", "note", "7", "offer tri-dispatch, answer ana", "your answer"},
		{"escalate", "", "", "offer tri-dispatch, escalate ana", "investigated in a long run"},
	} {
		t.Run(tt.word, func(t *testing.T) {
			x := newSite(t, nil)
			x.put("1", "where?", "It is 5.")
			c := x.enter()
			body := x.form(c, tt.word, tt.field, tt.value, "checked", decision.Sum("It is 6."))
			res := x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(page, tt.said) {
				t.Errorf("%v %.400s", res.Status, page)
			}
			if got := x.kinds(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			// A tab that has not heard of it says the same again: once is enough.
			res = x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := bodyOf(t, res); res.StatusCode != http.StatusConflict ||
				!strings.Contains(page, `role="alert"`) {
				t.Errorf("a second time: %v %.400s", res.Status, page)
			}
			if got := x.kinds(); got != tt.want {
				t.Errorf("a second time: %s", got)
			}
		})
	}
}

func TestUndo(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	with := func(r *http.Request) { r.AddCookie(c) }
	page := bodyOf(t, x.request("POST", "/decide", x.form(c, "approve"), with))
	if !strings.Contains(page, `value="undo"`) {
		t.Errorf("no undo in %s", page)
	}
	if res := x.request("POST", "/decide", x.form(c, "undo"), with); res.StatusCode != http.StatusOK ||
		!strings.HasSuffix(x.kinds(), "undo ana") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
}

// A draft that was replaced while the page was open is not approved unseen.
func TestStaleTab(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	body := x.form(c, "approve")
	x.put("1", "where?", "It is 6.")
	if res := x.request("POST", "/decide", body, func(r *http.Request) {
		r.AddCookie(c)
	}); res.StatusCode != http.StatusConflict || strings.Contains(x.kinds(), "approve") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
}

func TestNoApproverNoWord(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	x.s.guard.person = "eve"
	c := x.enter()
	page := bodyOf(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
	if !strings.Contains(page, "may not decide") {
		t.Error("the page does not say so")
	}
	res := x.request("POST", "/decide", x.form(c, "approve"), func(r *http.Request) { r.AddCookie(c) })
	if res.StatusCode != http.StatusConflict || strings.Contains(x.kinds(), "eve") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
	x.s.Gate.Policy = func() (decision.Policy, error) { // the list was changed meanwhile
		return decision.Policy{Approvers: []string{"eve"}}, nil
	}
	page = bodyOf(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
	if strings.Contains(page, "may not decide") {
		t.Error("an added approver is said not to be one")
	}
}

var element = regexp.MustCompile(`<[a-z]+[^>]*>`)

// Whatever came from outside changes nothing of the page but its text.
func TestHostileText(t *testing.T) {
	names, err := filepath.Glob("../../../../../shared/data/hostile/text/*")
	if err != nil || len(names) == 0 {
		t.Skip("no hostile texts here")
	}
	var controls strings.Builder
	for r := rune(0); r < 0xa0; r++ {
		controls.WriteRune(r)
	}
	texts := []string{controls.String(), `"><img src=x onerror=alert(1)>`,
		"</textarea><script>alert(1)</script>", "{{.Seal}}", "javascript:alert(1)"}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ToValidUTF8(string(b[:min(len(b), 20000)]), "?"))
	}
	plain := func(s string) []string {
		x := newSite(t, nil)
		x.put("1", s, s)
		c := x.enter()
		page := bodyOf(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
		for _, r := range page {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 ||
				r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%.40q: raw %U in the page", s, r)
			}
		}
		var names []string
		for _, e := range element.FindAllString(page, -1) {
			// a hostile draft has those
			if e != `<p class="problem">` && !strings.HasPrefix(e, `<span class="piece `) {
				names = append(names, strings.Fields(strings.Trim(e, "<>"))[0])
			}
		}
		return names
	}
	want := strings.Join(plain("text"), " ")
	for _, s := range texts {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if got := strings.Join(plain(s), " "); got != want {
			t.Errorf("%.60q: elements\n%s\nwant\n%s", s, got, want)
		}
	}
}

func TestManyDrafts(t *testing.T) {
	x := newSite(t, nil)
	for i := range 500 {
		x.put(fmt.Sprint(i), "where is the retry limit?", strings.Repeat("It is 5. ", 20))
	}
	c := x.enter()
	began := time.Now()
	page := bodyOf(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
	t.Logf("500 drafts: %v, %d bytes", time.Since(began), len(page))
	if n := strings.Count(page, "<li class=\"draft"); n != 500 {
		t.Errorf("%d rows", n)
	}
}

// TestTypedTextIsNotDropped: a yes to the draft beside a text that the person wrote posts
// neither, and the text is on the page that says so.
func TestTypedTextIsNotDropped(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	with := func(r *http.Request) { r.AddCookie(c) }
	res := x.request("POST", "/decide", x.form(c, "approve", "text", "It panics.\r\n"), with)
	page := bodyOf(t, res)
	if res.StatusCode != http.StatusConflict || x.kinds() != "offer tri-dispatch" {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
	for _, want := range []string{"you have written a text of your own", `<details id="editor" open>`,
		"It panics.</textarea>"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in %s", want, page)
		}
	}
	// The text that the page itself put there is not the person's own text.
	if res := x.request("POST", "/decide", x.form(c, "approve", "text", "It is 5.\r\n"),
		with); res.StatusCode != http.StatusOK {
		t.Errorf("%v %s", res.Status, bodyOf(t, res))
	}
}

// TestTypedTextOutlivesItsDraft: a page without scripts shows the text that came too late for its draft.
func TestTypedTextOutlivesItsDraft(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	form := x.form(c, "edit", "text", "It is <b>6.")
	x.put("1", "where?", "It is 7.")
	page := bodyOf(t, x.request("POST", "/decide", form, func(r *http.Request) { r.AddCookie(c) }))
	if !strings.Contains(page, "not done: ") || !strings.Contains(page, "<pre>It is &lt;b&gt;6.</pre>") {
		t.Error(page)
	}
}

// TestEditIsShownFirst: a typed text is posted by the second yes, after the page has shown what the
// evidence covers of exactly this text.
func TestEditIsShownFirst(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	with := func(r *http.Request) { r.AddCookie(c) }
	for _, checked := range []string{"", decision.Sum("It is 7 apples.")} {
		res := x.request("POST", "/decide",
			x.form(c, "edit", "text", "It is 6 apples.\r\n", "checked", checked), with)
		page := bodyOf(t, res)
		if res.StatusCode != http.StatusConflict || x.kinds() != "offer tri-dispatch" {
			t.Errorf("%v %s", res.Status, x.kinds())
		}
		for _, want := range []string{"not posted yet", "backed by nothing cited: It is 6 apples.",
			`name="checked" value="` + decision.Sum("It is 6 apples.") + `"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%q is not in %s", want, page)
			}
		}
	}
	res := x.request("POST", "/decide", x.form(c, "edit", "text", "It is 6 apples.\r\n", "checked",
		decision.Sum("It is 6 apples.")), with)
	rs, err := decision.Read(x.home)
	if err != nil || res.StatusCode != http.StatusOK || len(rs) != 2 {
		t.Fatal(err, res.Status, len(rs))
	}
	if r := rs[1]; r.Badge != "edited by ana, 0 of 1 sentence covered" || len(r.Sentences) != 1 {
		t.Errorf("recorded %q %+v", r.Badge, r.Sentences)
	}
}

func TestTypedText(t *testing.T) {
	for field, want := range map[string]string{"It is <U+202E>5.\r\n": "", " \n": "",
		"It is 6.": "It is 6."} {
		if got := typedText(field, "It is \u202e5.\n"); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
}

func TestFirstOfTwoWaits(t *testing.T) {
	x := newSite(t, nil)
	x.s.Gate.Config.Gate.Quorum = 2
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	page := bodyOf(t, x.request("POST", "/decide", x.form(c, "approve"), func(r *http.Request) {
		r.AddCookie(c)
	}))
	if !strings.Contains(page, "Approved: 1 of 2; waits for another approver.") ||
		!strings.Contains(page, "Take your approval back") {
		t.Error(page)
	}
	page = bodyOf(t, x.request("POST", "/decide", x.form(c, "undo"), func(r *http.Request) {
		r.AddCookie(c)
	}))
	if !strings.Contains(page, "Taken back") || strings.Contains(page, "said yes") {
		t.Error(page)
	}
}

// TestRendered: what a chat shows as code is shown as code, and every character of the
// draft is there.
func TestRendered(t *testing.T) {
	for _, tt := range []struct{ platform, draft, want string }{
		{"slack", "It is `5`.", "text:It is |mark:`|code:5|mark:`|text:."},
		{"slack", "See:\n```\na := 1\n```\nso.", "text:See:\n|mark:```|block:\na := 1\n|mark:```|text:\nso."},
		{"slack", "a `b", "text:a `b"},
		{"slack", "``` open", "text:``` open"},
		{"slack", "a `` b", "text:a `` b"},
		{"irc", "It is `5`.", "plain:It is `5`."},
		{"slack", "", ""},
	} {
		var got, joined []string
		for _, p := range rendered(tt.platform, tt.draft) {
			got, joined = append(got, p.Kind+":"+p.Text), append(joined, p.Text)
		}
		if strings.Join(got, "|") != tt.want || strings.Join(joined, "") != tt.draft {
			t.Errorf("%s %q: %q", tt.platform, tt.draft, got)
		}
	}
}
