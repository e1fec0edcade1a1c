package codesearch

import "testing"

func TestKindOf(t *testing.T) {
	for name, want := range map[string]fileKind{
		"src/pytest/main.py": source, "net/http/httptest/server.go": tests, "testing/helpers.go": tests,
		"latest/run.py":   source,
		"tests/test_x.py": tests, "x_test.go": tests, "docs/changelog/1.2.rst": history,
		"CHANGELOG.md": history, "changes/12.bugfix.rst": history,
		".github/ISSUE_TEMPLATE/bug.md": history, "pip/_vendor/six.py": vendored,
		"third_party/x/x.go": vendored, "docs/use.md": document,
		"CHANGES": history, "CONTRIBUTING.md": history, "dist/node/x.cjs": vendored, "scripts/dist/x.go": source,
		"testdata/a.go": data, "examples/a/main.go": example, "src/jmh/java/A.java": example,
		"types/client.d.ts": types, "lib/client.ts": source, "a/b.pyi": types, "test/a.d.ts": tests,
	} {
		if got := kindOf(name, nil); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if kindOf("chat.json", []byte("\n[{\"text\": \"why?\"}]")) != data || kindOf("a.json", []byte("{}")) != settingsFile {
		t.Error("a list of records is data, an object may be settings")
	}
}
