package cmd_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// keys are secrets that must stay out of sight: of a persona, and of the configured validator.
var keys = []string{"sk-persona/0123456789+abcdef=", "sk-team/9876543210+fedcba="}

// forms returns a secret in the five encodings in which it is looked for.
func forms(key string) []string {
	b := []byte(key)
	return []string{key, base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
		hex.EncodeToString(b), url.QueryEscape(key)}
}

// leaks returns what of the secrets a text has.
func leaks(where string, text []byte) (found []string) {
	for _, k := range keys {
		for i, form := range forms(k) {
			if bytes.Contains(text, []byte(form)) {
				found = append(found, fmt.Sprintf("%s: key %.6s, encoding %d", where, k, i))
			}
		}
	}
	return found
}

// leaksIn looks into every file below a folder.
func leaksIn(t *testing.T, dir string) (found []string, files int) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		found = append(append(found, leaks(path, b)...), leaks("the name "+path, []byte(path))...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found, files
}

// lister looks at the command lines of all processes until it is stopped.
type lister struct {
	stop  chan struct{}
	done  sync.WaitGroup
	mu    sync.Mutex
	found map[string]bool
	seen  map[string]bool
}

func listing() *lister {
	l := &lister{stop: make(chan struct{}), found: map[string]bool{}, seen: map[string]bool{}}
	l.done.Go(func() {
		for {
			select {
			case <-l.stop:
				return
			default:
			}
			lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, name := range lines {
				b, err := os.ReadFile(name) // a process may have ended
				if err != nil {
					continue
				}
				l.mu.Lock()
				l.seen[name] = true
				for _, leak := range leaks(string(bytes.ReplaceAll(b, []byte{0}, []byte(" "))), b) {
					l.found[leak] = true
				}
				l.mu.Unlock()
			}
		}
	})
	return l
}

func (l *lister) leaks() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.found)
}

func (l *lister) end() { close(l.stop); l.done.Wait() }

// endpoint is a model of both APIs that repeats its key in each kind of answer.
func endpoint(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !slices.Contains(keys, key) || len(leaks("", body)) > 0 {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `{"error":{"message":"a prompt with a key, or a request without"}}`)
		return
	}
	note := `{"says":[{"ref":"retry.go:1","claim":"MaxRetries","result":"contradicts","note":"` + key + `"}]}`
	switch {
	case len(body)%3 == 0:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"x","message":"wrong key %s"}}`, key)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		fmt.Fprintf(w, `{"model":"stub","content":[{"type":"text","text":"my key is %s"},{"type":"tool_use",
			"id":"t","name":"answer","input":%s}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
			key, note)
	default:
		fmt.Fprintf(w, `{"model":"stub","choices":[{"message":{"role":"assistant","content":"my key is %s",
			"tool_calls":[{"id":"t","type":"function","function":{"name":"answer","arguments":%q}}]},
			"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, key, note)
	}
}

// TestSecretsOutOfSight: in 20 discussions no file, no output, no command line of a process and no prompt has
// a key in any of five encodings, though the endpoint repeats it in answers and errors.
func TestSecretsOutOfSight(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	server := httptest.NewServer(http.HandlerFunc(endpoint))
	defer server.Close()
	dir := t.TempDir()
	config := "validator: {agent: api, api: openai, model: m, key_env: TEAM_KEY, base_url: %q}\nsandbox: off\n"
	for name, text := range map[string]string{
		"code/retry.go":    "const MaxRetries = 5\n",
		"home/config.yaml": fmt.Sprintf(config, server.URL+"/v1"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := listing()
	var said bytes.Buffer
	tri := func(in string, args ...string) string {
		t.Helper()
		c := exec.Command("tri-panel", args...)
		c.Env = append(os.Environ(), "TRI_HOME="+dir+"/home", "XDG_CONFIG_HOME="+dir+"/conf", "TEAM_KEY="+keys[1])
		c.Stdin = strings.NewReader(in)
		var out, stderr bytes.Buffer
		c.Stdout, c.Stderr = &out, &stderr
		err := c.Run()
		said.WriteString(out.String() + stderr.String())
		if err != nil && c.ProcessState.ExitCode() != 1 { // not approved
			t.Fatalf("%q: %v\n%s", args, err, stderr.String())
		}
		return out.String()
	}
	for _, name := range []string{"Dev", "Maya", "Priya"} {
		tri("", "edit", "--active", "yes", name)
	}
	tri(keys[0]+"\n", "key", "set", "Dev.ANTHROPIC_API_KEY")
	dev := tri("", "export", "Dev")
	dev = strings.Replace(dev, `"env": {`, `"agent":"api","api":"anthropic","model":"m","base_url":"`+server.URL+
		`","env": {`, 1)
	tri(dev, "edit", "Dev")
	if who := tri("", "show", "--effective", "Dev"); !strings.Contains(who, server.URL) {
		t.Fatal(who)
	}
	for i := range 20 {
		tri(fmt.Sprintf(`{"finding":{"path":"retry.go","lines":"1","signal":"MaxRetries %s"}}`+"\n",
			strings.Repeat("x", i)), "judge", "--codebase", dir+"/code")
	}
	l.end()
	found, files := leaksIn(t, dir)
	found = append(found, leaks("the output", said.Bytes())...)
	for leak := range l.found {
		found = append(found, "a process: "+leak)
	}
	runs := len(list(t, dir+"/home/runs/p-*"))
	t.Logf("%d files of %d runs, %d processes, %d bytes of output", files, runs, len(l.seen), said.Len())
	if len(found) > 0 || runs < 60 || files < 3*runs || len(l.seen) < 20 ||
		strings.Contains(said.String(), "a prompt with a key") {
		t.Errorf("%d leaks: %.3000s\n%.3000s", len(found), strings.Join(found, "\n"), said.String())
	}
	seesLeaks(t)
}

// seesLeaks is the control: a key in a file and one in a command line are found, in each encoding.
func seesLeaks(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	l := listing()
	for _, k := range keys {
		for i, form := range forms(k) {
			if err := os.WriteFile(fmt.Sprintf("%s/%x-%d", dir, k[3:5], i), []byte("a "+form), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := exec.Command("sh", "-c", "read line", keys[0])
	hold, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); l.leaks() == 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("a key in a command line is not found")
		}
	}
	hold.Close()
	_ = c.Wait() // read ends with 1 at the end of its input
	l.end()
	if found, _ := leaksIn(t, dir); len(found) != 12 { // base64 begins with base64 without padding
		t.Errorf("10 files with a key: %q", found)
	}
}
