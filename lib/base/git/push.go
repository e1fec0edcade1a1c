package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// Push says what is pushed where.
type Push struct {
	// URL is https://host/path, http:// on loopback, ssh://user@host/path or user@host:path. Over
	// ssh the user's own keys and configuration apply.
	URL    string
	Header string // of each HTTP request, with the credential: "Authorization: …"; never on a command line
	Commit string
	Branch string // the remote branch, without refs/heads/
}

// passes are the inherited variables that a push needs, for proxies, certificates and, over ssh,
// keys.
var passes = map[string][]string{
	"http": {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"},
	"ssh": {"HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"},
}

// scpLike matches user@host:path, in a form that cannot be an option.
var scpLike = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_~/][A-Za-z0-9_~/.+-]*$`)

// Push pushes a commit to a remote branch. The branch may already be at that commit; at any other
// it is refused, never overwritten. The repository's configuration is ignored: its remotes, URL
// rewrites, helpers and hooks.
func (r *Repo) Push(ctx context.Context, p Push) error {
	protocols, kind, err := road(p.URL)
	if err == nil {
		err = commit(p.Commit)
	}
	if err == nil && !branchName.MatchString(p.Branch) {
		err = sysexit.Errorf(sysexit.Usage, "branch %q: want small letters, digits, - and _", p.Branch)
	}
	if err != nil {
		return err
	}
	s, err := r.shadow(false)
	if err != nil {
		return err
	}
	defer s.close()
	// A shallow clone lacks the earlier history, and git must know.
	if b, err := os.ReadFile(filepath.Join(r.common, "shallow")); err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "shallow"), b, 0o600)
		if err != nil {
			return sysexit.With(sysexit.IO, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return sysexit.With(sysexit.IO, err)
	}
	env := append(s.env, "GIT_ALLOW_PROTOCOL="+protocols,
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes -oClearAllForwardings=yes")
	for _, name := range passes[kind] {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if p.Header != "" && kind == "http" {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http."+p.URL+".extraHeader",
			"GIT_CONFIG_VALUE_0="+p.Header)
	}
	_, err = git(ctx, call{dir: s.dir, env: env, config: []string{"http.followRedirects=false"},
		args: []string{"push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--no-follow-tags",
			"--no-signed", "--", p.URL, p.Commit + ":refs/heads/" + p.Branch}})
	if err != nil {
		return fmt.Errorf("push %s: %w", p.Branch, pushError(err))
	}
	return nil
}

// road returns the protocols that a push may use, and their kind.
func road(address string) (protocols, kind string, err error) {
	bad := sysexit.Errorf(sysexit.Config,
		"push address %q: want https://host/path or user@host:path", address)
	if scpLike.MatchString(address) && !strings.Contains(address, "://") {
		return "ssh", "ssh", nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.HasPrefix(u.Host, "-") ||
		strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), "-") {
		return "", "", bad
	}
	switch _, secret := u.User.Password(); {
	case secret:
		return "", "", bad
	case u.Scheme == "ssh" && !strings.HasPrefix(u.User.Username(), "-"):
		return "ssh", "ssh", nil
	case u.Scheme == "https" && u.User == nil:
		return "https", "http", nil
	case u.Scheme == "http" && u.User == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" ||
		u.Hostname() == "localhost"):
		return "http", "http", nil
	}
	return "", "", bad
}

// pushError adds to git's error what a person can do.
func pushError(err error) error {
	said := err.Error()
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(said, s) })
	}
	switch {
	case has("Updates were rejected"):
		return sysexit.Hint(sysexit.With(sysexit.No, err),
			"the remote has another branch of that name: rename or delete it")
	case has("Authentication failed", "could not read Username", "error: 401", "error: 403",
		"Permission denied"):
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token, or key, is refused, or may not write to the project")
	case has("not found", "error: 404"):
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), "no such project, or the token may not see it")
	}
	return sysexit.With(sysexit.Unavailable, err)
}

// Remote returns the address of a remote, from the repository's own configuration, "" if there is
// none.
func (r *Repo) Remote(ctx context.Context, name string) (string, error) {
	out, err := git(ctx, call{dir: r.common, ok: 1,
		args: []string{"config", "--file", filepath.Join(r.common, "config"), "--no-includes", "--get",
			"remote." + name + ".url"}})
	return strings.TrimSuffix(string(out), "\n"), err
}
