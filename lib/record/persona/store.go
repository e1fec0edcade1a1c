package persona

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/secret"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Dir is the folder of the personas below a home. A person's editor and tri-panel write it.
const Dir = "personas"

// Archive is the folder of removed personas.
const Archive = Dir + "/.archived"

// All returns the personas of a home and, unless the home has one with the same id, the defaults. h may be
// nil.
func All(h *durable.Home) ([]Persona, error) {
	all := Defaults()
	if h == nil {
		return all, nil
	}
	names, err := h.List(Dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		b, err := h.ReadFile(Dir + "/" + name)
		if err != nil {
			return nil, sysexit.With(sysexit.IO, fmt.Errorf("read persona: %w", err))
		}
		p, err := Parse(b)
		if err == nil && p.ID+".json" != name {
			err = sysexit.With(sysexit.Data, fmt.Errorf("id is %s", p.ID))
		}
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", Dir, name, err)
		}
		if i := slices.IndexFunc(all, func(o Persona) bool { return o.ID == p.ID }); i >= 0 {
			all[i] = *p
		} else {
			all = append(all, *p)
		}
	}
	sortByName(all)
	return all, nil
}

// Put writes a persona's file. Secrets that the record holds in the clear are encrypted into the store.
func Put(h *durable.Home, s *secret.Store, p *Persona, now time.Time) error {
	p.UpdatedAt = text.Timestamp(now)
	if p.CreatedAt == "" {
		p.CreatedAt = p.UpdatedAt
	}
	p.fill()
	clear := p.Clear()
	if err := p.check(); err != nil {
		return sysexit.With(sysexit.Data, fmt.Errorf("persona %q: %w", text.Line(p.Name, 40), err))
	}
	for name, value := range clear {
		if err := s.Set(p.SecretName(name), value); err != nil {
			return err
		}
	}
	b, err := Marshal(p)
	if err != nil {
		return err
	}
	return h.Replace(Dir+"/"+p.ID+".json", b)
}

// Remove moves a persona's file to the archive. A default comes back as it was shipped.
func Remove(h *durable.Home, p *Persona, now time.Time) error {
	name := Dir + "/" + p.ID + ".json"
	if !h.Exists(name) {
		return sysexit.With(sysexit.NoInput,
			fmt.Errorf("remove %q: it is a default, and inactive unless the home changes it", p.Name))
	}
	return h.Move(name, fmt.Sprintf("%s/%s-%s.json", Archive, p.ID, now.UTC().Format("20060102T150405Z")))
}

// Marshal returns a persona as it is written, indented.
func Marshal(p *Persona) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("write persona: %w", err)
	}
	return b.Bytes(), nil
}

// fill makes empty lists and maps of missing ones, so that an editor shows every field.
func (p *Persona) fill() { fill(reflect.ValueOf(p).Elem()) }

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fill(v.Index(i))
		}
	}
}

// Source says where a setting of Effective came from.
type Source struct {
	Agent   string `json:"agent"`
	API     string `json:"api,omitempty"`
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	Key     string `json:"key,omitempty"` // "secret NAME", "env NAME", "file PATH" or "none"
	// From is persona, config or environment, by setting.
	From map[string]string `json:"from"`
}

// Effective returns the agent that answers for a persona: each setting from the persona, else the
// configuration's validator, else the environment (ANTHROPIC_API_KEY with ANTHROPIC_MODEL, or
// OPENAI_API_KEY with OPENAI_MODEL). s may be nil if the persona has no secrets. env are the persona's
// variables, KEY=value.
func Effective(p *Persona, cfg config.Agent, s *secret.Store,
	getenv func(string) string) (a config.Agent, src Source, env []string, err error) {
	a, src = cfg, Source{From: map[string]string{}}
	m := Model{}
	if p.Model != nil {
		m = *p.Model
	}
	configured := cfg.Agent != "" && cfg.Agent != "none"
	if m.API != "" || m.Model != "" && m.Agent == "" && !configured {
		m.Agent = cmp.Or(m.Agent, "api")
	}
	envAPI := environmentAPI(getenv)
	from := func(setting, persona, config, environment string) string {
		for i, v := range []string{persona, config, environment} {
			if v != "" {
				src.From[setting] = []string{"persona", "config", "environment"}[i]
				return v
			}
		}
		return ""
	}
	agentOf := map[bool]string{true: cfg.Agent}[configured]
	envAgent := map[bool]string{true: "api"}[envAPI != ""]
	a.Agent = from("agent", m.Agent, agentOf, envAgent)
	if a.Agent == "" {
		return a, src, nil, sysexit.Hint(sysexit.With(sysexit.Config,
			fmt.Errorf("persona %q: no model", p.Name)),
			"name one in its model_config, under `validator:`, or in the environment")
	}
	same := configured && a.Agent == cfg.Agent // settings of another program say nothing of this one
	if !same {
		a.Command, a.Model, a.Env, a.KeyEnv, a.KeyFile, a.BaseURL, a.API = nil, "", nil, "", "", "", ""
	}
	if a.Agent == "api" {
		a.API = cmp.Or(from("api", m.API, a.API, envAPI), config.Anthropic)
		if a.API != cfg.API || !same {
			a.BaseURL, a.KeyEnv, a.KeyFile = "", "", ""
		}
	}
	a.Model = from("model", m.Model, a.Model,
		map[bool]string{true: getenv(strings.ToUpper(envAPI) + "_MODEL")}[envAPI == a.API && envAPI != ""])
	if a.Agent == "api" {
		a.BaseURL = from("base_url", m.BaseURL, a.BaseURL, "")
	}
	a.Complete()
	if env, err = p.environ(s); err != nil {
		return a, src, nil, err
	}
	p.key(&a, &src, env, a.BaseURL == cfg.BaseURL || src.From["base_url"] != "persona", getenv)
	if src.Agent, src.Model = a.Agent, a.Model; a.Agent == "api" {
		src.API, src.BaseURL = a.API, a.BaseURL
	}
	return a, src, env, nil
}

// environmentAPI returns the API whose key and model the environment has, "" if it has neither.
func environmentAPI(getenv func(string) string) string {
	for _, api := range []string{config.Anthropic, config.OpenAI} {
		if name := strings.ToUpper(api); getenv(name+"_API_KEY") != "" && getenv(name+"_MODEL") != "" {
			return api
		}
	}
	return ""
}

// key finds the key of an API agent: the persona's own, or if the server is the configuration's, that
// of the environment or of a file. A key goes to no server but the one that it was configured for.
func (p *Persona) key(a *config.Agent, src *Source, env []string, configured bool,
	getenv func(string) string) {
	if a.Agent != "api" {
		return
	}
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); name == a.KeyEnv {
			a.KeyValue, src.Key, src.From["key"] = value, "secret "+p.SecretName(name), "persona"
			return
		}
	}
	if !configured {
		a.KeyEnv, a.KeyFile = "", ""
	}
	switch {
	case a.KeyEnv != "" && getenv(a.KeyEnv) != "":
		src.Key, src.From["key"] = "env "+a.KeyEnv, "environment"
	case a.KeyFile != "":
		src.Key, src.From["key"] = "file "+a.KeyFile, "config"
	default:
		src.Key = "none"
	}
}

// environ returns the persona's variables with the values of their secrets.
func (p *Persona) environ(s *secret.Store) (env []string, err error) {
	if p.Model == nil {
		return nil, nil
	}
	for name := range p.Model.Env {
		if s == nil {
			return nil, errors.New("persona has secrets, and there is no home")
		}
		value, err := s.Get(p.SecretName(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, sysexit.Hint(sysexit.With(sysexit.NoPerm,
				fmt.Errorf("persona %q: %s is not set", p.Name, name)),
				fmt.Sprintf("tri-panel key set %s.%s", p.Name, name))
		}
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}
