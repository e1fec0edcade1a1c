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
)

// ignored says which files git ignores, as gitignore(5) has it: by the .gitignore
// of each folder and .git/info/exclude. Git is not run: what the configuration of a
// repository can make it run grows with its releases. What its index has is
// tracked, and so never ignored.
type ignored struct {
	rules   map[string][]ignoreRule // by the folder whose file they stand in
	outer   []ignoreRule            // of .git/info/exclude
	dirs    map[string]bool         // folders that are ignored, but have something tracked
	tracked map[string]bool         // files, and the folders that they lie in
}

// ignoreRule is a line of such a file.
type ignoreRule struct {
	pattern  string
	re       *regexp.Regexp // in place of pattern, where that has **
	anchored bool           // it is of the path from its folder, not of the name alone
	dir      bool           // of folders alone
	keep     bool           // it takes back what a line above says
}

const (
	maxRules = 1 << 20  // bytes of a .gitignore
	maxIndex = 64 << 20 // bytes of git's index
)

// ignores begins to read the rules of a repository; nil where root is none.
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

// readSome reads a regular file; one that is not there, or too large, is empty.
func readSome(root *os.Root, name string, most int64) []byte {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	f, err := root.Open(name)
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

// enter reads the rules of a folder that is not passed over.
func (g *ignored) enter(root *os.Root, dir string) {
	if rules := ignoreRules(readSome(root, path.Join(dir, ".gitignore"), maxRules)); rules != nil {
		g.rules[dir] = rules
	}
}

// passes reports whether git ignores what lies at a path. The folders above have
// been entered.
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

// says is what the rules say: those of the nearest folder first, in each the last.
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

// ignoreRules reads the lines of a .gitignore.
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

// starred is the expression of a pattern with **, which means any folders where it
// stands between slashes, and else what * means.
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

// tracked are the names in git's index, of versions 2 and 3 (gitformat-index(5)).
// Of another, and of one that is broken, there are none.
func tracked(index []byte) (names []string) {
	const head, fixed = 12, 62 // bytes; of an entry before its name
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
			from += 2 // more flags
		}
		if len(rest) <= from {
			return nil
		}
		n := bytes.IndexByte(rest[from:], 0)
		if n <= 0 {
			return nil
		}
		names = append(names, string(rest[from:from+n]))
		whole := (from + n + 8) &^ 7 // with one to eight zeros behind
		if whole > len(rest) {
			return nil
		}
		rest = rest[whole:]
	}
	return names
}
