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
		{"escalate", "", "", "offer tri-dispatch, escalate ana", "looked into for longer"},
	} {
		t.Run(tt.word, func(t *testing.T) {
			x := newSite(t, nil)
			x.put("1", "where?", "It is 5.")
			c := x.enter()
			body := x.form(c, tt.word, tt.field, tt.value)
			res := x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(page, tt.said) {
				t.Errorf("%v %.400s", res.Status, page)
			}
			if got := x.kinds(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			// A tab that has not heard of it says the same again: once is enough.
			res = x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := bodyOf(t, res); res.StatusCode != http.StatusConflict || !strings.Contains(page, `role="alert"`) {
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
	if res := x.request("POST", "/decide", x.form(c, "undo"), with); res.StatusCode != http.StatusOK || !strings.HasSuffix(x.kinds(), "undo ana") {
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
	if res := x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) }); res.StatusCode != http.StatusConflict || strings.Contains(x.kinds(), "approve") {
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
	texts := []string{controls.String(), `"><img src=x onerror=alert(1)>`, "</textarea><script>alert(1)</script>", "{{.Seal}}", "javascript:alert(1)"}
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
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%.40q: raw %U in the page", s, r)
			}
		}
		var names []string
		for _, e := range element.FindAllString(page, -1) {
			if e != `<p class="problem">` { // a hostile draft has those
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
