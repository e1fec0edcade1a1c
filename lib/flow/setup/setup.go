// Package setup asks a team's few questions and writes a commented configuration.
package setup

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// FileName is the configuration's name in the home.
const FileName = "config.yaml"

// Answers are the values for a configuration. Empty ones get a default, or are left out of the file.
type Answers struct {
	Platform      string // local, mattermost, slack, …
	LocalDir      string
	MattermostURL string
	Chats         []string // ids; none: all that the bot can see
	Codebases     []string // folders
	Agent         string   // search, or a program; api for a model on this machine
	Model         string   // of api
	ModelURL      string
	Approvers     []string
	Language      string

	// Section is the text under chat: for platforms configured entirely by their guide. Begin sets it.
	Section string
}

//go:embed config.yaml.tmpl
var source string

var page = template.Must(template.New("config.yaml").Funcs(template.FuncMap{"q": quote, "list": list,
	"name": filepath.Base}).Parse(source))

// Next returns the command line that tries a new configuration: with the home, if it is not ~/.tri, with the
// approver, if the environment has another, and for a local chat and a codebase with a question. A shell
// takes it as it is; it is broken after && if it is wider than a line.
func Next(cfg *config.Config) string {
	var env string
	// TRI_HOME may be set for tri init alone, so only the usual home needs no word of it.
	if home := filepath.Dir(cfg.Path); short(home) != "~/.tri" {
		env += " TRI_HOME=" + text.Quote(home) // not every shell expands ~ here
	}
	if user := cmp.Or(os.Getenv("TRI_USER"), os.Getenv("USER")); !slices.Contains(cfg.Team.Approvers, user) {
		env += " TRI_USER=" + text.Quote(cfg.Team.Approvers[0])
	}
	var all []string
	if env != "" {
		all = append(all, "export"+env)
	}
	all = append(all, "tri up")
	if on := cfg.On(); len(on) == 1 && on[0] == config.PlatformLocal && len(cfg.Codebases) > 0 {
		all = append(all, "echo 'ana: where is main?' >>"+short(filepath.Join(cfg.Chat.Local.Dir, "dev")))
	}
	all = append(all, "tri-approve tui")
	if len(cfg.Codebases) == 0 {
		return "  # name a folder of code under codebases in " + short(cfg.Path) + ", then\n  " +
			strings.Join(all, " &&\n  ")
	}
	if line := "  " + strings.Join(all, " && "); len(line) <= 80 {
		return line
	}
	return "  " + strings.Join(all, " &&\n  ")
}

// short quotes a path for a shell, with ~ for the person's home.
func short(name string) string {
	if user, err := os.UserHomeDir(); err == nil {
		if below, ok := strings.CutPrefix(name, user+"/"); ok && below == text.Quote(below) {
			return "~/" + below
		}
	}
	return text.Quote(name)
}

// render returns the file's text and the configuration parsed from it.
func render(path string, a Answers) ([]byte, *config.Config, error) {
	for _, s := range append(append(append([]string{a.LocalDir, a.MattermostURL, a.Language}, a.Chats...),
		a.Codebases...), a.Approvers...) {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return nil, nil, sysexit.With(sysexit.Usage, fmt.Errorf("answer %q: has control characters", s))
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, a); err != nil {
		return nil, nil, fmt.Errorf("write configuration: %w", err)
	}
	cfg, err := config.Parse(path, b.Bytes())
	if err != nil {
		return nil, nil, sysexit.With(sysexit.Usage,
			fmt.Errorf("these answers make no valid configuration: %w", err))
	}
	return b.Bytes(), cfg, nil
}

// quote returns a string as YAML.
func quote(s string) (string, error) {
	b, err := yaml.Marshal(s)
	return strings.TrimSuffix(string(b), "\n"), err
}

func list(items []string) (string, error) {
	node := yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, item := range items {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
	}
	b, err := yaml.Marshal(&node)
	return strings.TrimSuffix(string(b), "\n"), err
}
