package codesearch

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"tri/lib/base/durable"
)

// ignored decides which files git ignores, following gitignore(5): by the .gitignore of each folder and
// .git/info/exclude. Git itself is not run, because the configuration of a repository can make it run
// programs. Files in git's index are tracked, and so never ignored.
type ignored struct {
	rules   map[string][]ignoreRule // by the folder of their file
	outer   []ignoreRule            // from .git/info/exclude
	dirs    map[string]bool         // ignored folders that contain a tracked file
	tracked map[string]bool         // tracked files and their folders
}

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	pattern  string
	re       *regexp.Regexp // used instead of pattern if that has **
	anchored bool           // applies to the path from its folder, not to the name alone
	dir      bool           // applies to folders only
	keep     bool           // reverses earlier rules
}

const (
	maxRules = 1 << 20  // bytes read of a .gitignore
	maxIndex = 64 << 20 // bytes read of git's index
)

// ignores starts reading the rules of a repository. It returns nil if root is not one.
func ignores(root *os.Root) *ignored {
	if _, err := root.Lstat(".git"); err != nil {
		return nil
	}
	g := &ignored{rules: map[string][]ignoreRule{}, dirs: map[string]bool{}, tracked: map[string]bool{}}
	g.outer = ignoreRules(readSome(root, ".git/info/exclude", maxRules))
	for _, name := range tracked(readSome(root, ".git/index", maxIndex)) {
		for name != "." && !g.tracked[name] {
			g.tracked[name] = true
			name = path.Dir(name)
		}
	}
	return g
}

// readSome reads a regular file. A missing or too large file is empty.
func readSome(root *os.Root, name string, most int64) []byte {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	f, err := durable.OpenFile(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return text
}

// enter reads the rules of a folder that is not skipped.
func (g *ignored) enter(root *os.Root, dir string) {
	if rules := ignoreRules(readSome(root, path.Join(dir, ".gitignore"), maxRules)); rules != nil {
		g.rules[dir] = rules
	}
}

// passes reports whether git ignores the file or folder at a path. The folders above it must have been
// entered.
func (g *ignored) passes(name string, d fs.DirEntry) bool {
	ignored := g.dirs[path.Dir(name)] || g.says(name, d.IsDir())
	if ignored && g.tracked[name] {
		if d.IsDir() {
			g.dirs[name] = true
		}
		return false
	}
	return ignored
}

// says applies the rules: those of the nearest folder first, and in each the last match decides.
func (g *ignored) says(name string, isDir bool) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		rel := strings.TrimPrefix(name, dir+"/")
		if rules := g.rules[dir]; rules != nil {
			if ignored, decided := decide(rules, rel, isDir); decided {
				return ignored
			}
		}
		if dir == "." {
			ignored, _ := decide(g.outer, name, isDir)
			return ignored
		}
	}
}

func decide(rules []ignoreRule, rel string, isDir bool) (ignored, decided bool) {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := &rules[i]; (isDir || !r.dir) && r.matches(rel) {
			return !r.keep, true
		}
	}
	return false, false
}

func (r *ignoreRule) matches(rel string) bool {
	if !r.anchored {
		rel = path.Base(rel)
	}
	if r.re != nil {
		return r.re.MatchString(rel)
	}
	ok, err := path.Match(r.pattern, rel)
	return ok && err == nil
}

// ignoreRules parses a .gitignore.
func ignoreRules(text []byte) (rules []ignoreRule) {
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		if line[0] == '!' {
			r.keep, line = true, line[1:]
		}
		line, r.dir = strings.CutSuffix(line, "/")
		r.anchored = strings.Contains(line, "/")
		if line = strings.TrimPrefix(line, "/"); line == "" {
			continue
		}
		r.pattern = strings.ReplaceAll(line, "[!", "[^")
		if strings.Contains(line, "**") {
			re, err := regexp.Compile(starred(r.pattern))
			if err != nil {
				continue
			}
			r.re = re
		}
		rules = append(rules, r)
	}
	return rules
}

// starred returns the regular expression of a pattern with **, which matches any folders if it is between
// slashes, and otherwise is the same as *.
func starred(pattern string) string {
	var re strings.Builder
	re.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		begins := i == 0 || pattern[i-1] == '/'
		switch c := pattern[i]; {
		case begins && strings.HasPrefix(rest, "**/"):
			re.WriteString(`(?:[^/]+/)*`)
			i += 2
		case begins && rest == "**":
			re.WriteString(`.+`)
			i++
		case c == '*':
			re.WriteString(`[^/]*`)
		case c == '?':
			re.WriteString(`[^/]`)
		case c == '[' && strings.IndexByte(rest, ']') > 1:
			end := strings.IndexByte(rest, ']')
			re.WriteString(rest[:end+1])
			i += end
		case c == '\\' && len(rest) > 1:
			i++
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			re.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	re.WriteString("$")
	return re.String()
}

// tracked returns the names in git's index, of versions 2 and 3 (gitformat-index(5)). For another version,
// or a broken index, it returns none.
func tracked(index []byte) (names []string) {
	const head, fixed = 12, 62 // bytes: the header; an entry before its name
	if len(index) < head || !bytes.HasPrefix(index, []byte("DIRC")) {
		return nil
	}
	if v := binary.BigEndian.Uint32(index[4:]); v != 2 && v != 3 {
		return nil
	}
	rest := index[head:]
	for range binary.BigEndian.Uint32(index[8:]) {
		from := fixed
		if len(rest) > from && rest[fixed-2]&0x40 != 0 {
			from += 2 // extended flags
		}
		if len(rest) <= from {
			return nil
		}
		n := bytes.IndexByte(rest[from:], 0)
		if n <= 0 {
			return nil
		}
		names = append(names, string(rest[from:from+n]))
		whole := (from + n + 8) &^ 7 // padded with one to eight zeros
		if whole > len(rest) {
			return nil
		}
		rest = rest[whole:]
	}
	return names
}
