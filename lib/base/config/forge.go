package config

import (
	"errors"

	"tri/lib/base/lazyregexp"
)

// Forge says where pull requests are opened. On github.com, gitlab.com, codeberg.org and gitea.com
// only a token is needed: the rest is taken from the URL of the checkout's remote. A token is sent
// only to the host in URL or to one of those four.
type Forge struct {
	Kind    string `yaml:"kind"`                    // github, gitlab or gitea (also Forgejo)
	URL     string `yaml:"url"`                     // as opened in a browser; default: the kind's public one
	Project string `yaml:"project"`                 // owner/name; default: the remote's
	Remote  string `yaml:"remote" default:"origin"` // name of the git remote
	Into    string `yaml:"into"`                    // target branch; default: the project's own
	// Push is how the branch is pushed: "https" (default), with the token, or "ssh", with the
	// user's keys, to the remote's address.
	Push      string `yaml:"push" default:"https"`
	TokenEnv  string `yaml:"token_env"` // default GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN
	TokenFile string `yaml:"token_file" is:"path"`
	// Issues lets tri-reply close, label and file issues of Project, as people approved.
	Issues bool `yaml:"issues"`
}

// DefaultTokenEnv returns the variable that holds the token of a kind of forge.
func DefaultTokenEnv(kind string) string {
	return map[string]string{"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "gitea": "GITEA_TOKEN"}[kind]
}

var (
	projectName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]*[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)
	refName     = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$`)
)

// ProjectName reports whether name is owner/name and valid in a URL.
func ProjectName(name string) bool { return projectName.MatchString(name) }

// compile reports, with line numbers, errors that the schema cannot express.
func (g *Forge) compile(f *faults) {
	if g.URL != "" {
		f.add(webURL(g.URL), "forge", "url")
		if g.Kind == "" {
			f.add(errors.New("needs kind too: github, gitlab or gitea"), "forge", "url")
		}
	}
	if g.Kind == "gitea" && g.URL == "" {
		f.add(errors.New("needs url too: every Gitea has its own"), "forge", "kind")
	}
	if g.Project != "" && !ProjectName(g.Project) {
		f.add(errors.New("want owner/name"), "forge", "project")
	}
	if g.Issues && (g.Project == "" || g.Kind == "") {
		f.add(errors.New("needs kind and project too: no remote says where issues are"), "forge", "issues")
	}
	if !refName.MatchString(g.Remote) {
		f.add(errors.New("want the name of a remote, as git remote lists them"), "forge", "remote")
	}
	if g.Into != "" && !refName.MatchString(g.Into) {
		f.add(errors.New("want the name of a branch"), "forge", "into")
	}
	if g.TokenEnv != "" {
		f.add(variable(g.TokenEnv), "forge", "token_env")
	}
}

// credential returns the variables and the file that may hold the token.
func (g *Forge) credential() [][2]string {
	if g.TokenEnv != "" {
		return [][2]string{{g.TokenEnv, g.TokenFile}}
	}
	return [][2]string{{"GITHUB_TOKEN", ""}, {"GITLAB_TOKEN", ""}, {"GITEA_TOKEN", g.TokenFile}}
}
