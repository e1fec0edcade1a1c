package program

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		} {
			req, err := http.NewRequest(tt.method, env["A_BASE"]+tt.path, strings.NewReader("x"))
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
		strings.Count(string(log), "\n") != 7 || strings.Contains(string(log), key) {
		t.Errorf("log of what was refused: %s, %v", log, err)
	}
	if !slices.Contains(told, "the program itself has $A_TOKEN") {
		t.Errorf("told %q", told)
	}
	if res, err := http.Get(at + "/v1/models"); err == nil {
		_ = res.Body.Close()
		t.Error("the door is open after the run")
	}
}
