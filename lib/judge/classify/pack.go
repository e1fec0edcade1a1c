package classify

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed packs/*.txt
var packFiles embed.FS

// kind is a set of uses of a phrase; packs/README describes each.
type kind uint32

const (
	anywhere kind = 1 << iota
	start
	clause
	told
	end
	lead
	idle
	ack
	thanks
	more
	problem
	solved
	first
	second
	later
	reply
	guess
	advice
	fact

	asking = anywhere | start | clause | end
)

var sections = map[string]kind{
	"anywhere": anywhere, "start": start, "clause": start | clause, "told": told, "end": end, "lead": lead,
	"idle": idle,
	"ack":  ack, "thanks": ack | thanks, "more": more,
	"problem": problem, "solved": solved, "first": first, "second": second, "later": later, "reply": reply,
	"guess": guess, "advice": advice, "fact": fact, "common": 0, "letters": 0,
}

// pack is the text of one language's phrases, built in or a team's.
type pack struct {
	lang string
	path string // for error messages
	text []byte
	team bool
}

// Limits of a team's packs. The built-in ones are far below.
const (
	maxPack      = 1 << 20 // bytes
	maxLanguages = 32      // the number of bits in common
)

var packName = regexp.MustCompile(`^([a-z]{2,3}(?:-[a-z0-9]{2,8})*)\.txt$`)

// loadPacks returns the packs of the languages, all if none is named: the built-in ones followed by those
// of the team's folder dir, which may be "".
func loadPacks(languages []string, dir string) ([]pack, error) {
	packs, err := readPacks(packFiles, "packs", "packs", false)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("classifier.packs_dir: %w", err)
		}
		defer root.Close()
		theirs, err := readPacks(root.FS(), ".", dir, true)
		if err != nil {
			return nil, fmt.Errorf("classifier.packs_dir: %w", err)
		}
		for _, p := range theirs {
			if p.replaces() {
				packs = slices.DeleteFunc(packs, func(ours pack) bool { return ours.lang == p.lang })
			}
		}
		packs = append(packs, theirs...)
	}
	return named(packs, languages)
}

// named returns the packs of the languages, in the order of packs.
func named(packs []pack, languages []string) ([]pack, error) {
	var have []string
	for _, p := range packs {
		if !slices.Contains(have, p.lang) {
			have = append(have, p.lang)
		}
	}
	slices.Sort(have)
	if len(languages) == 0 {
		languages = have
	}
	if len(languages) > maxLanguages {
		return nil, fmt.Errorf("classifier.packs_dir: %d languages, at most %d", len(languages), maxLanguages)
	}
	var kept []pack
	for _, lang := range languages {
		if !slices.Contains(have, lang) {
			return nil, fmt.Errorf("classifier.languages: language %q: no such pack; there are: %s", lang,
				strings.Join(have, " "))
		}
		for _, p := range packs {
			if p.lang == lang {
				kept = append(kept, p)
			}
		}
	}
	return kept, nil
}

// readPacks reads every pack of a folder; name is the folder's name in messages.
func readPacks(from fs.FS, folder, name string, team bool) ([]pack, error) {
	entries, err := fs.ReadDir(from, folder)
	if err != nil {
		return nil, err
	}
	var packs []pack
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".txt") {
			continue // a README, an editor backup
		}
		path := name + "/" + e.Name()
		lang := packName.FindStringSubmatch(e.Name())
		if lang == nil {
			return nil, fmt.Errorf("%q is not named after a language, as id.txt", path)
		}
		f, err := from.Open(strings.TrimPrefix(folder+"/"+e.Name(), "./"))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(f, maxPack+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		if len(text) > maxPack {
			return nil, fmt.Errorf("%q is longer than %d bytes", path, maxPack)
		}
		packs = append(packs, pack{lang[1], path, text, team})
	}
	return packs, nil
}

// replaces reports whether a team's pack replaces the built-in one: its first line that is not blank or a
// comment is [replace].
func (p pack) replaces() bool {
	for line := range bytes.Lines(p.text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return string(line) == "[replace]"
		}
	}
	return false
}

// addPack adds a pack to the lexicon.
func (l *lexicon) addPack(p pack) error {
	at := slices.Index(l.langs, p.lang)
	if at < 0 {
		at = len(l.langs)
		l.langs = append(l.langs, p.lang)
	}
	l.lang = 1 << at
	section, text := "", p.text
	if p.team { // a test checks that the built-in packs are normal
		text = normal(text)
	}
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || section == "" && line == "[replace]" && p.team {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			if _, ok := sections[section]; !ok {
				return fmt.Errorf("%s:%d: no section %q", p.path, n, section)
			}
			continue
		}
		if p.team && !utf8.ValidString(line) {
			return fmt.Errorf("%s:%d: is not UTF-8", p.path, n)
		}
		if err := l.addLine(section, line); err != nil {
			return fmt.Errorf("%s:%d: %w", p.path, n, err)
		}
	}
	return nil
}

func (l *lexicon) addLine(section, line string) error {
	switch section {
	case "":
		return errors.New("stands before the first section")
	case "common":
		for _, word := range strings.Fields(line) {
			if len(word) > 1 { // a single letter is ambiguous
				l.common[l.id(folded(word))] |= l.lang
			}
		}
	case "letters":
		for _, r := range line {
			if r > ' ' {
				l.letters[foldRune(r)] |= l.lang
			}
		}
	default:
		return l.add(line, sections[section])
	}
	return nil
}
