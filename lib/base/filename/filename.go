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

// personal are the names, among those that Secret matches, of files that no build needs.
// A program with write permission sees the others: it works on the committed files.
var personal = []string{".env", ".envrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".htpasswd",
	".git-credentials", "credentials"}

// Files with the extensions written are source code or text, whatever their names; those with
// shared are meant to be public.
var (
	written = []string{".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", ".vue", ".java", ".kt",
		".scala", ".rs", ".rb", ".php", ".c", ".h", ".cc", ".cpp",
		".hpp", ".cs", ".swift", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".lua", ".dart", ".sh", ".sql",
		".proto", ".md", ".rst", ".adoc", ".html", ".css"}
	shared = []string{".example", ".sample", ".template", ".dist", ".test", ".pub"}
	tests  = []string{"testdata", "test", "tests", "__tests__", "fixtures", "spec"}
)

// IsWritten reports whether a file is source code or text by its extension.
func IsWritten(name string) bool {
	return slices.Contains(written, path.Ext(strings.ToLower(name)))
}

// Private reports whether a file or folder is hidden from agents, by its path below the codebase: it
// holds keys or passwords, or Steers. write says that the agent may change the codebase, and works on
// the committed files.
func Private(file string, folder, write bool) bool {
	name := strings.ToLower(path.Base(file))
	ext := path.Ext(name)
	switch {
	case Steers(name):
		return true
	case folder:
		return SecretFolder(name)
	case !Secret(name), IsWritten(name), slices.Contains(shared, ext):
		return false
	case slices.Contains(personal, name), strings.HasPrefix(name, ".env."):
		return true
	case InVendored(file): // third-party code
		return false
	case strings.HasPrefix(name, "id_"):
		return true
	}
	return !write && !inTests(file)
}

// Files with these extensions, and those without one, are where keys are left by mistake. Source
// code is not searched: a program that reads code is useless without it, and a key in code is
// known to everyone who has the code.
var settings = []string{"", ".yaml", ".yml", ".json", ".toml", ".ini", ".conf", ".cfg", ".cnf", ".properties",
	".xml", ".txt", ".env", ".tf", ".tfvars", ".hcl", ".log", ".ps1", ".bat"}

// MaxSettings is the size, in bytes, up to which such a file is searched: a longer one was not written
// by a person.
const MaxSettings = 256 << 10

// MayHold reports whether the content of a file is searched for keys, by its path below the codebase.
func MayHold(file string) bool {
	return slices.Contains(settings, path.Ext(path.Base(file))) && !inTests(file)
}

// InVendored reports whether a path goes through a folder of third-party code.
func InVendored(path string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"), Vendored)
}

// inTests reports whether a file is below a folder of tests.
func inTests(path string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"),
		func(dir string) bool { return slices.Contains(tests, dir) })
}
