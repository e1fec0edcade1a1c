package chattest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Loaded is a World that the real tri-watch can connect to.
type Loaded interface {
	Burster
	// Config returns the chat section of config.yaml, and the environment variables with the
	// credentials.
	Config() (yaml string, env []string)
}

// Parameters of Load: the number of messages, and messages per second.
const (
	loadMessages = 100_000
	loadRate     = 2_000
)

// Load runs the real tri-watch against the world: 2,000 messages a second up to 100,000. It prints
// how far the log was behind and the memory used. It takes a minute, and runs only if TRI_LOAD is
// set (scripts/bench/watch).
func Load(t *testing.T, w Loaded) {
	if os.Getenv("TRI_LOAD") == "" {
		t.Skip("TRI_LOAD is not set: scripts/bench/watch runs this")
	}
	dir := t.TempDir()
	program, home := filepath.Join(dir, "tri-watch"), filepath.Join(dir, "home")
	if out, err := exec.Command("go", "build", "-o", program,
		"tri/cmd/tri-watch").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	yaml, env := w.Config()
	config := "chat:\n" + yaml + "watched_chats:\n"
	for _, c := range w.Chats() {
		config += fmt.Sprintf("  - platform: %s\n    chat_id: %q\n",
			strings.TrimSuffix(strings.Fields(yaml)[0], ":"), c)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watch := exec.CommandContext(ctx, program, "--home", home)
	watch.Env = append(os.Environ(), append(env, "TMPDIR="+dir)...)
	var said bytes.Buffer
	watch.Stderr = &said
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = watch.Wait() // it was killed
		if t.Failed() {
			t.Logf("tri-watch said: %s", said.String())
		}
	})
	log := newTail(filepath.Join(home, "events.ndjson"))
	for i := 0; log.count(t) == 0; i++ { // until it receives messages
		if w.Say(w.Chats()[0], "ana", "", "warming up"); i > 600 {
			t.Fatal("nothing is heard")
		}
		time.Sleep(100 * time.Millisecond)
	}
	base := log.count(t)
	began := time.Now()
	var lags []int
	for sent := 0; sent < loadMessages; {
		due := min(loadMessages, int(time.Since(began).Seconds()*loadRate)+1)
		w.Burst(w.Chats()[sent%2], due-sent)
		sent = due
		lags = append(lags, sent-(log.count(t)-base))
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	for log.count(t)-base < loadMessages {
		if time.Since(began) > took+time.Minute {
			t.Fatalf("%d of %d are in the log", log.count(t)-base, loadMessages)
		}
		time.Sleep(10 * time.Millisecond)
	}
	half := lags[len(lags)/2:]
	slices.Sort(lags)
	t.Logf("%d messages in %.1f s (%.0f a second); behind: median %d, most %d messages, most of the second half %d; all in the log %.0f ms later; resident at most %d KiB",
		loadMessages, took.Seconds(), loadMessages/took.Seconds(), lags[len(lags)/2], lags[len(lags)-1],
		slices.Max(half), (time.Since(began)-took).Seconds()*1000, peak(t, watch.Process.Pid))
}

// tail counts the lines of a growing file.
type tail struct {
	path string
	at   int64
	n    int
}

func newTail(path string) *tail { return &tail{path: path} }

func (l *tail) count(t *testing.T) int {
	f, err := os.Open(l.path)
	if err != nil {
		return 0
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := f.ReadAt(buf, l.at)
		l.at += int64(n)
		l.n += bytes.Count(buf[:n], []byte("\n"))
		if err != nil {
			return l.n
		}
	}
}

// peak returns the maximum resident memory of a process, in KiB (proc(5)).
func peak(t *testing.T, pid int) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
