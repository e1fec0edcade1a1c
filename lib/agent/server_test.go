package agent

import (
	"slices"
	"testing"

	"tri/lib/base/config"
)

func TestServers(t *testing.T) {
	servers := Servers(&config.Config{MCPServers: []config.Server{
		{Name: "far", URL: "https://logs.example.com/mcp", TokenEnv: "LOGS", Tools: []string{"search"}},
		{Name: "odd", URL: "http://[::1]:7777/mcp", Tools: []string{"search"}},
		{Name: "near", Command: []string{"metrics"}, Env: []string{"METRICS", "LOGS"},
			Network: []string{"a:1", "logs.example.com:443"}},
	}})
	if len(servers) != 3 || servers[0].Name != "far" || servers[0].Tools[0] != "search" ||
		!slices.Equal(servers[2].Reach, []string{"a:1", "logs.example.com:443"}) {
		t.Errorf("%+v", servers)
	}
}

func TestEndpoint(t *testing.T) {
	for address, want := range map[string]string{
		"https://logs.example.com/mcp": "logs.example.com:443", "http://[::1]:7777/mcp": "[::1]:7777",
		"http://a": "a:80", "": "", "a": "",
	} {
		if got := Endpoint(address); len(got) > 1 || len(got) == 1 && got[0] != want ||
			len(got) == 0 && want != "" {
			t.Errorf("%s: %q", address, got)
		}
	}
}
