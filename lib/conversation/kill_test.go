package conversation

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// talk is an event log of n messages without threads, more than one Window of it.
func talk(n int) []byte {
	said := []string{"why is it down?", "it says timeout on the proxy", "ok thanks", "u3: anyone know where the log is", "lunch at noon", "no, u5", "👍"}
	rnd := rand.New(rand.NewPCG(1, 2))
	var b []byte
	at := 0
	for i := range n {
		quoted := ""
		if i%50 == 49 {
			quoted = fmt.Sprintf(`"reply_to_id":"%d",`, i-rnd.IntN(40))
		}
		if at += rnd.IntN(40); i%200 == 0 {
			at += 1000
		}
		b = fmt.Appendf(b, `{"seq":%d,"platform":"irc","chat_id":"#c%d","chat_name":"a room","message_id":"%d","create_time":%q,"msg_type":"text","content":"%s %d","thread_id":null,%s"sender":{"id":"u%d","type":"user"},"mentions":[]}`+"\n",
			len(b), rnd.IntN(3), i, time.Unix(int64(at), 0).UTC().Format(time.RFC3339), said[rnd.IntN(len(said))], rnd.IntN(500), quoted, rnd.IntN(30))
	}
	return b
}

func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "tri-thread")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/tri-thread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestKilled kills the real program at random instants, while it follows a log
// that grows in torn pieces and while it reads a finished one, from a file and
// from a pipe; what it leaves behind is, in the end, what one undisturbed run
// writes.
func TestKilled(t *testing.T) {
	bin := program(t)
	log := talk(50_000)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "out.ndjson")
	t.Setenv("TRI_HOME", dir)
	rnd := rand.New(rand.NewPCG(3, 4))
	written := 0
	rounds := 36
	for round := range rounds {
		more := min(len(log), written+len(log)/rounds+rnd.IntN(200))
		if round == rounds-1 {
			more = len(log)
		}
		cmd := exec.Command(bin, "--out", out)
		switch round % 3 {
		case 0:
			cmd.Args = append(cmd.Args, "--follow", in)
		case 1:
			cmd.Args = append(cmd.Args, in)
		}
		var pipe io.WriteCloser
		if round%3 == 2 {
			var err error
			if pipe, err = cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		appendFile(t, in, log[written:more-(more-written)/2])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		appendFile(t, in, log[more-(more-written)/2:more])
		written = more
		if pipe != nil {
			go func(whole []byte) {
				_, _ = pipe.Write(whole) // the reader will be killed
				pipe.Close()
			}(log[:written])
		}
		time.Sleep(time.Duration(rnd.IntN(25_000)) * time.Microsecond) // any instant will do
		_ = cmd.Process.Kill()                                         // it may have ended
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != -1 && status != 0 && !torn(log[:written]) {
			t.Fatalf("round %d: status %d: %s", round, status, stderr.Bytes())
		}
	}
	if output, err := exec.Command(bin, "--out", out, in).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.Command(bin, in).Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(log) < Window*5/4 || bytes.Count(want, []byte(`"thread_inferred":`)) < 10_000 {
		t.Error("hardly anything is continued: the window is not tested")
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d lines, want %d, or others", bytes.Count(got, []byte("\n")), bytes.Count(want, []byte("\n")))
	}
}

// torn reports whether the log ends in half a line, which a finished input counts
// as a bad one.
func torn(log []byte) bool { return log[len(log)-1] != '\n' }

func appendFile(t *testing.T, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
