package proc

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// stdout passes the program's lines to Spec.Line and keeps them in the transcript.
func (r *running) stdout() {
	defer r.readers.Done()
	in := bufio.NewReaderSize(r.outR, 64<<10)
	var line []byte
	over := false
	left := cmp.Or(r.spec.MaxStdout, MaxOutput)
	for {
		part, err := in.ReadSlice('\n')
		if left -= int64(len(part)); left < 0 {
			if !r.exit.Flooded {
				r.exit.Flooded = true
				close(r.flooded)
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
			continue // keep reading, so that it dies of our signal and not of a full pipe
		}
		if _, werr := r.transcript.Write(part); werr != nil && r.failedOut == nil {
			r.failedOut = werr
		}
		switch {
		case over || len(line)+len(part) > MaxLine:
			line, over = nil, true
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.line(line, over)
		line, over = line[:0], false
		if err != nil {
			return // end of output, or the deadline: a process that still writes is ignored
		}
	}
}

func (r *running) line(line []byte, over bool) {
	if over {
		r.exit.Skipped++
		return
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 || r.spec.Line == nil || r.exit.Done {
		return
	}
	if r.spec.Line(line) {
		r.exit.Done = true
		close(r.lined)
	}
}

// stderr keeps the first bytes in the run's folder and the last ones for a message.
func (r *running) stderr() {
	defer r.readers.Done()
	const last = 2 << 10
	buf := make([]byte, 32<<10)
	for {
		n, err := r.errR.Read(buf)
		if _, werr := r.complaints.Write(buf[:n]); werr != nil && r.failedErr == nil {
			r.failedErr = werr
		}
		r.tail = append(r.tail, buf[:n]...)
		if len(r.tail) > last {
			r.tail = append(r.tail[:0], r.tail[len(r.tail)-last:]...)
		}
		if err != nil {
			return
		}
	}
}

// capped writes the first bytes to a file and drops the rest.
type capped struct {
	f    *os.File
	left int64
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	if n == 0 {
		return len(p), nil
	}
	c.left -= n
	if _, err := c.f.Write(p[:n]); err != nil {
		c.left = 0
		return 0, err
	}
	return len(p), nil
}

func (c *capped) Close() error { return c.f.Close() }

type discard struct{}

func (discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (discard) Close() error                { return nil }

// spoken is the program's standard input in the hands of Talk, whose writes are kept in the run's
// folder like a prompt.
type spoken struct {
	pipe *os.File
	kept io.Writer
}

func (s *spoken) Write(p []byte) (int, error) {
	if _, err := s.kept.Write(p); err != nil && !errors.Is(err, os.ErrClosed) {
		return 0, err
	}
	return s.pipe.Write(p)
}

func (s *spoken) Close() error { return s.pipe.Close() }

// always are the variables that always pass: program paths, language, time zone.
var always = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// never are variables that do not pass even if named: an agent must not believe that it runs
// inside another agent, nor see where the project keeps its files.
var never = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "TRI_HOME", "TRI_USER"}

// Env returns the environment of an agent: the few variables that every program needs, those named
// by the configuration, and set. HOME is home unless named holds HOME: the user's own home
// contains keys that no agent needs.
func Env(named []string, home string, set ...string) []string {
	var env []string
	for _, name := range slices.Concat(always, named) {
		value, ok := os.LookupEnv(name)
		if ok && !slices.Contains(never, name) && !slices.Contains(env, name+"="+value) {
			env = append(env, name+"="+value)
		}
	}
	if !slices.Contains(named, "HOME") && home != "" {
		env = append(env, "HOME="+home)
	}
	for _, s := range set {
		name, _, _ := strings.Cut(s, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, s)
		}
	}
	return env
}
