package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Agent is which program investigates or validates.
type Agent struct {
	Agent             string   `yaml:"agent"`   // search, api, or a program: lib/agent/all has the list; validator also none (default)
	Command           []string `yaml:"command"` // argv of exec and acp; of the others the program (default its usual name)
	Model             string   `yaml:"model"`
	MaxRounds         int      `yaml:"max_rounds"`           // default 2; validator 1
	HardCapRuntimeMin float64  `yaml:"hard_cap_runtime_min"` // default 5
	MaxBudgetUSD      float64  `yaml:"max_budget_usd"`       // of one run; 0 is no limit
	MaxTurns          int      `yaml:"max_turns"`            // of one run, as the next; 0 is no limit
	MaxTokens         int64    `yaml:"max_tokens"`           // in and out
	StallMin          float64  `yaml:"stall_min"`            // silence after which a run is ended; default 5
	Env               []string `yaml:"env"`                  // names of variables that the agent may see

	// Network are further endpoints that the program may dial out of its sandbox,
	// host:port; Read further files and folders that it may read there.
	Network []string `yaml:"network"`
	Read    []string `yaml:"read"`
	// MemoryMB and Processes, which counts threads, are what it may take there with
	// all that it starts; 0 is 4096 and 1024.
	MemoryMB  int `yaml:"memory_mb"`
	Processes int `yaml:"processes"`
	// DiskMB is what it may write; 0 is 8192.
	DiskMB int `yaml:"disk_mb"`

	// Of the agent api: an endpoint that is spoken to without any program.
	API             string  `yaml:"api"`               // "anthropic" (default) or "openai"
	BaseURL         string  `yaml:"base_url"`          // default that of API
	KeyEnv          string  `yaml:"key_env"`           // the variable with the key; default that of API
	KeyFile         string  `yaml:"key_file"`          // or a file of mode 0600
	MaxOutputTokens int     `yaml:"max_output_tokens"` // of one answer; default 8192
	Prices          *Prices `yaml:"prices"`            // nil: what a run costs is not known

	// Home is the folder below which the built-in search keeps its indexes; "" is
	// nowhere. The program sets it.
	Home string `yaml:"-"`
}

// Prices are of a model, in US dollars for a million tokens.
type Prices struct {
	Input      float64  `yaml:"input"`
	Output     float64  `yaml:"output"`
	CacheRead  *float64 `yaml:"cache_read"`  // input that was cached; default that of input
	CacheWrite *float64 `yaml:"cache_write"` // input that is cached by this; default that of input
}

// What the APIs are called, where they are, and which variable has their key.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

var endpoints = map[string]struct{ base, key string }{
	Anthropic: {"https://api.anthropic.com", "ANTHROPIC_API_KEY"},
	OpenAI:    {"https://api.openai.com/v1", "OPENAI_API_KEY"},
}

// Searches reports whether the agent has use for what a search finds: every one
// but the search itself.
func (a Agent) Searches() bool { return a.Agent != "" && a.Agent != "search" && a.Agent != "none" }

// usual are the programs that are not called as their agents are.
var usual = map[string]string{"continue": "cn", "cursor": "agent", "acp": "", "exec": "", "api": "", "search": "", "none": "", "": ""}

// Program is what starts the agent's program: Command, or its usual name. Nil where
// there is none.
func (a Agent) Program() []string {
	if len(a.Command) > 0 {
		return a.Command
	}
	if name, odd := usual[a.Agent]; !odd {
		return []string{a.Agent}
	} else if name != "" {
		return []string{name}
	}
	return nil
}

// variables are those that programs have their keys in, and that say where their
// model is; a login is a file under Read.
var variables = map[string][]string{
	"claude":   {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"},
	"codex":    {"OPENAI_API_KEY", "OPENAI_BASE_URL"},
	"cursor":   {"CURSOR_API_KEY"},
	"aider":    {"OPENAI_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE"},
	"continue": {"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	"gemini":   {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	"opencode": {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"},
	"qwen":     {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"},
	"goose":    {"GOOSE_PROVIDER", "GOOSE_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_HOST", "OPENAI_API_KEY", "OPENAI_HOST", "OLLAMA_HOST"},
}

// Variables are the names of those that the agent's program sees: Env, or what
// programs of its kind need.
func (a Agent) Variables() []string {
	if len(a.Env) > 0 {
		return a.Env
	}
	return variables[a.Agent]
}

var secretName = regexp.MustCompile(`(KEY|TOKEN|SECRET)$`)

// Keys are those of Variables that have a key by their names. Any one of them will
// do; there are none where nobody knows what the program needs.
func (a Agent) Keys() []string { return keys(a.Variables()) }

func keys(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !secretName.MatchString(name) })
}

// Key is the key of the agent api.
func (a Agent) Key() (string, error) { return secret(a.KeyEnv, a.KeyFile) }

// fill puts defaults where nothing was said.
func (a *Agent) fill(agent string, rounds int) {
	if a.Agent == "" {
		a.Agent = agent
	}
	if a.MaxRounds == 0 {
		a.MaxRounds = rounds
	}
	if a.HardCapRuntimeMin == 0 {
		a.HardCapRuntimeMin = 5
	}
	if a.StallMin == 0 {
		a.StallMin = 5
	}
	if a.API == "" {
		a.API = Anthropic
	}
	if a.MaxOutputTokens == 0 {
		a.MaxOutputTokens = 8192
	}
	at := endpoints[a.API]
	if a.KeyEnv == "" && a.KeyFile == "" {
		a.KeyEnv = at.key
	}
	if a.BaseURL == "" {
		a.BaseURL = at.base
	}
}

// files are the fields that name files and folders.
func (a *Agent) files() []*string {
	at := []*string{&a.KeyFile}
	for i := range a.Read {
		at = append(at, &a.Read[i])
	}
	return at
}

// compile names, with its line, what the schema cannot see.
func (a *Agent) compile(f *faults, key ...any) {
	at := func(rest ...any) []any { return append(key[:len(key):len(key)], rest...) }
	if (a.Agent == "exec" || a.Agent == "acp") && len(a.Command) == 0 {
		f.add(fmt.Errorf("%s needs a command: the program and its arguments, as a list", a.Agent), at("agent")...)
	}
	for i, name := range a.Env {
		f.add(variable(name), at("env", i)...)
	}
	if a.KeyEnv != "" {
		f.add(variable(a.KeyEnv), at("key_env")...)
	}
	for i, to := range a.Network {
		f.add(hostPort(to), at("network", i)...)
	}
	if _, err := webURL(a.BaseURL); err != nil {
		f.add(err, at("base_url")...)
	}
	if a.Agent == "api" && a.Model == "" {
		f.add(errors.New("api needs a model: there is none that every endpoint has"), at("agent")...)
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable says what is wrong with the name of one. What stands behind a "=" may
// be a secret and is not repeated.
func variable(name string) error {
	if envName.MatchString(name) {
		return nil
	}
	name, _, _ = strings.Cut(name, "=")
	return fmt.Errorf("%q: a variable's name is wanted, never its value", name)
}

// hostPort says what is wrong with an endpoint.
func hostPort(at string) error {
	host, port, err := net.SplitHostPort(at)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" || strings.ContainsAny(host, "*/ ") {
		return fmt.Errorf("%q: want host:port, as in logs.example.com:443", at)
	}
	return nil
}

// webURL reads an address. One with a name and password in it is refused: they
// belong into a variable or a file.
func webURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, errors.New("want https://host[/path]")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("want an address without a password, query or fragment: no secret stands in the configuration")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%q: what is said to it could be read on the way: https, unless it is this machine", u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
