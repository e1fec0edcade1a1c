package cmd_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

// sequence matches terminal control sequences.
var sequence = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[a-zA-Z]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])")

// TestScreen drives tri-approve tui through a pseudo-terminal, small and large.
func TestScreen(t *testing.T) {
	for _, size := range []pty.Winsize{{Rows: 24, Cols: 80}, {Rows: 50, Cols: 200}} {
		h, err := durable.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := h.Replace("config.yaml", []byte("team: {approvers: [ana]}\n")); err != nil {
			t.Fatal(err)
		}
		waitingDraft(t, h, "It is 5.\x1b[31m")
		cmd := exec.Command("tri-approve", "tui", "--home", h.Dir(), "--as", "ana")
		cmd.Env = append(cmd.Environ(), "TERM=xterm-256color", "NO_COLOR=1")
		tty, err := pty.StartWithSize(cmd, &size)
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		var mu sync.Mutex
		var seen bytes.Buffer
		go func() {
			buf := make([]byte, 4096)
			for {
				n, err := tty.Read(buf)
				mu.Lock()
				seen.Write(buf[:n])
				mu.Unlock()
				if err != nil {
					return // EIO: the other end is closed
				}
			}
		}()
		await := func(want string) {
			t.Helper()
			deadline := time.Now().Add(30 * time.Second)
			for ; time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				mu.Lock()
				text := sequence.ReplaceAllString(seen.String(), "")
				mu.Unlock()
				if strings.Contains(text, want) {
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			t.Fatalf("%d columns: never %q in %q", size.Cols, want, seen.String())
		}
		press := func(keys string) {
			t.Helper()
			if _, err := tty.WriteString(keys); err != nil {
				t.Fatal(err)
			}
		}
		await("1 waiting")
		await("It is 5.<U+001B>[31m")
		press("a")
		await("may not be sent") // it contains a control character
		press("d")
		await("post nothing; because")
		press("odd text\r")
		await("nothing waits")
		press("q")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%d columns: %v", size.Cols, err)
		}
		rs, err := decision.Read(h)
		if err != nil || len(rs) != 2 || rs[1].Kind != decision.Dismiss || rs[1].Note != "odd text" {
			t.Errorf("%d columns: %+v, %v", size.Cols, rs, err)
		}
	}
}

// TestEditorTerminal: the editor of a draft has the terminal, not a pipe to it.
func TestEditorTerminal(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Replace("config.yaml", []byte("team: {approvers: [ana]}\n")); err != nil {
		t.Fatal(err)
	}
	waitingDraft(t, h, "It is 5.")
	for _, command := range [][]string{{"tui"}, {"edit", "local.dev.0"}} {
		dir := t.TempDir()
		editor, proof := filepath.Join(dir, "editor"), filepath.Join(dir, "proof")
		script := "#!/bin/sh\ntest -t 0 && test -t 1 && test -t 2 && echo yes >" + proof + "\n"
		if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("tri-approve", append(command, "--home", h.Dir(), "--as", "ana")...)
		cmd.Env = append(cmd.Environ(), "TERM=xterm-256color", "VISUAL="+editor)
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, tty) }() // EIO at the end
		deadline := time.Now().Add(30 * time.Second)
		for ; !exists(proof) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			_, _ = tty.WriteString("e") // until the program listens; EIO after its end
		}
		if !exists(proof) {
			t.Errorf("%s: the editor has no terminal", command[0])
		}
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		tty.Close()
	}
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

// TestWidths: what a person reads on a terminal fits its width, and is broken between words alone.
func TestWidths(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	sentence := "The limit is read by loadRetryLimitFromEnvironment of the package config, at every start. "
	waitingDraft(t, h, strings.Repeat(sentence, 5)+"\n\n"+strings.Repeat("最新の値は、", 30),
		strings.Repeat("where is the retryLimit configured? ", 9))
	for _, cols := range []uint16{80, 200} {
		for _, line := range []string{"tri-approve show local.dev.0", "tri-approve list", "tri-report brief"} {
			args := append(strings.Fields(line), "--home", h.Dir())
			whole, err := exec.Command(args[0], args[1:]...).Output()
			if err != nil {
				t.Fatal(err)
			}
			size := pty.Winsize{Rows: 24, Cols: cols}
			tty, err := pty.StartWithSize(exec.Command(args[0], args[1:]...), &size)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(tty) // EIO at the end
			tty.Close()
			widest, words := 0, strings.Fields(string(whole))
			for shown := range strings.Lines(sequence.ReplaceAllString(string(b), "")) {
				shown = strings.TrimRight(shown, "\r\n")
				n := uniseg.StringWidth(shown)
				if widest = max(widest, n); n > int(cols) {
					t.Errorf("%s: %d columns of %d: %q", line, n, cols, shown)
				}
				for _, word := range strings.Fields(shown) {
					word = strings.TrimSuffix(word, "…")
					if !slices.Contains(words, word) && word[0] < 0x80 && (word[0] < '0' || word[0] > '9') {
						t.Errorf("%s in %d columns: %q is part of a word", line, cols, word)
					}
				}
			}
			if widest < int(cols)*3/4 && line != "tri-report brief" {
				t.Errorf("%s: the widest line has %d columns of %d", line, widest, cols)
			}
		}
	}
}

// waitingDraft adds a draft that waits for a person.
func waitingDraft(t *testing.T, h *durable.Home, text string, question ...string) {
	t.Helper()
	th := thread.Thread{
		Key: "local.dev.0", Platform: "local", ChatID: "dev", ChatName: "dev", ThreadID: "0",
		OriginalSenderName: "cy", Status: thread.PendingUser, Cycle: 1,
		Messages:     []thread.Message{{MessageID: "0", Content: strings.Join(append(question, "where?"), "")}},
		DraftPending: &text, DraftSHA256: decision.Sum(text),
	}
	if err := th.Save(h); err != nil {
		t.Fatal(err)
	}
	_, err := decision.Append(h, decision.Record{Kind: decision.Offer, By: "tri-dispatch", Via: "code",
		Key: th.Key, Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)})
	if err != nil {
		t.Fatal(err)
	}
}
