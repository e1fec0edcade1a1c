package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json":                                      `{"name":"somebodys-project","version":"7.7.7"}`,
		"node_modules/@x/cli/package.json":                  `{"name":"@x/cli","version":"2.1.329"}`,
		"node_modules/@x/cli/dist/package.json":             `{"type":"module"}`,
		"node_modules/@x/cli/dist/cli.js":                   "#!/bin/sh\n",
		"node_modules/odd/package.json":                     `{"name":"odd","version":"$(id)"}`,
		"node_modules/odd/cli.js":                           "#!/bin/sh\n",
		"share/claude/versions/2.1.0/claude":                "#!/bin/sh\n",
		"tool":                                              "#!/bin/sh\n",
		"share/nvm/v22.1.0/lib/node_modules/y/package.json": `{"name":"y","version":"1.0.0-rc.1"}`,
		"share/nvm/v22.1.0/lib/node_modules/y/y.js":         "#!/bin/sh\n",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"x": "../node_modules/@x/cli/dist/cli.js", "odd": "../node_modules/odd/cli.js",
		"claude": "../share/claude/versions/2.1.0/claude",
		"y":      "../share/nvm/v22.1.0/lib/node_modules/y/y.js", "tool": "../tool",
	} {
		if err := os.Symlink(to, filepath.Join(dir, "bin", link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"x": "2.1.329", "claude": "2.1.0", "y": "1.0.0-rc.1", "odd": "",
		"tool": ""} {
		path := filepath.Join(dir, "bin", name)
		if got, version := Version([]string{path, "--flag"}); got != path || version != want {
			t.Errorf("%s: %q, %q, want %q", name, got, version, want)
		}
	}
	if path, version := Version([]string{"/nonexistent/agent"}); path != "" || version != "" {
		t.Errorf("%q %q", path, version)
	}
}
