package setup

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
)

func modelServer(t *testing.T, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestLocal asks servers that list models, and others that stand at the same ports.
func TestLocal(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer slow.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	good := modelServer(t,
		`{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b","object":"model"},{"id":"qwen3:8b"},{"id":"a\nb: c"},{"id":"\u001b[2J"},{"id":""}]}`)
	start := time.Now()
	found := Local(context.Background(), []Server{
		{Name: "slow", URL: slow.URL + "/v1"}, {Name: "gone", URL: gone.URL + "/v1"},
		{Name: "a page", URL: modelServer(t, "<html>hello</html>")},
		{Name: "another API", URL: modelServer(t, `{"data":[{"id":"x"}]}`)},
		{Name: "none loaded", URL: modelServer(t, `{"object":"list","data":[]}`)}, {Name: "good", URL: good},
	})
	if len(found) != 1 || found[0].Name != "good" || !slices.Equal(found[0].Models, []string{"qwen3:8b"}) {
		t.Errorf("%+v", found)
	}
	if took := time.Since(start); took > 20*localTime {
		t.Errorf("asking took %v", took)
	}
}

// TestOffer: a model that is there is offered, a person may take it, and the configuration has it as
// investigator and validator, at no cost.
func TestOffer(t *testing.T) {
	at := Around{Home: "/h", Dir: t.TempDir(), User: "ana", Servers: []Server{
		{Name: "Ollama", URL: "http://127.0.0.1:11434/v1", Models: []string{"qwen3:8b", "gemma3"}},
		{Name: "LM Studio", URL: "http://127.0.0.1:1234/v1", Models: []string{"phi"}},
	}}
	var out strings.Builder
	a := Answers{Platform: "local", LocalDir: "/c", Chats: []string{"x"}, Codebases: []string{"/src"},
		Approvers: []string{"ana"}, Language: "en"}
	if err := complete(&a, at, strings.NewReader("api\nllama\nphi\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "refute the drafts: Ollama (qwen3:8b, gemma3); LM Studio (phi)") ||
		!strings.Contains(out.String(), `"llama" is none of: qwen3:8b, gemma3, phi`) {
		t.Errorf("asked:\n%s", out.String())
	}
	_, c, err := render("/h/config.yaml", a)
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []config.Agent{c.Investigator, c.Validator} {
		if agent.Agent != "api" || agent.API != config.OpenAI || agent.Model != "phi" ||
			agent.BaseURL != "http://127.0.0.1:1234/v1" || agent.Prices == nil || agent.Prices.Input != 0 {
			t.Errorf("%+v", agent)
		}
	}
	unattended := Answers{}
	if err := complete(&unattended, at, nil, nil); err != nil || unattended.Agent != "search" ||
		unattended.Model != "" {
		t.Errorf("%+v, %v", unattended, err)
	}
	if err := complete(&Answers{Agent: "api"}, Around{Dir: t.TempDir()}, nil, nil); err == nil {
		t.Error("api was taken without a model")
	}
}
