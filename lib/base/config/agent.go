package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/lazyregexp"
)

// Agent configures the program that investigates or validates.
type Agent struct {
	Agent             string   `yaml:"agent"`   // see lib/agent/all; for a validator also none
	Command           []string `yaml:"command"` // argv of exec and acp; else replaces the usual program
	Model             string   `yaml:"model"`
	MaxRounds         int      `yaml:"max_rounds"` // default 2; validator 1
	HardCapRuntimeMin float64  `yaml:"hard_cap_runtime_min" default:"5"`
	MaxBudgetUSD      float64  `yaml:"max_budget_usd"`        // of one run; 0 means no limit
	MaxTurns          int      `yaml:"max_turns"`             // of one run, as the next; 0 means no limit
	MaxTokens         int64    `yaml:"max_tokens"`            // input and output
	StallMin          float64  `yaml:"stall_min" default:"5"` // minutes without a sign of life
	Env               []string `yaml:"env"`                   // names of variables that the agent may see

	// Network are further endpoints, host:port, that the program may reach from its sandbox. Read
	// are further files and folders that it may read there.
	Network []string `yaml:"network"`
	Read    []string `yaml:"read" is:"path"`
	// MemoryMB and Processes, which counts threads, limit the program and everything it starts; 0
	// means 4096 and 1024.
	MemoryMB  int `yaml:"memory_mb"`
	Processes int `yaml:"processes"`
	// DiskMB limits what it may write; 0 means 8192.
	DiskMB int `yaml:"disk_mb"`

	// Steer says, for the agent acp, how the program takes what is said while it works: SteerPrompt,
	// SteerLoad or SteerNone; "" is SteerLoad, but a run that ends is cancelled first.
	Steer string `yaml:"steer"`

	// For the agent api: an endpoint that is called directly, without a program.
	API             string  `yaml:"api" default:"anthropic"`          // "anthropic" or "openai"
	BaseURL         string  `yaml:"base_url"`                         // default: that of API
	KeyEnv          string  `yaml:"key_env"`                          // the variable with the key; default: that of API
	KeyFile         string  `yaml:"key_file" is:"path"`               // or a file of mode 0600
	MaxOutputTokens int     `yaml:"max_output_tokens" default:"8192"` // of one answer
	Prices          *Prices `yaml:"prices"`                           // nil: the cost of a run is unknown

	// On is where the agent's program runs: "" is this machine, "ssh HOST ..." the first of the hosts
	// that can, "nats" the machine that takes the run from the queue. See Hosts.
	On string `yaml:"on"`
	// Load sets the rest. Codebases are those of the configuration, by whose names another machine knows
	// them.
	Codebases []Codebase `yaml:"-"`
	WaitMin   float64    `yaml:"-"` // Nats.WaitMin; 0 means no bound

	// Fallback are endpoints of api that are asked in turn, from one turn of a run on, if the one before
	// is busy, fails or does not answer. A refused key or a refusal of the model asks none of them.
	Fallback []Endpoint `yaml:"fallback"`

	// KeyValue is the key itself, from an encrypted secret; it precedes KeyEnv and KeyFile. The program
	// sets it.
	KeyValue string `yaml:"-"`

	// Home is the folder below which the built-in search stores its indexes; "" means no index is
	// stored. The program sets it.
	Home string `yaml:"-"`
}

// Endpoint is a model and where it is. What it leaves out is that of the agent before it, but for another
// API that API's own.
type Endpoint struct {
	API     string  `yaml:"api"`
	BaseURL string  `yaml:"base_url"`
	Model   string  `yaml:"model"`
	KeyEnv  string  `yaml:"key_env"`
	KeyFile string  `yaml:"key_file" is:"path"`
	Prices  *Prices `yaml:"prices"` // nil: its cost is unknown
}

// At returns the agent at another endpoint.
func (a Agent) At(e Endpoint) Agent {
	if e.API != "" && e.API != a.API || e.BaseURL != "" {
		a.BaseURL, a.KeyEnv, a.KeyFile, a.KeyValue = "", "", "", ""
	}
	a.API, a.BaseURL, a.Model = cmp.Or(e.API, a.API), cmp.Or(e.BaseURL, a.BaseURL), e.Model
	if e.KeyEnv != "" || e.KeyFile != "" {
		a.KeyEnv, a.KeyFile, a.KeyValue = e.KeyEnv, e.KeyFile, ""
	}
	a.Prices, a.Fallback = e.Prices, nil
	a.Complete()
	return a
}

// Prices are a model's prices, in US dollars per million tokens.
type Prices struct {
	Input      float64  `yaml:"input"`
	Output     float64  `yaml:"output"`
	CacheRead  *float64 `yaml:"cache_read"`  // cached input; default: Input
	CacheWrite *float64 `yaml:"cache_write"` // input written to the cache; default: Input
}

// Values of Agent.Steer.
const (
	SteerPrompt = "prompt" // by a second prompt during the first
	SteerLoad   = "load"   // by ending the program and loading its session; a cancelled turn is forgotten
	SteerNone   = "none"   // it keeps no session that can be loaded
)

// Names of the APIs. endpoints has their URLs and the variables that hold their keys.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

var endpoints = map[string]struct{ base, key string }{
	Anthropic: {"https://api.anthropic.com", "ANTHROPIC_API_KEY"},
	OpenAI:    {"https://api.openai.com/v1", "OPENAI_API_KEY"},
}

// hostName is a destination of ssh(1): it cannot begin with "-", which would be an option.
var hostName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.@:-]*$`)

// Queue is the value of On that hands runs to any machine.
const Queue = "nats"

// Hosts returns the hosts of On, in order; nil if the program runs here or is handed to the queue.
func (a Agent) Hosts() []string {
	if f := strings.Fields(a.On); len(f) > 1 && f[0] == "ssh" {
		return f[1:]
	}
	return nil
}

func (a Agent) compileOn() error {
	hosts := a.Hosts()
	for _, h := range hosts {
		if !hostName.MatchString(h) {
			return fmt.Errorf("%q is not a host", h)
		}
	}
	if a.On != "" && a.On != Queue && hosts == nil {
		return fmt.Errorf("%q: want nats, or ssh and hosts", a.On)
	}
	return nil
}

// Searches reports whether the agent can use the results of a search: every agent but the search
// itself.
func (a Agent) Searches() bool { return a.Agent != "" && a.Agent != "search" && a.Agent != "none" }

// usual are the programs whose name differs from their agent's.
var usual = map[string]string{"continue": "cn", "cursor": "agent", "acp": "", "exec": "", "api": "",
	"search": "", "none": "", "": ""}

// Program returns the command of the agent's program: Command, or its usual name. Nil if there is
// none.
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

// variables are the variables that hold a program's keys and model endpoints. A login is a file
// under Read.
var variables = map[string][]string{
	"claude": {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
		"CLAUDE_CODE_OAUTH_TOKEN"},
	"codex":    {"OPENAI_API_KEY", "OPENAI_BASE_URL"},
	"cursor":   {"CURSOR_API_KEY"},
	"aider":    {"OPENAI_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE"},
	"continue": {"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	"gemini":   {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	"opencode": {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY",
		"OPENROUTER_API_KEY", "OPENCODE_API_KEY"},
	"qwen": {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"},
	"goose": {"GOOSE_PROVIDER", "GOOSE_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_HOST", "OPENAI_API_KEY",
		"OPENAI_HOST", "OLLAMA_HOST"},
}

// Variables returns the names of the variables that the agent's program sees: Env, or those that
// programs of its kind need.
func (a Agent) Variables() []string {
	if len(a.Env) > 0 {
		return a.Env
	}
	return variables[a.Agent]
}

var secretName = lazyregexp.New(`(KEY|TOKEN|SECRET)$`)

// Keys returns those of Variables whose names say that they hold a key. Any one of them is enough.
// It is empty if the program's needs are unknown.
func (a Agent) Keys() []string { return keys(a.Variables()) }

func keys(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !secretName.MatchString(name)
	})
}

// Key returns the key of the agent api.
func (a Agent) Key() (string, error) {
	if a.KeyValue != "" {
		return a.KeyValue, nil
	}
	key, err := secret(a.KeyEnv, a.KeyFile)
	if err != nil && a.KeyFile == "" && strings.HasPrefix(a.BaseURL, "http:") {
		return "", nil // a model on this machine may need no key
	}
	return key, err
}

// Complete sets the defaults of the endpoint, after a change of API.
func (a *Agent) Complete() { a.fill(a.Agent, a.MaxRounds) }

// fill sets defaults.
func (a *Agent) fill(agent string, rounds int) {
	setDefault(&a.Agent, agent)
	setDefault(&a.MaxRounds, rounds)
	setDefaults(a)
	at := endpoints[a.API]
	if a.KeyEnv == "" && a.KeyFile == "" {
		a.KeyEnv = at.key
	}
	setDefault(&a.BaseURL, at.base)
}

// compile reports, with line numbers, errors that the schema cannot express.
func (a *Agent) compile(f *faults, key ...any) {
	at := func(rest ...any) []any { return append(key[:len(key):len(key)], rest...) }
	if (a.Agent == "exec" || a.Agent == "acp") && len(a.Command) == 0 && a.On == "" {
		f.add(fmt.Errorf("%s needs a command: the program and its arguments, as a list", a.Agent),
			at("agent")...)
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
	f.add(webURL(a.BaseURL), at("base_url")...)
	f.add(a.compileOn(), at("on")...)
	for i, e := range a.Fallback {
		if e.KeyEnv != "" {
			f.add(variable(e.KeyEnv), at("fallback", i, "key_env")...)
		}
		f.add(webURL(a.At(e).BaseURL), at("fallback", i, "base_url")...)
	}
	if a.Agent == "api" && a.Model == "" && a.On == "" {
		f.add(errors.New("api needs a model: no model exists on every endpoint"), at("agent")...)
	}
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable checks a variable's name. Text after a "=" may be a secret and is not repeated.
func variable(name string) error {
	if envName.MatchString(name) {
		return nil
	}
	name, _, _ = strings.Cut(name, "=")
	return fmt.Errorf("%q: a variable's name is wanted, never its value", name)
}

// hostPort checks an endpoint.
func hostPort(at string) error {
	host, port, err := net.SplitHostPort(at)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" || strings.ContainsAny(host, "*/ ") {
		return fmt.Errorf("%q: want host:port, as in logs.example.com:443", at)
	}
	return nil
}

// webURL checks a URL. One with a name and password is refused: they belong in a variable or a file.
func webURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return errors.New("want https://host[/path]")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("want an address without a password, query or fragment: secrets do not belong in the configuration")
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return fmt.Errorf("%q: use https: plain http can be read on the way, and is for this machine only",
			u.Host)
	}
	return nil
}

// IsLoopback reports whether host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
