package agent

import (
	"net"
	"net/url"

	"tri/lib/base/config"
)

// Servers returns the tool servers of the configuration.
func Servers(c *config.Config) []Server {
	var servers []Server
	for _, s := range c.MCPServers {
		servers = append(servers, Server{
			Name: s.Name, Command: s.Command, URL: s.URL, Env: s.Env, Tools: s.Tools,
			TokenEnv: s.TokenEnv, Reach: s.Network,
		})
	}
	return servers
}

// Endpoint returns the host:port of a URL, nil if it has no host.
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
