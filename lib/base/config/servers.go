package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
)

// Server is a tool server of the Model Context Protocol for investigating agents: a Command to
// start, a URL, or Commands that are the tools.
type Server struct {
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"`
	URL     string   `yaml:"url"`
	// Commands are tools without a server.
	Commands []Command `yaml:"commands"`
	Env      []string  `yaml:"env"` // names of the variables that Command and Commands see
	// TokenEnv names the variable whose value is sent to URL as a bearer token.
	TokenEnv string   `yaml:"token_env"`
	Tools    []string `yaml:"tools"`   // the only tools offered: read-only ones, or all Commands
	Network  []string `yaml:"network"` // endpoints that Command and Commands may reach, host:port
	// Destructive are those of Tools that are offered though the server marks them as destructive.
	Destructive []string `yaml:"destructive"`
	LongRuns    bool     `yaml:"long_runs"` // only long runs get it
}

// Servers returns the tool servers of a long run, or of any other.
func (c *Config) Servers(long bool) []Server {
	return slices.DeleteFunc(slices.Clone(c.MCPServers), func(s Server) bool { return s.LongRuns && !long })
}

var (
	serverName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)
	toolName   = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)
)

// writing are first words of tool names that say that the tool changes something.
var writing = strings.Fields(`add ack acknowledge append approve assign cancel close commit create delete deploy disable drop edit enable insert
invite kill merge move mute patch post publish put push remove rename replace reset resolve restart rollback save schedule send set silence
start stop submit trigger unmute update upload upsert write`)

// compileServers reports, with line numbers, errors that the schema cannot express.
func (c *Config) compileServers(f *faults) {
	seen := map[string]bool{}
	for i, s := range c.MCPServers {
		at := func(key ...any) []any { return append([]any{"mcp_servers", i}, key...) }
		switch {
		case !serverName.MatchString(s.Name):
			f.add(fmt.Errorf("%q: want small letters, digits, - and _, since it is part of the tools' names", s.Name),
				at("name")...)
		case seen[s.Name]:
			f.add(fmt.Errorf("two servers are called %q", s.Name), at("name")...)
		}
		seen[s.Name] = true
		kinds := 0
		for _, has := range []bool{len(s.Command) > 0, s.URL != "", len(s.Commands) > 0} {
			if has {
				kinds++
			}
		}
		if kinds != 1 {
			f.add(errors.New("needs a command, a url or commands, and only one of them"), at()...)
		}
		if s.URL != "" {
			f.add(webURL(s.URL), at("url")...)
		}
		if s.TokenEnv != "" {
			f.add(variable(s.TokenEnv), at("token_env")...)
		}
		for k, name := range s.Env {
			f.add(variable(name), at("env", k)...)
		}
		for k, name := range s.Network {
			f.add(hostPort(name), at("network", k)...)
		}
		c.MCPServers[i].compileTools(f, at)
	}
}

// compileTools checks the tools, and sets Tools to the commands.
func (s *Server) compileTools(f *faults, at func(...any) []any) {
	if len(s.Commands) > 0 {
		if len(s.Tools)+len(s.Destructive) > 0 {
			f.add(errors.New("its commands are the tools: remove tools and destructive"), at("name")...)
		}
		s.Tools, s.Destructive = nil, nil
	} else if len(s.Tools) == 0 {
		f.add(errors.New("needs tools: the names of the tools that may be used; there is no wildcard"),
			at("name")...)
	}
	for k, name := range s.Tools {
		f.add(readTool(name), at("tools", k)...)
	}
	for k, name := range s.Destructive {
		if !slices.Contains(s.Tools, name) {
			f.add(fmt.Errorf("%q is not among the tools", name), at("destructive", k)...)
		}
	}
	for k, c := range s.Commands {
		c.compile(f, func(key ...any) []any { return append(at("commands", k), key...) })
		if slices.Contains(s.Tools, c.Name) {
			f.add(fmt.Errorf("two commands are called %q", c.Name), at("commands", k, "name")...)
		}
		s.Tools = append(s.Tools, c.Name)
	}
}

// readTool refuses a tool whose name says that it changes something. It only catches mistakes: the
// author of the configuration must know whether a tool is read-only.
func readTool(name string) error {
	if !toolName.MatchString(name) {
		return fmt.Errorf("%q: want the name of one tool", name)
	}
	if first := firstWord(name); slices.Contains(writing, first) {
		return fmt.Errorf("%q: its name suggests that it changes something (%s); agents get only tools that read", name, first)
	}
	return nil
}

// firstWord returns create for create_issue, create-issue and createIssue.
func firstWord(name string) string {
	for i, r := range name {
		if i > 0 && (strings.ContainsRune("_.-", r) ||
			unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1]))) {
			return strings.ToLower(name[:i])
		}
	}
	return strings.ToLower(name)
}
