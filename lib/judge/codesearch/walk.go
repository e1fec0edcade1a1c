package codesearch

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"
	"tri/lib/base/durable"
	"tri/lib/base/filename"
	"unicode/utf8"
)

// keptDirs are hidden folders with files that a team writes itself.
var keptDirs = []string{".ci", ".github", ".gitlab", ".circleci", ".config"}

func skipDir(name string) bool {
	return filename.Vendored(name) || strings.HasPrefix(name, ".") && !slices.Contains(keptDirs, name)
}

// made reports whether dir contains a cache tag (bford.info/cachedir), which means that its files can be
// regenerated.
func (x *Index) made(dir string) bool {
	name := path.Join(dir, "CACHEDIR.TAG")
	if info, err := x.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := durable.OpenFile(x.root, name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(cacheTag))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == cacheTag
}

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// noise are files written by tools: lock files, checksums, source maps, bundles, pictures.
var noise = []string{
	"go.sum", "go.work.sum", "*.lock", "package-lock.json", "pnpm-lock.yaml", "npm-shrinkwrap.json",
	"*.min.js", "*.min.css",
	"*.map", "*.svg", "*.pb.go", "*_pb2.py", "*.snap",
}

func skipFile(name string) bool {
	name = strings.ToLower(name)
	return filename.Secret(name) || filename.Match(noise, name)
}

// readable reports whether text was probably written by people: not binary, not one endless line, not
// marked as generated.
func readable(text []byte) bool {
	head := text[:min(len(text), 8<<10)]
	if bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(trimRune(head)) {
		return false
	}
	if lines := bytes.Count(text, []byte{'\n'}) + 1; len(text) > 4<<10 && len(text)/lines > 600 {
		return false
	}
	head = text[:min(len(text), 600)]
	return !bytes.Contains(head, []byte("DO NOT EDIT")) && !bytes.Contains(head, []byte("@generated"))
}

// trimRune removes an incomplete character at the end.
func trimRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// fileKind is the kind of a file.
type fileKind uint8

const (
	source fileKind = iota
	tests
	example
	document
	plainText
	settingsFile
	data
	history  // change logs, licences, authors, issue templates
	vendored // copied code of other projects
	types    // types alone, whose code is in other files
)

// worth is the factor of each kind of file: an implementation ranks above its tests, and data, which often
// quotes the question itself, is last.
var worth = [...]float64{source: 1, tests: 0.35, example: 0.7, document: 0.8, plainText: 0.6,
	settingsFile: 0.75, data: 0.3, history: 0.35, vendored: 0.35, types: 0.6}

// kindOf determines the kind by the path and the first bytes of the text.
func kindOf(name string, text []byte) fileKind {
	base, ext := strings.ToLower(path.Base(name)), strings.ToLower(path.Ext(name))
	dirs := "/" + strings.ToLower(path.Dir(name)) + "/"
	in := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(dirs, "/"+n+"/") })
	}
	begins := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(base, n) })
	}
	switch {
	case slices.Contains([]string{".ndjson", ".jsonl", ".csv", ".tsv", ".log", ".out", ".golden", ".txtar"},
		ext),
		ext == ".json" && bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")), // records; settings are an object
		in("testdata", "fixtures", "__snapshots__", "locale", "locales", "i18n", "translations"),
		strings.Contains(base, "_data."), strings.Contains(dirs, "_data/"):
		return data
	case slices.Contains([]string{"changes", "history", "news"}, base),
		begins("changelog", "changes.", "changes-", "contributing", "license", "licence", "copying", "authors",
			"contributors", "history.", "news.", "codeowners", "code_of_conduct",
			"release_notes", "release-notes", "releasenotes", "whatsnew"),
		in("changelog", "changelogs", "changes", "newsfragments", "release-notes",
			"releasenotes", "whatsnew"),
		in("issue_template", "pull_request_template"), begins("issue_template", "pull_request_template"):
		return history
	case begins("gradlew", "configure.", "install-sh", "ez_setup.", "versioneer.", "get-pip."),
		base == "configure",
		in("dist") && languageOf(name) == braces, // bundles
		in("_vendor", "_vendored", "vendored", "third_party", "third-party", "extern", "external"):
		return vendored
	case strings.Contains(base, "_test."), begins("test_", "conftest."), strings.Contains(base, ".test."),
		strings.Contains(base, ".spec."),
		begins("test.", "tests."), in("test", "tests", "testing", "spec", "__tests__", "e2e", "fake", "fakes",
			"mock", "mocks", "fuzz", "fuzzing", "fuzz_targets"),
		strings.HasSuffix(dirs, "test/") && ext == ".go", // such as net/http/httptest
		base == "export_test.go", strings.HasSuffix(strings.TrimSuffix(base, ext), "test") && ext == ".java":
		return tests
	case strings.HasSuffix(base, ".d.ts"), ext == ".pyi":
		return types
	case in("example", "examples", "_examples", "demo", "demos", "sample", "samples", "benchmark",
		"benchmarks", "jmh"), begins("example_"):
		return example
	case slices.Contains([]string{".md", ".markdown", ".rst", ".adoc", ".tex", ".html"}, ext), manual(ext):
		return document
	case ext == ".txt": // a list of words as often as a document
		return plainText
	case languageOf(name) == settings:
		return settingsFile
	}
	return source
}

// manual reports whether ext is a manual section, as in "tri.7".
func manual(ext string) bool { return len(ext) == 2 && '1' <= ext[1] && ext[1] <= '9' }
