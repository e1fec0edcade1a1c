package discord

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNames: what a text names need not be there. It must not keep the text from being read.
func TestNames(t *testing.T) {
	status := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":50035,"message":"Invalid Form Body"}`))
	}))
	defer srv.Close()
	for _, status = range []int{400, 403, 404} {
		c, err := New(Options{URL: srv.URL, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		const said = "<#123456789012345678> <#99999999999999999999> <#9223372036854775808>"
		if got, err := c.readable(t.Context(), said, nil, "1"); got != said || err != nil {
			t.Errorf("%d: %q, %v", status, got, err)
		}
	}
	for id, want := range map[string]bool{"0": true, "9223372036854775807": true, "9223372036854775808": false,
		"-1": false, "+1": false, "": false, "1_0": false, "x": false, " 1": false} {
		if validID(id) != want {
			t.Error(fmt.Sprintf("%q is", id), !want)
		}
	}
}
