package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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
	setDefaults(c)
	c.Box.fill()
	c.fillSweep()
	c.Investigator.fill("search", 2)
	c.Validator.fill("none", 1)
	c.Voice.Model.fill("none", 1)
	if c.Validator.Agent == c.Investigator.Agent {
		setDefault(&c.Validator.Model, c.Investigator.Model)
	}
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

// resolvePaths makes the paths of the file absolute: relative ones are relative to the file's folder,
// "~" is the user's home.
func (c *Config) resolvePaths(dir string) {
	for name, path := range map[string]*string{"prompts": &c.Dispatch.PromptsDir, "packs": &c.Classifier.PacksDir} {
		if own := filepath.Join(dir, name); *path == "" && isDir(own) {
			*path = own
		}
	}
	resolve := func(p string) string {
		switch home, err := os.UserHomeDir(); {
		case p == "" || filepath.IsAbs(p):
			return p
		case (p == "~" || strings.HasPrefix(p, "~/")) && err == nil:
			return filepath.Join(home, strings.TrimPrefix(p, "~"))
		}
		return filepath.Join(dir, p)
	}
	eachField(reflect.ValueOf(c).Elem(), func(f reflect.StructField, v, _ reflect.Value) {
		if f.Tag.Get("is") != "path" {
			return
		}
		switch p := v.Addr().Interface().(type) {
		case *string:
			*p = resolve(*p)
		case *[]string:
			for i := range *p {
				(*p)[i] = resolve((*p)[i])
			}
		}
	})
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

// Home opens a home, with one of the functions of durable, and reads its configuration, or file
// instead.
func Home(open func(string) (*durable.Home, error), dir, file string) (*durable.Home, *Config, error) {
	home, err := open(dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := ForHome(home.Dir(), file)
	if err != nil {
		home.Close()
		return nil, nil, err
	}
	return home, c, nil
}

// ForHome is Load for a program that works in one home: it reads file if it is not "", else the
// home's config.yaml, else returns the defaults. It never reads another home's.
func ForHome(home, file string) (*Config, error) {
	if file == "" && home != "" {
		file = filepath.Join(home, "config.yaml")
		info, err := os.Stat(file)
		if os.IsNotExist(err) {
			return Default(), nil
		}
		if err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, sysexit.Errorf(sysexit.Config, "%q is not a file", file)
		}
	}
	return Load(file)
}

// Folder returns the folder of a codebase named in a record. The record names it as the
// configuration does or, like tri-dispatch, by the folder itself.
func (c *Config) Folder(codebase string) string {
	if b := c.codebase(codebase); b != nil {
		return b.Path
	}
	return codebase
}

func (c *Config) codebase(name string) *Codebase {
	for i := range c.Codebases {
		if c.Codebases[i].Name == name && name != "" {
			return &c.Codebases[i]
		}
	}
	return nil
}
