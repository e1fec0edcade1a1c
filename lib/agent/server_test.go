package agent

import (
	"slices"
	"testing"

	"tri/lib/config"
)

func TestServers(t *testing.T) {
	servers := Servers(&config.Config{MCPServers: []config.Server{
		{Name: "far", URL: "https://logs.example.com/mcp", TokenEnv: "LOGS", Tools: []string{"search"}},
		{Name: "odd", URL: "http://[::1]:7777/mcp", Tools: []string{"search"}},
		{Name: "near", Command: []string{"metrics"}, Env: []string{"METRICS", "LOGS"}, Network: []string{"a:1", "logs.example.com:443"}},
	}})
	if got, want := Reach(servers), []string{"[::1]:7777", "a:1", "logs.example.com:443"}; !slices.Equal(got, want) {
		t.Errorf("reach %q, want %q", got, want)
	}
	if got, want := Variables(servers), []string{"LOGS", "METRICS"}; !slices.Equal(got, want) {
		t.Errorf("variables %q, want %q", got, want)
	}
	if len(servers) != 3 || servers[0].Name != "far" || servers[0].Tools[0] != "search" {
		t.Errorf("%+v", servers)
	}
}
