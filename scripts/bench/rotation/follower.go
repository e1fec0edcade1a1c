package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// follower is a program that reads a log while it grows, in the set-up that its
// own manual recommends for losing nothing.
type follower struct {
	name    string
	program string   // looked for in -tools, then on PATH
	version []string // arguments that make it say that
	env     []string
	args    func(f *follower, w *world) []string
	outs    func(w *world) string // pattern of the files that it writes
	records func(line string) []string
	mend    func(p *process) error // what its manual says when it refuses to continue
}

func whole(line string) []string { return []string{line} }
func plain(w *world) string      { return w.out() }

// find sets program to a path, and reports whether there is one.
func (f *follower) find(tools string) bool {
	for _, dir := range []string{"bin", "sbin", "usr/bin", "usr/sbin"} {
		path := filepath.Join(tools, dir, f.program)
		if _, err := os.Stat(path); err == nil {
			lib := filepath.Join(tools, "usr/lib/x86_64-linux-gnu")
			f.env = append(f.env, "LD_LIBRARY_PATH="+lib+":"+filepath.Join(tools, "usr/lib/syslog-ng"))
			f.program = path
			return true
		}
	}
	path, err := exec.LookPath(f.program)
	f.program = path
	return err == nil
}

// says is what the program says of its version: the first line with a figure in it.
func (f *follower) says() string {
	cmd := exec.Command(f.program, f.version...)
	cmd.Env = append(os.Environ(), f.env...)
	out, _ := cmd.CombinedOutput() // some end with a status of their own
	for line := range strings.Lines(string(out)) {
		if strings.ContainsAny(line, "0123456789") {
			line = strings.TrimSuffix(strings.Join(strings.Fields(line), " "), " compiled with:")
			return line[strings.LastIndexByte(line, '/')+1:]
		}
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// followers are ours first. Those that are not here are left out, and named.
func followers(bin, tools string) []*follower {
	ours := func(name string) string { return filepath.Join(bin, name) }
	return []*follower{
		{
			name: "tri-classify", program: ours("tri-classify"), version: []string{"--version"},
			records: whole, mend: mendClassify,
			args: func(_ *follower, w *world) []string {
				return []string{ours("tri-classify"), "--follow", "--out", w.out(), w.log()}
			},
			outs: func(w *world) string { return w.out() + "*" },
		},
		{
			name: "tail | jq", program: "jq", version: []string{"--version"}, records: whole, outs: plain,
			args: func(_ *follower, w *world) []string {
				return []string{"bash", "-c",
					"set -o pipefail; tail -F log/app.log | jq -c --unbuffered . >> out"}
			},
		},
		{name: "rsyslog", program: "rsyslogd", version: []string{"-v"}, records: whole, outs: plain,
			args: rsyslog},
		{name: "syslog-ng", program: "syslog-ng", version: []string{"--version"}, records: whole, outs: plain,
			args: syslogNG},
		{name: "otelcol", program: "otelcol", version: []string{"components"}, records: otel, outs: plain,
			args: collector},
		{name: "vector", program: "vector", version: []string{"--version"}, records: whole, outs: plain,
			args: vector},
		{name: "fluent-bit", program: "fluent-bit", version: []string{"--version"}, records: whole,
			outs: plain, args: fluentBit},
	}
}

// otel are the bodies in one line of the collector's file exporter.
func otel(line string) (bodies []string) {
	for _, resource := range gjson.Get(line, "resourceLogs.#.scopeLogs").Array() {
		for _, scope := range resource.Array() {
			for _, record := range scope.Get("logRecords.#.body.stringValue").Array() {
				bodies = append(bodies, record.Str)
			}
		}
	}
	return bodies
}

// mendClassify does what the hint of tri-classify says: what it was reading when
// the log was rotated is read to its end, and behind that it begins anew.
func mendClassify(p *process) error {
	w := p.w
	rest := append(slices.Clone(w.old), w.log())
	at, err := lastRead(w.out(), rest)
	if err != nil {
		return err
	}
	done := func(i int) string { return fmt.Sprintf("%s.%02d", w.out(), i) }
	for i, name := range rest[:len(rest)-1] {
		if i < at {
			continue
		}
		if out, err := exec.Command(p.program, "--out", w.out(), name).CombinedOutput(); err != nil {
			return fmt.Errorf("tri-classify %s: %w: %s", name, err, out)
		}
		if err := os.Rename(w.out(), done(i)); err != nil {
			return err
		}
	}
	if at < 0 { // the log of the last record is gone
		return os.Rename(w.out(), done(len(rest)))
	}
	return nil
}

// lastRead is the file that holds the last record of out, -1 when none does.
func lastRead(out string, files []string) (int, error) {
	b, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	id := []byte(`"message_id":"` + gjson.GetBytes(lines[len(lines)-1], "message_id").Str + `"`)
	for i, name := range files {
		if b, err = os.ReadFile(name); err != nil {
			return 0, err
		}
		if bytes.Contains(b, id) {
			return i, nil
		}
	}
	return -1, nil
}

// beside is a path of Debian's packages, in -tools when the program is from there.
func (f *follower) beside(path string) string {
	if root, _, ok := strings.Cut(f.program, "/usr/"); ok && root != "" {
		return root + path
	}
	return path
}
