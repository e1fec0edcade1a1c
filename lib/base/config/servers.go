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
// start, or a URL.
type Server struct {
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"`
	URL     string   `yaml:"url"`
	Env     []string `yaml:"env"` // names of the variables that Command sees
	// TokenEnv names the variable whose value is sent to URL as a bearer token.
	TokenEnv string   `yaml:"token_env"`
	Tools    []string `yaml:"tools"`   // the only tools offered: read-only ones
	Network  []string `yaml:"network"` // endpoints that Command may reach, host:port
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
		if (len(s.Command) > 0) == (s.URL != "") {
			f.add(errors.New("needs a command or a url, and not both"), at()...)
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
		if len(s.Tools) == 0 {
			f.add(errors.New("needs tools: the names of the tools that may be used; there is no wildcard"),
				at("name")...)
		}
		for k, name := range s.Tools {
			f.add(readTool(name), at("tools", k)...)
		}
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
