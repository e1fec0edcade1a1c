// Package filename classifies files by name: tests, documentation, generated code,
// secrets.
package filename

import (
	"path"
	"slices"
	"strings"
)

// Secret reports whether a file's name says that it holds keys or passwords. Such a file is
// neither searched nor shown to an agent.
func Secret(name string) bool { return Match(secrets, strings.ToLower(name)) }

// SecretFolder reports whether a folder's name says that it holds only keys and passwords.
func SecretFolder(name string) bool { return slices.Contains(folders, strings.ToLower(name)) }

// Vendored reports whether a folder's name says that it holds third-party code.
func Vendored(name string) bool { return slices.Contains(vendored, name) }

// Steers reports whether a file or folder of that name holds settings of an agent program, or runs of
// agents. Such settings start programs, and in a codebase they are untrusted.
func Steers(name string) bool { return Match(steering, strings.ToLower(name)) }

// Match reports whether name matches one of the patterns, as path.Match does.
func Match(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

var folders = []string{".ssh", ".docker", ".kube", ".aws", ".azure", ".gcloud", ".gnupg", ".password-store"}

// steering has .agents too, where tri-box keeps its runs: no run may read another's files.
var steering = []string{
	".agents",
	".claude", ".mcp.json", ".qwen", ".opencode", "opencode.json", "opencode.jsonc", ".codex", ".gemini",
	".continue", ".continuerc.json",
	".cursor", ".goose", ".cline", ".aider*", ".roo", ".windsurf", ".kilocode", ".crush.json", "crush.json",
	".crush", "bunfig.toml",
}

var vendored = []string{"node_modules", "vendor", "bower_components", "__pycache__", "venv"}

var secrets = []string{
	".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", "*.ppk",
	"*.asc", "*.gpg",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc",
	".pgpass", ".htpasswd",
	".git-credentials", "credentials", "credentials.*", "secrets.*", "secret.*", "*.token", "*.secret",
	"*.tfstate", "*.tfvars",
	"kubeconfig", "*.kubeconfig", ".my.cnf", ".mylogin.cnf", ".vault_pass*", ".vault-token", "vault.yml",
	"vault.yaml", "service-account*.json",
	"serviceaccount*.json", "appsettings.production.json", "appsettings.staging.json", "token.txt", "*.ovpn",
	"*.keystore", ".s3cfg", ".boto", ".dockercfg", ".htdigest",
}
