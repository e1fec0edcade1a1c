package config

import (
	"errors"
	"regexp"
)

// Forge is where pull requests are opened. On github.com, gitlab.com, codeberg.org
// and gitea.com a token is all that is needed: the rest is read from the address
// of the checkout's remote. A token is sent to no other host than the one that
// stands here, or to one of those four.
type Forge struct {
	Kind    string `yaml:"kind"`    // github, gitlab or gitea (Forgejo too)
	URL     string `yaml:"url"`     // as people open it; default the public one of the kind
	Project string `yaml:"project"` // owner/name; default that of the remote
	Remote  string `yaml:"remote"`  // name of git's; default origin
	Into    string `yaml:"into"`    // branch that it is to go into; default the project's own
	// Push is how the branch gets there: "https" (default), with the token, or
	// "ssh", with the user's keys, to the remote's address.
	Push      string `yaml:"push"`
	TokenEnv  string `yaml:"token_env"` // default GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN
	TokenFile string `yaml:"token_file"`
}

func (g *Forge) fill() {
	if g.Remote == "" {
		g.Remote = "origin"
	}
	if g.Push == "" {
		g.Push = "https"
	}
}

// DefaultTokenEnv is the variable that holds the token of a kind of forge.
func DefaultTokenEnv(kind string) string {
	return map[string]string{"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "gitea": "GITEA_TOKEN"}[kind]
}

var (
	projectName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]*[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)
	refName     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$`)
)

// ProjectName says whether a name is owner/name, and can stand in an address.
func ProjectName(name string) bool { return projectName.MatchString(name) }

// compile names, with its line, what the schema cannot see.
func (g *Forge) compile(f *faults) {
	if g.URL != "" {
		_, err := webURL(g.URL)
		f.add(err, "forge", "url")
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

// credential is where the token may be found.
func (g *Forge) credential() [][2]string {
	env := g.TokenEnv
	if env != "" {
		return [][2]string{{env, g.TokenFile}}
	}
	return [][2]string{{"GITHUB_TOKEN", ""}, {"GITLAB_TOKEN", ""}, {"GITEA_TOKEN", g.TokenFile}}
}
