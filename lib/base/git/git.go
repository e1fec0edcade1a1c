package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
)

// Limits of one git command.
const (
	gitTime   = 5 * time.Minute
	maxOutput = 256 << 20 // bytes of stdout
	maxStderr = 16 << 10
)

// settings are given on every command line, where they override every file. They matter for the
// few commands that must read a repository's own configuration; each disables something that git
// would otherwise run, fetch or ask for.
var settings = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
	"core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.alternateRefsCommand=",
	"core.pager=cat", "core.editor=false", "core.askPass=false", "core.sshCommand=false", "core.gitProxy=",
	"core.quotePath=false", "core.autocrlf=false", "core.fileMode=true", "core.symlinks=true",
	"core.protectHFS=true", "core.protectNTFS=true", "core.precomposeUnicode=false", "core.splitIndex=false",
	"credential.helper=", "diff.external=", "diff.ignoreSubmodules=all", "submodule.recurse=false",
	"protocol.allow=never",
	"commit.gpgSign=false", "tag.gpgSign=false", "gpg.program=false", "log.showSignature=false",
	"gc.auto=0", "maintenance.auto=false", "feature.manyFiles=false", "worktree.guessRemote=false",
}

// call is one git command.
type call struct {
	dir    string // the repository's own folder (GIT_DIR), its working directory
	tree   string // work tree (GIT_WORK_TREE); the command then runs in /
	env    []string
	args   []string
	stdin  io.Reader
	config []string // overrides settings
	hold   *os.File // kept open while it runs; may be nil
	max    int64    // bytes of stdout; 0 means maxOutput
	ok     int      // a further exit status that is not an error
}

// git runs one command and returns its output.
func git(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	argv := []string{"--no-pager"}
	for _, s := range append(settings[:len(settings):len(settings)], c.config...) {
		argv = append(argv, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(argv, c.args...)...)
	cmd.Dir = c.dir // never a folder that an agent can write
	cmd.Env = append(environment(c.dir), c.env...)
	if c.hold != nil {
		cmd.ExtraFiles = []*os.File{c.hold}
	}
	if c.tree != "" {
		cmd.Dir, cmd.Env = "/", append(cmd.Env, "GIT_WORK_TREE="+c.tree)
	}
	cmd.Stdin = c.stdin
	out, said := &bounded{max: maxOutput}, &bounded{max: maxStderr, drop: true}
	if c.max > 0 {
		out.max = c.max
	}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); c.ok != 0 && errors.As(err, &e) && e.ExitCode() == c.ok {
		err = nil
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, sysexit.Hint(sysexit.With(sysexit.Unavailable, err), "install git, 2.39.3 or later")
	case out.full:
		return nil, fmt.Errorf("git %s: over %d bytes of output", c.args[0], out.max)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.args[0], ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("git %s: %w: %q", c.args[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// environment returns git's complete environment; only PATH is inherited.
func environment(gitDir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "LC_ALL=C", "TZ=UTC", "TERM=dumb",
		"GIT_DIR=" + gitDir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_EDITOR=false",
		"GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=",
		"GIT_PROTOCOL_FROM_USER=0",
	}
}

// bounded stores what is written up to a size. The rest is dropped or, unless drop is set, is an
// error, which ends the writer.
type bounded struct {
	bytes.Buffer
	max  int64
	drop bool
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := max(b.max-int64(b.Len()), 0)
	if int64(len(p)) <= room {
		return b.Buffer.Write(p)
	}
	b.Buffer.Write(p[:room])
	b.full = true
	if b.drop {
		return len(p), nil
	}
	return int(room), io.ErrShortWrite
}

// shadow is a repository of our own that borrows another's objects: git reads our configuration,
// attributes, hooks and references, never those of the repository that the objects belong to.
type shadow struct {
	dir     string
	objects string // where new objects are stored
	env     []string
	lock    *os.File
}

// rawAttributes override every .gitattributes: files are byte sequences, nothing converts them,
// and no file can declare itself binary to be left out of a diff.
const rawAttributes = "* -text !eol !crlf -ident !filter !working-tree-encoding !diff !merge !conflict-marker-size !whitespace !export-subst\n"

// shadow makes a shadow. Its objects are discarded with it, unless keep is set: they are then
// added to the repository's.
func (r *Repo) shadow(keep bool) (*shadow, error) {
	dir, err := os.MkdirTemp(r.scratch, "tri-git-")
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "make scratch repository: %w", err)
	}
	s := &shadow{dir: dir, objects: filepath.Join(dir, "objects")}
	theirs := filepath.Join(r.common, "objects")
	if keep {
		s.objects = theirs
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = " +
		r.format + "\n"
	s.env = []string{"GIT_OBJECT_DIRECTORY=" + s.objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoteAlternate(theirs),
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	err = errors.Join(os.Mkdir(filepath.Join(dir, "objects"), 0o700),
		os.Mkdir(filepath.Join(dir, "refs"), 0o700), os.Mkdir(filepath.Join(dir, "info"), 0o700))
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config,
		"info/attributes": rawAttributes, "lock": ""} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err == nil {
		// The lock shows whether the folder's creator is alive.
		if s.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_CLOEXEC, 0); err == nil {
			err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
	}
	if err != nil {
		s.close()
		return nil, sysexit.Errorf(sysexit.IO, "make scratch repository: %w", err)
	}
	return s, nil
}

// quoteAlternate quotes a path so that a ':' in it is not a separator.
func quoteAlternate(path string) string {
	if strings.ContainsAny(path, ":\"") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
	}
	return path
}

// git runs a command in the shadow.
func (s *shadow) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return git(ctx, call{dir: s.dir, env: s.env, args: args, stdin: stdin})
}

func (s *shadow) line(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := s.git(ctx, bytes.NewReader(stdin), args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func (s *shadow) close() {
	if s.lock != nil {
		s.lock.Close()
	}
	_ = os.RemoveAll(s.dir) // Prune removes what remains
}
