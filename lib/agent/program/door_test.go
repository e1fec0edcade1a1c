package program

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tri/lib/agent"
	"tri/lib/agent/proc"
)

// A program gets a word for the key and a door for the endpoint. Through the door go
// requests to the model that have the word and no other key.
func TestDoor(t *testing.T) {
	const key = "sk-the-real-key"
	var got []string
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Api-Key")+
			r.Header.Get("Authorization")+r.Header.Get("Cookie"))
	}))
	defer upstream.Close()
	t.Setenv("A_KEY", key)
	t.Setenv("A_BASE", upstream.URL+"/base")
	t.Setenv("A_TOKEN", "another credential")
	p := fake(nil)
	p.Env, p.Models = []string{"A_KEY", "A_BASE", "A_TOKEN"},
		[]Model{{Key: "A_KEY", Header: XAPIKey, Base: "A_BASE"}}
	p.run = func(_ context.Context, s proc.Spec) (proc.Exit, error) {
		env := map[string]string{}
		for _, e := range s.Env {
			name, value, _ := strings.Cut(e, "=")
			env[name] = value
		}
		if slices.ContainsFunc(s.Env, func(e string) bool {
			return strings.Contains(e, key)
		}) || env["A_BASE"] == "" || len(s.Reach) != 1 {
			t.Errorf("environment %q, reach %q", s.Env, s.Reach)
		}
		word := env["A_KEY"]
		for _, tt := range []struct {
			method, path, header, value string
			status                      int
		}{
			{"POST", "/v1/messages?beta=true&key=" + word, "X-Api-Key", word, 200},
			{"POST", "/chat/completions", "Authorization", "Bearer " + word, 200},
			{"GET", "/v1beta/models/m:countTokens", "X-Goog-Api-Key", word, 200},
			{"POST", "/v1/messages", "X-Api-Key", key, 403},
			{"POST", "/v1/messages", "X-Api-Key", "sk-of-somebody-else", 403},
			{"POST", "/v1/messages?key=other", "X-Api-Key", word, 403},
			{"POST", "/v1/messages", "X", "none", 403},
			{"POST", "/v1/files", "X-Api-Key", word, 404}, {"DELETE", "/v1/messages", "X-Api-Key", word, 404},
			{"POST", "/v1/messages/../files", "X-Api-Key", word, 404},
			{"GET", "/v1/models/../files", "X-Api-Key", word, 404},
			{"GET", "/v1/models/m/%2e%2e/%2e%2e/files/f/content", "X-Api-Key", word, 404},
			{"GET", "/v1/models/m%2f..%2f..%2ffiles", "X-Api-Key", word, 404},
			{"POST", "/responses", "X-Api-Key", word, 403},
		} {
			body := "{}"
			if strings.Contains(tt.path, "models/") && tt.method == "GET" && tt.status == 404 {
				body = ""
			}
			if tt.path == "/responses" {
				body = `{"tools":[{"type":"web_search"}]}`
			}
			req, err := http.NewRequest(tt.method, env["A_BASE"]+tt.path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(tt.header, tt.value)
			req.Header.Set("Cookie", "session=1")
			if tt.value == "sk-of-somebody-else" {
				req.Header.Set("Authorization", "Bearer "+word) // beside the word
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode != tt.status || strings.Contains(string(said), key) {
				t.Errorf("%s %s with %s %s: %d %q", tt.method, tt.path, tt.header, tt.value,
					res.StatusCode, said)
			}
		}
		return says(`{"type":"result","subtype":"success","result":"x"}`)(s), nil
	}
	task := agent.Task{Dir: t.TempDir()}
	var told []string
	task.Watch = func(e agent.Event) { told = append(told, e.Text) }
	at := ""
	_, err := p.Run(context.Background(), task, func(turn Turn) (Call, error) {
		call, err := messages(turn)
		at = turn.Base("A_BASE")
		call.Reach = append(agent.Endpoint(upstream.URL), "other.example:443")
		return call, err
	})
	if err != nil || !strings.HasPrefix(at, "http://127.0.0.1:") || !strings.HasSuffix(at, "/base") {
		t.Errorf("base %q, %v", at, err)
	}
	want := []string{"POST /base/v1/messages?beta=true " + key, "POST /base/chat/completions " + key,
		"GET /base/v1beta/models/m:countTokens " + key}
	if !slices.Equal(got, want) {
		t.Errorf("the endpoint was asked\n%q, want\n%q", got, want)
	}
	if log, err := os.ReadFile(filepath.Join(task.Dir, proc.RefusedLog)); err != nil ||
		strings.Count(string(log), "\n") != 11 || strings.Contains(string(log), key) {
		t.Errorf("log of what was refused: %s, %v", log, err)
	}
	if !strings.Contains(strings.Join(told, "\n"), "the program itself has $A_TOKEN: replaced are only") {
		t.Errorf("told %q", told)
	}
	if res, err := http.Get(at + "/v1/models"); err == nil {
		_ = res.Body.Close()
		t.Error("the door is open after the run")
	}
}

// A program that asks for what is refused without end does not fill the disk.
func TestDoorRefusesQuietly(t *testing.T) {
	d := &door{to: &url.URL{Scheme: "http", Host: "model.test"}, log: filepath.Join(t.TempDir(),
		proc.RefusedLog)}
	h := d.handler()
	for range maxRefused + 50 {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/files", nil)); w.Code != http.StatusForbidden {
			t.Fatal(w.Code)
		}
	}
	if log, err := os.ReadFile(d.log); err != nil || strings.Count(string(log), "\n") != maxRefused {
		t.Errorf("%d lines, %v", strings.Count(string(log), "\n"), err)
	}
}

// unfinished is a request's body that ends when it is let go.
type unfinished struct {
	read *sync.WaitGroup
	let  chan struct{}
}

func (u unfinished) Read([]byte) (int, error) {
	u.read.Done()
	<-u.let
	return 0, io.ErrUnexpectedEOF
}

// The bodies of requests are in our memory: of more than maxOpen, a further one waits.
func TestDoorReadsSome(t *testing.T) {
	d := &door{word: "w", to: &url.URL{Scheme: "http", Host: "model.test"}}
	h, body := d.handler(), unfinished{new(sync.WaitGroup), make(chan struct{})}
	ask := func(ctx context.Context, body io.Reader) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", body)
		r.Header.Set(XAPIKey, "w")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	var all sync.WaitGroup
	body.read.Add(maxOpen)
	for range maxOpen {
		all.Go(func() { ask(t.Context(), body) })
	}
	body.read.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	further := strings.NewReader("{}")
	if ask(gone, further); further.Len() == 0 {
		t.Error("a further body is read")
	}
	close(body.let)
	all.Wait()
}

// Through the door goes no request by which the provider would use a network for the program.
func TestDoorStaysWithin(t *testing.T) {
	const messages, responses, gemini = "/v1/messages", "/v1/responses",
		"/v1beta/models/gemini-2.5-pro:streamGenerateContent"
	for _, tt := range []struct{ path, body, why string }{
		{messages, `{"model":"claude-x","tools":[{"name":"Bash","input_schema":{"properties":{"image_url":"x"}}},
			{"type":"custom","name":"x"},{"type":"bash_20250124","name":"bash"},
			{"type":"text_editor_20250728","name":"e"},{"type":"tool_search_tool_regex_20251119","name":"t"}]}`, ""},
		{responses, `{"tools":[{"type":"function"},{"type":"local_shell"},{"type":"custom"},
			{"type":"namespace","tools":[{"type":"function"}]}],"input":"see https://a.example"}`, ""},
		{gemini, `{"tools":[{"functionDeclarations":[{"name":"x"}]},{"function_declarations":[]}]}`, ""},
		{messages, `{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"x"}},
			{"type":"tool_use","input":{"source":{"type":"url"},"image_url":"https://a.example"}}]}]}`, ""},
		{"/chat/completions", `{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,x"}}]}],
			"enable_search":false}`, ""},
		{messages, `{"mcp_servers":[{"type":"url","url":"https://a.example"}]}`, "mcp_servers"},
		{messages, `{"mcp_\u0073ervers":[{}]}`, "mcp_servers"},
		{messages, `{"tools":[{"name":"x"},{"type":"web_search_20250305"}]}`, "web_search_20250305"},
		{messages, `{"tools":[{"type":"web_fetch_20250910"}]}`, "web_fetch_20250910"},
		{messages, `{"tools":[{"type":"code_execution_20250825"}]}`, "code_execution_20250825"},
		{messages, `{"tools":[{"type":"mcp_toolset"}]}`, "mcp_toolset"},
		{messages, `{"tools":[{"type":"web_search_20250305"}],"tools":[]}`, "two members"},
		{messages, `{"tools":[{"type":"web_search_20250305","type":"custom"}]}`, "two members"},
		{messages, `{"tools":{"type":"web_search_20250305"}}`, "not a list"},
		{messages, `{"messages":[{"content":[{"type":"tool_result","content":[{"source":{"type":"url",
			"url":"https://a.example/?secret"}}]}]}]}`, "an address"},
		{messages, `{"tools":[]} {"tools":[{"type":"web_search_20250305"}]}`, "its body"},
		{messages, `tools`, "its body"},
		{responses, `{"tools":[{"type":"web_search"}]}`, "web_search"},
		{responses, `{"tools":[{"type":"mcp","server_url":"https://a.example"}]}`, "the tool mcp"},
		{responses, `{"tools":[{"type":"code_interpreter"}]}`, "code_interpreter"},
		{responses, `{"tools":[{"type":"file_search"}]}`, "file_search"},
		{responses, `{"tools":[{"type":["web_search"]}]}`, "web_search"},
		{responses, `{"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}`, "the tool mcp"},
		{responses, `{"input":[{"type":"tool_search_output","tools":[{"type":"mcp"}]}]}`, "the tool mcp"},
		{responses, `{"input":[{"content":[{"type":"input_image","image_url":"https://a.example"}]}]}`, "an address"},
		{responses, `{"input":[{"content":[{"type":"input_file","file_url":"https://a.example"}]}]}`, "an address"},
		{"/chat/completions", `{"web_search_options":{}}`, "web_search_options"},
		{"/chat/completions", `{"model":"gpt-4o-search-preview"}`, "searches"},
		{"/chat/completions", `{"enable_search":true}`, "enable_search"},
		{"/chat/completions", `{"messages":[{"content":[{"image_url":{"url":"https://a.example"}}]}]}`, "an address"},
		{gemini, `{"tools":[{"functionDeclarations":[]},{"googleSearch":{}}]}`, "googleSearch"},
		{gemini, `{"tools":[{"url_context":{}}]}`, "url_context"},
		{gemini, `{"tools":[{"codeExecution":{}}]}`, "codeExecution"},
		{gemini, `{"contents":[{"parts":[{"fileData":{"fileUri":"https://a.example"}}]}]}`, "an address"},
		{"/v1beta/models/m:batchGenerateContent", `{"batch":{}}`, "no request for an answer"},
	} {
		r := httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(tt.body))
		why := within(httptest.NewRecorder(), r)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s %s: %q, want %q", tt.path, tt.body, why, tt.why)
		}
		if text, err := io.ReadAll(r.Body); why == "" && (err != nil || string(text) != tt.body) {
			t.Errorf("%s: %q goes on, %v", tt.body, text, err)
		}
	}
	for name, value := range map[string]string{"Upgrade": "websocket", "Content-Encoding": "gzip"} {
		r := httptest.NewRequest(http.MethodPost, responses, strings.NewReader("{}"))
		r.Header.Set(name, value)
		if within(httptest.NewRecorder(), r) == "" {
			t.Errorf("%s: %s goes on", name, value)
		}
	}
	r := httptest.NewRequest(http.MethodPost, responses, io.LimitReader(endless{}, maxAsk+1))
	if why := within(httptest.NewRecorder(), r); !strings.Contains(why, "too large") {
		t.Errorf("a request of more than %d bytes: %q", maxAsk, why)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
