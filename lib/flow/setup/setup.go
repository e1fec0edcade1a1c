// Package setup asks a team's few questions and writes a commented configuration.
package setup

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
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
	Agent         string   // search, claude; api for a model on this machine
	Model         string   // of api
	ModelURL      string
	Approvers     []string
	Language      string

	// Section is the text under chat: for platforms configured entirely by their guide. Begin sets it.
	Section string
}

// ErrExists means that a configuration exists already.
var ErrExists = fmt.Errorf("there is a configuration already")

func exists(path string) error {
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("write %q: %w", path, ErrExists)),
		"--force replaces it")
}

//go:embed config.yaml.tmpl
var text string

var page = template.Must(template.New("config.yaml").Funcs(template.FuncMap{"q": quote, "list": list,
	"name": filepath.Base}).Parse(text))

// Write writes the home's configuration from the answers and returns its path. It replaces an existing one
// only if force is set.
func Write(h *durable.Home, a Answers, force bool) (string, error) {
	path := h.Path(FileName)
	if h.Exists(FileName) && !force {
		return path, exists(path)
	}
	b, cfg, err := render(path, a)
	if err != nil {
		return path, err
	}
	if err := h.Replace(FileName, b); err != nil {
		return path, err
	}
	if a.Platform == "local" {
		if err := os.MkdirAll(cfg.Chat.Local.Dir, 0o700); err != nil {
			return path, sysexit.With(sysexit.IO, fmt.Errorf("make local chat: %w", err))
		}
	}
	return path, nil
}

// Next says how to try a new configuration: for a local chat, the commands that ask a question.
func Next(cfg *config.Config) string {
	if on := cfg.On(); len(on) != 1 || on[0] != config.PlatformLocal {
		return "tri up starts the pipeline, tri-approve tui is where drafts wait for you"
	}
	room := filepath.Join(cfg.Chat.Local.Dir, "dev")
	return fmt.Sprintf("tri up; echo 'ana: where is the retry limit?' >>%s; tri-approve tui", room)
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
