// Package schemas holds the JSON Schema (draft 2020-12) of every record, embedded in the
// programs.
package schemas

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.json
var files embed.FS

// Read returns the schema of a record by its name, as "event".
func Read(name string) ([]byte, error) { return files.ReadFile(path.Clean(name) + ".json") }

// Names lists the records that have a schema.
func Names() []string {
	found, err := fs.Glob(files, "*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, name := range found {
		found[i] = strings.TrimSuffix(name, ".json")
	}
	return found
}
