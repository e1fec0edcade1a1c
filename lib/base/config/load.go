package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// maxFile is the maximum size of a configuration, in bytes.
const maxFile = 1 << 20

// Default returns the configuration of a team that has written none.
func Default() *Config {
	c := new(Config)
	c.fill()
	return c
}

// fill sets defaults.
func (c *Config) fill() {
	setDefault(&c.Sandbox, "required")
	c.Chat.fill()
	c.Gate.fill()
	c.Voice.fill()
	c.Forge.fill()
	c.Nats.fill()
	c.Box.fill()
	c.Panel.fill()
	c.fillSweep()
	c.Investigator.fill("search", 2)
	c.Validator.fill("none", 1)
	if c.Validator.Agent == c.Investigator.Agent {
		setDefault(&c.Validator.Model, c.Investigator.Model)
	}
	setDefault(&c.Classifier.OtherBots, "ignore")
	setDefault(&c.Team.Language, "en")
	c.Escalation.fill()
	setDefault(&c.Dispatch.OfferExpiresH, 72)
	setDefault(&c.Dispatch.MaxQuestionAgeH, 24)
	setPointer(&c.Turn.HoldS, 2.5)
	setPointer(&c.Turn.MaxHoldS, 15)
	c.Inbox.fill()
	setDefault(&c.Dispatch.Concurrency, 3)
	setPointer(&c.Budget.InvestigationsPerDay, 50)
	setPointer(&c.Budget.InvestigationsPerPersonPerDay, 10)
}

// Load reads a configuration; "" means config.yaml of $TRI_HOME (by default ~/.tri), or the
// defaults if there is none. All errors are reported at once, with their lines.
func Load(path string) (*Config, error) {
	named := path != ""
	if !named {
		path = filepath.Join(durable.DefaultDir(), "config.yaml")
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return Default(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = sysexit.Hint(err,
			"tri init writes one; without --config, the home's config.yaml is read; without that, defaults apply")
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, text)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(text) > maxFile {
		return nil, sysexit.Errorf(sysexit.Config, "%s: over %d bytes", path, maxFile)
	}
	return text, err
}

// Parse reads a configuration from its text. path is the file that holds it, or will.
func Parse(path string, text []byte) (*Config, error) {
	c, err := parse(path, text)
	if err != nil {
		return nil, sysexit.With(sysexit.Config, err)
	}
	return c, nil
}

func parse(path string, text []byte) (*Config, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", path)
	}
	c := new(Config)
	f := &faults{path: path, doc: &doc}
	if len(doc.Content) > 0 {
		r, err := theRule()
		if err != nil {
			return nil, err
		}
		if f.check(doc.Content[0], r, ""); len(f.all) > 0 {
			return nil, f.err()
		}
		if err := doc.Decode(c); err != nil {
			return nil, yamlError(path, err)
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c.fill()
	c.Path = abs
	c.resolvePaths(filepath.Dir(abs))
	for _, a := range []*Agent{&c.Investigator, &c.Validator, &c.Box.Agent} {
		a.Codebases, a.WaitMin = c.Codebases, c.Nats.WaitMin
	}
	c.compile(f)
	return c, f.err()
}

// yamlError converts the parser's message ("yaml: line 3: …", some without a line, some with
// several) to the form file:line: message.
func yamlError(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	var said []string
	for complaint := range strings.SplitSeq(text, "\n") {
		complaint = strings.TrimSpace(complaint)
		if rest, ok := strings.CutPrefix(complaint, "line "); ok {
			said = append(said, path+":"+rest)
		} else {
			said = append(said, path+": "+complaint)
		}
	}
	return errors.New(strings.Join(said, "\n"))
}

// resolvePaths makes the folders of the file absolute: relative ones are relative to the file's folder,
// "~" is the user's home.
func (c *Config) resolvePaths(dir string) {
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
	for _, file := range slices.Concat(c.Chat.files(), c.Investigator.files(), c.Validator.files(),
		c.Box.Agent.files(), c.sweepFiles(),
		c.Voice.Model.files(), []*string{&c.Voice.Style, &c.Forge.TokenFile}, c.Nats.files()) {
		fix(file)
	}
	fix(&c.Escalation.TranscriptDir)
	for _, f := range []struct {
		path *string
		name string
	}{{&c.Dispatch.PromptsDir, "prompts"}, {&c.Classifier.PacksDir, "packs"}} {
		if own := filepath.Join(dir, f.name); *f.path == "" && isDir(own) {
			*f.path = own
		}
		fix(f.path)
	}
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

// CodebaseFor returns the folder for questions of a chat: the one configured for the chat, or the
// first. "" if there is none.
func (c *Config) CodebaseFor(platform, chatID string) string {
	if len(c.Codebases) == 0 {
		return ""
	}
	if b := c.codebase(chatID); platform == PlatformSweep && b != nil {
		return b.Path
	}
	for _, chat := range c.WatchedChats {
		b := c.codebase(chat.Codebase)
		if b != nil && chat.ChatID == chatID && (chat.Platform == "" || chat.Platform == platform) {
			return b.Path
		}
	}
	return c.Codebases[0].Path
}
