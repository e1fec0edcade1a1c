package cmd_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
)

// TestPage opens the page of tri-approve web by the address that it prints and approves a draft on
// it; requests without that address or from another page are refused.
func TestPage(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Replace("config.yaml",
		[]byte("team: {approvers: [ana]}\ngate: {web: {listen: '127.0.0.1:0'}}\n")); err != nil {
		t.Fatal(err)
	}
	waitingDraft(t, h, "It is <b>5</b>.")
	address, end := serve(t, h)
	at, token, _ := strings.Cut(address, "/?token=")
	if res, body := get(t, http.DefaultClient, at+"/"); res.StatusCode != http.StatusForbidden ||
		strings.Contains(body, "It is") {
		t.Errorf("without the token: %s", res.Status)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	res, list := get(t, browser, at+"/?token="+token)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("with the token: %s", res.Status)
	}
	folder := strings.TrimSuffix(res.Request.URL.String(), "/")
	if res, body := get(t, browser, at+"/"); res.StatusCode != http.StatusForbidden ||
		strings.Contains(body, "It is") {
		t.Errorf("with the cookie alone: %s", res.Status)
	}
	_, item := get(t, browser, folder+regexp.MustCompile(`/item/[^"]+`).FindString(list))
	if !strings.Contains(item, "It is &lt;b&gt;5&lt;/b&gt;.") {
		t.Errorf("the draft is not on its page: %s", item)
	}
	form := url.Values{"word": {"approve"}}
	for _, name := range []string{"seal", "id", "sha"} {
		if m := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(item); m != nil {
			form.Set(name, m[1])
		}
	}
	for _, from := range []string{"http://evil.test", at} {
		req, err := http.NewRequest(http.MethodPost, folder+"/decide", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", from)
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if ok := res.StatusCode < 400; ok != (from == at) {
			t.Errorf("from %s: %s", from, res.Status)
		}
	}
	end()
	rs, err := decision.Read(h)
	if err != nil || len(rs) != 2 || rs[1].Kind != decision.Approve || rs[1].By != "ana" ||
		rs[1].Via != "web" {
		t.Errorf("%+v, %v", rs, err)
	}
}

// serve starts the page; end stops it and checks that it ends in order.
func serve(t *testing.T, h *durable.Home) (address string, end func()) {
	cmd := exec.Command("tri-approve", "web", "--home", h.Dir(), "--as", "ana")
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test has failed before
	lines := bufio.NewReader(out)
	for address == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		address = regexp.MustCompile(`http://\S+`).FindString(line)
	}
	return address, func() {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, lines) // until it has ended
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func get(t *testing.T, c *http.Client, at string) (*http.Response, string) {
	t.Helper()
	res, err := c.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}
