package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// follow measures from a line appended to a log to its classified line out.
func (b *bench) follow() error {
	const samples, rest = 200, 10 * time.Millisecond
	jq, err := b.filter()
	if err != nil {
		return err
	}
	log := filepath.Join(b.work, "follow.ndjson")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		return err
	}
	g, late := b.group("median", seconds), b.group("19 of 20 within", seconds)
	all := []contender{
		{"tri-classify --follow", []string{b.ours("tri-classify"), "--follow", log}},
		{"tail -F | jq --unbuffered",
			append([]string{"sh", "-c", `tail -n +1 -F "$1" 2>/dev/null | { shift; exec "$@"; }`, "sh", log},
				jq("jq", "--unbuffered")...)},
	}
	if _, err := exec.LookPath("jq"); err != nil {
		g.lacks(all[1].who, "no jq on this machine")
		all = all[:1]
	}
	var readers []*follower
	for _, c := range all {
		f, err := startFollower(c)
		if err != nil {
			return err
		}
		defer f.stop()
		readers = append(readers, f)
	}
	for n := range samples {
		began, err := appendEvent(log, n)
		if err != nil {
			return err
		}
		for _, f := range readers {
			line := <-f.lines
			if !strings.Contains(line.text, fmt.Sprintf(`"f%d"`, n)) {
				return fmt.Errorf("%s: line %d is %q", f.who, n, line.text)
			}
			if n > 0 { // the first waits for the program to start
				g.add(f.who, line.at.Sub(began).Seconds())
			}
		}
		time.Sleep(rest)
	}
	for _, s := range g.series {
		if len(s.samples) > 0 {
			late.add(s.who, percentile(s.samples, 95))
		}
	}
	return nil
}

// appendEvent appends event n and says when.
func appendEvent(log string, n int) (began time.Time, err error) {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return began, err
	}
	defer f.Close()
	began = time.Now()
	_, err = f.WriteString(message(fmt.Sprint("f", n), "where is the limit of retries set?", 0))
	return began, err
}

// message is a line of a log: a message of chat dev.
func message(id, content string, seq int64) string {
	return fmt.Sprintf(`{"seq":%d,"platform":"local","chat_id":"dev","chat_name":"dev","message_id":%q,"create_time":%q,"msg_type":"text","content":%q,"thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[]}`+"\n", seq, id,
		time.Now().UTC().Format(time.RFC3339), content)
}

// follower is a program that follows a log, and what it prints.
type follower struct {
	who   string
	cmd   *exec.Cmd
	lines chan printed
	out   io.Closer
}

// printed is a line and when it was there.
type printed struct {
	text string
	at   time.Time
}

func startFollower(c contender) (*follower, error) {
	f := &follower{who: c.who, cmd: exec.Command(c.argv[0], c.argv[1:]...), lines: make(chan printed, 1)}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.out = out
	ownGroup(f.cmd)
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(f.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			f.lines <- printed{in.Text(), time.Now()}
		}
	}()
	return f, nil
}

// stop ends the program and those that it started.
func (f *follower) stop() {
	killGroup(f.cmd)
	f.out.Close()
	_ = f.cmd.Wait() // killed
}
