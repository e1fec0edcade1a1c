package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"tri/lib/sysexit"
)

// maxFile is the most that a configuration can have, in bytes.
const maxFile = 1 << 20

// Default is the configuration of a team that has written none.
func Default() *Config {
	c := new(Config)
	c.fill()
	return c
}

// fill puts defaults where nothing was said.
func (c *Config) fill() {
	str := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	num := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
	}
	str(&c.Sandbox, "required")
	str(&c.Chat.Local.BotName, "tri")
	str(&c.Chat.Mattermost.TokenEnv, "MATTERMOST_TOKEN")
	str(&c.Classifier.OtherBots, "ignore")
	str(&c.Team.Language, "en")
	str(&c.Investigator.Agent, "search")
	str(&c.Validator.Agent, "none")
	num(&c.Investigator.HardCapRuntimeMin, 5)
	num(&c.Validator.HardCapRuntimeMin, 5)
	num(&c.Escalation.ExpectedRuntimeMinThreshold, 10)
	num(&c.Dispatch.OfferExpiresH, 72)
	if c.Investigator.MaxRounds == 0 {
		c.Investigator.MaxRounds = 2
	}
	if c.Validator.MaxRounds == 0 {
		c.Validator.MaxRounds = 1
	}
	if c.Dispatch.Concurrency == 0 {
		c.Dispatch.Concurrency = 3
	}
	if c.Budget.InvestigationsPerDay == nil {
		c.Budget.InvestigationsPerDay = new(50)
	}
	if c.Budget.InvestigationsPerPersonPerDay == nil {
		c.Budget.InvestigationsPerPersonPerDay = new(10)
	}
}

// Load reads a configuration; "" is config.yaml of $TRI_HOME (by default ~/.tri),
// and the defaults where there is none. All that is wrong is said at once, with
// its line.
func Load(path string) (*Config, error) {
	named := path != ""
	if !named {
		path = filepath.Join(homeDir(), "config.yaml")
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return Default(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := parse(path, text)
	if err != nil {
		return nil, sysexit.With(sysexit.Config, err)
	}
	return c, nil
}

func homeDir() string {
	if dir := os.Getenv("TRI_HOME"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".tri"
	}
	return filepath.Join(home, ".tri")
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(text) > maxFile {
		return nil, sysexit.With(sysexit.Config, fmt.Errorf("%s: over %d bytes", path, maxFile))
	}
	return text, err
}

func parse(path string, text []byte) (*Config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, yamlError(path, err)
	}
	c := new(Config)
	if len(doc.Content) > 0 {
		if err := check(path, &doc); err != nil {
			return nil, err
		}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		dec.KnownFields(true)
		if err := dec.Decode(c); err != nil {
			return nil, yamlError(path, err)
		}
		if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: more than one document", path)
		}
	}
	c.fill()
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c.Path = abs
	c.anchor(filepath.Dir(abs))
	return c, c.compile(path, &doc)
}

func yamlError(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text = strings.TrimPrefix(text, "line ")
	return fmt.Errorf("%s:%s", path, strings.ReplaceAll(text, "\n  line ", "\n"+path+":"))
}

// anchor makes the folders of the file absolute: relative ones are relative to
// the file itself, "~" is the user's home.
func (c *Config) anchor(dir string) {
	fix := func(p *string) {
		switch home, err := os.UserHomeDir(); {
		case *p == "" || filepath.IsAbs(*p):
		case (*p == "~" || strings.HasPrefix(*p, "~/")) && err == nil:
			*p = filepath.Join(home, strings.TrimPrefix(*p, "~"))
		default:
			*p = filepath.Join(dir, *p)
		}
	}
	fix(&c.Chat.Local.Dir)
	fix(&c.Chat.Mattermost.TokenFile)
	fix(&c.Escalation.TranscriptDir)
	if c.Dispatch.PromptsDir == "" {
		if prompts := filepath.Join(dir, "prompts"); isDir(prompts) {
			c.Dispatch.PromptsDir = prompts
		}
	}
	fix(&c.Dispatch.PromptsDir)
	for i := range c.Codebases {
		fix(&c.Codebases[i].Path)
	}
	for i := range c.Knowledge {
		fix(&c.Knowledge[i])
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// CodebaseFor is the folder that questions of a chat are answered from: the one
// named for the chat, or the first. "" when there is none.
func (c *Config) CodebaseFor(platform, chatID string) string {
	if len(c.Codebases) == 0 {
		return ""
	}
	for _, chat := range c.WatchedChats {
		if chat.ChatID != chatID || chat.Platform != "" && chat.Platform != platform || chat.Codebase == "" {
			continue
		}
		for _, b := range c.Codebases {
			if b.Name == chat.Codebase {
				return b.Path
			}
		}
	}
	return c.Codebases[0].Path
}

// Secret reads a secret from the environment, or else from a file that only we
// can read. It is never in the configuration itself, nor in a flag.
func (c *Config) Secret(env, file string) (string, error) {
	if v := os.Getenv(env); env != "" && v != "" {
		return v, nil
	}
	if file == "" {
		return "", sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("no token: $%s is empty", env)), "set it, or name a token_file of mode 0600")
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", sysexit.With(sysexit.NoPerm, fmt.Errorf("token file: %w", err))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); info.Mode().Perm()&0o077 != 0 || ok && int(st.Uid) != os.Geteuid() {
		return "", sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("token file %q: others can read it", file)), "chmod 600 "+file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", sysexit.With(sysexit.NoPerm, fmt.Errorf("token file: %w", err))
	}
	return strings.TrimSpace(string(b)), nil
}

// Secrets are those of ours that can be had, for the check that no draft tells
// one.
func (c *Config) Secrets() []string {
	var secrets []string
	if v, err := c.Secret(c.Chat.Mattermost.TokenEnv, c.Chat.Mattermost.TokenFile); err == nil && v != "" {
		secrets = append(secrets, v)
	}
	for _, name := range append([]string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}, append(c.Investigator.Env, c.Validator.Env...)...) {
		if v := os.Getenv(name); len(v) >= 12 {
			secrets = append(secrets, v)
		}
	}
	return secrets
}
