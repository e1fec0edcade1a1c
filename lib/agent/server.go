package agent

import (
	"net"
	"net/url"
	"slices"

	"tri/lib/config"
)

// Servers are the tool servers of the configuration.
func Servers(c *config.Config) []Server {
	var servers []Server
	for _, s := range c.MCPServers {
		servers = append(servers, Server{
			Name: s.Name, Command: s.Command, URL: s.URL, Env: s.Env, Tools: s.Tools,
			TokenEnv: s.TokenEnv, Reach: append(Endpoint(s.URL), s.Network...),
		})
	}
	return servers
}

// Endpoint is the host:port of an address, nil where it has none.
func Endpoint(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return []string{net.JoinHostPort(u.Hostname(), port)}
}

// Reach is what must be dialled for the servers, for a program that starts and
// reaches them itself.
func Reach(servers []Server) []string {
	var at []string
	for _, s := range servers {
		at = append(at, s.Reach...)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// Variables are the names that a program needs to see for its servers.
func Variables(servers []Server) []string {
	var names []string
	for _, s := range servers {
		names = append(names, s.Env...)
		if s.TokenEnv != "" {
			names = append(names, s.TokenEnv)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
