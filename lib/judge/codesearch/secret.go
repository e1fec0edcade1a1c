package rank

import (
	"slices"
	"strings"
)

// Secret reports whether a file's name says that it holds keys or passwords. Such
// a file is neither searched nor shown to an agent.
func Secret(name string) bool { return matches(secretNames, strings.ToLower(name)) }

// Foreign reports whether a folder's name says that it holds other people's code.
func Foreign(name string) bool { return slices.Contains(otherDirs, name) }
