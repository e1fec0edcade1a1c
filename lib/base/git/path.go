package git

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one path, in bytes (Linux: PATH_MAX, NAME_MAX).
const (
	maxPath = 4095
	maxName = 255
)

// badPath returns why a path may not be written, "" if it may.
func badPath(path string) string {
	switch {
	case path == "":
		return "empty path"
	case !utf8.ValidString(path):
		return "not UTF-8"
	case len(path) > maxPath:
		return "path too long"
	case path[0] == '/':
		return "absolute path"
	case len(path) > 1 && path[1] == ':' && (path[0]|0x20) >= 'a' && (path[0]|0x20) <= 'z':
		return "drive letter, with which a path is absolute on other systems"
	case strings.Contains(path, `\`):
		return "backslash in path, which separates folders on other systems"
	}
	for _, r := range path {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "control character in path"
		}
		if hidden(r) {
			return "invisible character in path"
		}
	}
	for i, name := range strings.Split(path, "/") {
		switch {
		case name == "":
			return "empty name in path"
		case name == "." || name == "..":
			return "path with .."
		case len(name) > maxName:
			return "name too long"
		case isDotGit(name):
			return "inside .git"
		case i == 0 && strings.EqualFold(name, ".agents"):
			return "inside .agents, where runs are kept"
		}
	}
	return ""
}

// hidden reports whether r is a character that some systems ignore when they compare names (HFS+:
// zero-width and direction marks), or that is invisible.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) && r != '\ufe0f'
}

// isDotGit reports whether a name means .git on any file system: in any case, with characters that
// HFS+ ignores, as NTFS shortens it (GIT~1), or with what NTFS cuts off (".git. ",
// ".git::$INDEX_ALLOCATION").
func isDotGit(name string) bool {
	name = plainName(name)
	short, number, ok := strings.Cut(name, "~")
	return name == ".git" || ok && short == "git" && strings.Trim(number, "0123456789") == ""
}

// plainName returns a name as the most lenient file system reads it.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if hidden(r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return unicode.ToLower(unicode.SimpleFold(unicode.ToUpper(r)))
	}, name)
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}

// instructive describes a file that changes what programs or agents do with the others; "" for any
// other file.
func instructive(path string) string {
	lower := strings.ToLower(path)
	base := plainName(lower[strings.LastIndex(lower, "/")+1:])
	first, _, _ := strings.Cut(lower, "/")
	switch {
	case base == ".gitattributes" || strings.HasPrefix(base, "gitatt~") || strings.HasPrefix(base, "gi7d29~"):
		return "changes how git treats files (.gitattributes)"
	case base == ".gitmodules" || strings.HasPrefix(base, "gitmod~") || strings.HasPrefix(base, "gi7eba~"):
		return "changes submodules (.gitmodules)"
	case base == ".gitignore":
		return "changes what git ignores (.gitignore)"
	case base == "claude.md" || base == "agents.md" || base == "gemini.md" || base == ".mcp.json" ||
		base == ".cursorrules":
		return "changes the instructions of agents"
	case first == ".claude" || first == ".codex" || first == ".cursor" || first == ".gemini" ||
		first == ".vscode" || first == ".idea" || first == ".devcontainer":
		return "changes what agents or editors run (" + first + ")"
	case slices.Contains(servers, first) || slices.Contains(servers, base) || strings.HasPrefix(base, "jenkinsfile") ||
		strings.Contains(lower, "/workflows/") && (first == ".github" || first == ".gitea" ||
			first == ".forgejo"):
		return "changes what a build server or a hook runs"
	case slices.Contains(builds, base) || strings.HasSuffix(lower, ".cargo/config.toml") ||
		strings.HasSuffix(lower, ".cargo/config"):
		return "changes what is run to build, test or install (" + base + ")"
	}
	return ""
}

// servers are files and top-level folders that build servers and git hooks run.
var servers = []string{".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", "azure-pipelines.yml",
	"bitbucket-pipelines.yml", "appveyor.yml", ".pre-commit-config.yaml", "lefthook.yml",
	".circleci", ".buildkite", ".woodpecker", ".githooks", ".husky"}

// builds are files that make common tools run programs.
var builds = []string{"makefile", "gnumakefile", "justfile", "taskfile.yml", "package.json", ".npmrc", ".yarnrc",
	".yarnrc.yml",
	".envrc", "setup.py", "conftest.py", "build.rs", "build.gradle", "build.gradle.kts", "dockerfile",
	"tox.ini", "noxfile.py"}
