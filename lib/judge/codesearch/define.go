package codesearch

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"tri/lib/judge/declaration"
)

// Definition is a declaration in a file of the folder.
type Definition struct {
	Path string
	declaration.Declaration
	Lines []string // of the whole file
	Aside bool     // in tests, examples, copied code, or types alone
}

// Use is a place where a name is used.
type Use struct {
	Path string
	declaration.Use
	Lines []string // of the whole file
	Aside bool
}

const (
	maxDefining = 128 // files read for one name
	maxUsing    = 160 // files read for the uses of a name
)

// Definitions returns the declarations of a name as of the last search, those of sources first. The name may
// be written as several words; if a declaration has exactly its letters, only such ones are returned.
func (x *Index) Definitions(name string) []Definition {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.definitions(name)
}

func (x *Index) definitions(name string) []Definition {
	var all []Definition
	want := x.spelled(name)
	for _, at := range x.naming(name, maxDefining) {
		text, err := x.text(at.path)
		if err != nil {
			continue
		}
		var lines []string
		for _, d := range declaration.Read(at.path, text) {
			if d.Name == name || x.spelled(d.Name) == want {
				if lines == nil {
					lines = split(text)
				}
				aside := at.aside() || inTests(at.path, lines, d.Line)
				all = append(all, Definition{at.path, d, lines, aside})
			}
		}
	}
	if exact := slices.DeleteFunc(slices.Clone(all), func(d Definition) bool {
		private := d.Kind == declaration.Field || d.Kind == declaration.Setting
		return d.Name != name && !(private && d.Name == "#"+name)
	}); len(exact) > 0 {
		all = exact
	}
	slices.SortStableFunc(all, func(a, b Definition) int {
		return cmp.Compare(later(a.Aside), later(b.Aside))
	})
	return all
}

// inTests reports whether a line of Rust is in the tests at the end of its file.
func inTests(name string, lines []string, line int) bool {
	return strings.HasSuffix(name, ".rs") && slices.Contains(lines[:min(line, len(lines))], "#[cfg(test)]") &&
		slices.ContainsFunc(lines[:min(line, len(lines))], func(l string) bool {
			return strings.HasPrefix(l, "mod test")
		})
}

// Uses returns the places where a name is used as of the last search, those of sources first.
func (x *Index) Uses(name string) []Use {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.using(name)
}

func (x *Index) using(name string) []Use {
	var all []Use
	for _, at := range x.naming(name, maxUsing) {
		text, err := x.text(at.path)
		if err != nil || !bytes.Contains(text, []byte(name)) {
			continue
		}
		lines := split(text)
		for _, u := range declaration.Uses(at.path, text, name) {
			all = append(all, Use{at.path, u, lines, at.aside() || inTests(at.path, lines, u.Line)})
		}
	}
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(later(a.Aside), later(b.Aside)) })
	return all
}

// Saying returns the lines of sources that contain a text between quotes, as of the last search.
func (x *Index) Saying(text string) []Use {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.saying(text)
}

const (
	leastSaid = 3  // words of a text that a question repeats
	maxTold   = 48 // files read for it
)

// Told returns the longest run of words of a question that sources have between quotes on one line; "" if
// that is shorter than three words, or has only stop words.
func (x *Index) Told(question string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	written := strings.Fields(strings.NewReplacer("`", " ", `"`, " ", "'", " ").Replace(clean(question)))
	written = written[:min(len(written), 2*maxWants)]
	words := strings.Fields(strings.ToLower(strings.Join(written, " ")))
	if len(words) != len(written) {
		return ""
	}
	has := map[string]int{} // by file, how many words of the question
	for _, w := range words {
		runs([]byte(w), func(run []byte) {
			seen := map[string]bool{}
			x.lex.words(run, func(word []byte, _ bool) {
				posts := x.posts(string(word))
				for _, p := range posts[:min(len(posts), 20*maxUsing)] {
					s, at := x.at(p.at)
					if e := s.files[at.file]; !seen[e.path] && !e.aside() && declaration.Known(e.path) {
						seen[e.path] = true
						has[e.path]++
					}
				}
			})
		})
	}
	files := slices.SortedFunc(maps.Keys(has), func(a, b string) int {
		return cmp.Or(has[b]-has[a], strings.Compare(a, b))
	})
	from, most := 0, 0
	for _, path := range files[:min(len(files), maxTold)] {
		text, err := x.text(path)
		if err != nil {
			continue
		}
		var masked []string
		for i, line := range split(text) {
			if at, n := longestRun(words, strings.ToLower(line)); n > most && len(line) <= maxLine {
				if masked == nil {
					masked = split(declaration.Mask(path, text))
				}
				if said(line, masked[i], joinedWords(words[at:at+n])) {
					from, most = at, n
				}
			}
		}
	}
	if !slices.ContainsFunc(words[from:from+most], func(w string) bool {
		return !stopWords[strings.Trim(w, ".,;:!?")]
	}) {
		return ""
	}
	return joinedWords(written[from : from+most])
}

// joinedWords joins words of a question, without a mark behind the last.
func joinedWords(words []string) string { return strings.TrimRight(strings.Join(words, " "), ".,;:!?") }

// longestRun returns the position and the length of the longest run of at least leastSaid words that a line
// has, all in lower case.
func longestRun(words []string, line string) (from, most int) {
	for i := 0; i+leastSaid <= len(words); i++ {
		for n := leastSaid; i+n <= len(words) && strings.Contains(line, joinedWords(words[i:i+n])); n++ {
			if n > most {
				from, most = i, n
			}
		}
	}
	return from, most
}

// said reports whether a line has a text, in lower case, between quotes, but not in a comment or in a string
// that began on an earlier line.
func said(line, masked, low string) bool {
	at := strings.Index(strings.ToLower(line), low)
	if at < 0 || len(line) != len(strings.ToLower(line)) {
		return false
	}
	before := strings.TrimRight(masked[:min(at, len(masked))], " ")
	return before != "" && strings.ContainsAny(before[len(before)-1:], "\"'`")
}

func (x *Index) saying(text string) []Use {
	var rare []posted
	runs([]byte(text), func(run []byte) {
		x.lex.words(run, func(word []byte, _ bool) {
			if posts := x.posts(string(word)); rare == nil || len(posts) < len(rare) {
				rare = posts
			}
		})
	})
	var all []Use
	seen := map[string]bool{}
	low := strings.ToLower(text)
	for _, p := range rare[:min(len(rare), 20*maxUsing)] {
		s, at := x.at(p.at)
		e := s.files[at.file]
		if seen[e.path] || e.aside() || !declaration.Known(e.path) || len(seen) > maxUsing {
			continue
		}
		seen[e.path] = true
		body, err := x.text(e.path)
		if err != nil || !strings.Contains(strings.ToLower(string(body)), low) {
			continue
		}
		lines, declared := split(body), declaration.Read(e.path, body)
		masked := split(declaration.Mask(e.path, body))
		for i, line := range lines {
			if said(line, masked[i], low) {
				in := declaration.Within(declared, i+1)
				all = append(all, Use{Path: e.path, Lines: lines, Aside: inTests(e.path, lines, i+1),
					Use: declaration.Use{Line: i + 1, In: in.Full(), Head: in.Line}})
			}
		}
	}
	return all
}

// phrase returns the places of sources that have the words of a question one behind the other, in a
// text or as part of a name: for a question of words that each say nothing.
func (x *Index) phrase(question string, limit int) []Hit {
	words := strings.Fields(strings.Trim(clean(question), "\"'`?!. "))
	if len(words) < 2 || len(words) > 6 {
		return nil
	}
	text := strings.Join(words, " ")
	uses := x.saying(text)
	var hits []Hit
	add := func(u Use, word string) {
		if u.Aside || slices.ContainsFunc(hits, func(h Hit) bool {
			return h.Path == u.Path && h.Start <= u.Line && u.Line <= h.End
		}) {
			return
		}
		start, end := u.Line, u.Line
		for start > 1 && u.Line-start < 2 && strings.TrimSpace(u.Lines[start-2]) != "" {
			start--
		}
		hits = append(hits, Hit{Path: u.Path, Start: start, End: end, Lines: u.Lines[start-1 : end],
			Words: []string{word},
			Score: 1, Cover: 1, Count: len(words), BestStart: start, BestEnd: end, alone: 1})
	}
	for _, said := range uses[:min(len(uses), limit)] {
		line := said.Lines[said.Line-1]
		low := strings.ToLower(text) // which may be shorter, whereas the line's is not
		add(said, line[strings.Index(strings.ToLower(line), low):][:len(low)])
		runs([]byte(line), func(run []byte) { // what is named after the phrase, where it is used
			name := strings.ToLower(string(run))
			if !isName(run) || !strings.Contains(name, strings.ToLower(strings.Join(words, ""))) {
				return
			}
			for _, at := range x.naming(name, limit) {
				body, _ := x.text(at.path) // a file that has gone has no lines
				lines := split(body)
				for n, line := range lines {
					if i := strings.Index(strings.ToLower(line), name); i >= 0 && len(line) <= maxLine &&
						len(line) == len(strings.ToLower(line)) && len(hits) < limit {
						add(Use{Path: at.path, Lines: lines, Use: declaration.Use{Line: n + 1},
							Aside: at.aside()}, line[i:i+len(name)])
					}
				}
			}
		})
	}
	return hits[:min(len(hits), limit)]
}

const maxFirst = 2 // definitions of a name that come first

// definedFirst puts the definitions of the names in a question before all other hits: who writes a name as
// the code does asks about that thing.
func (x *Index) definedFirst(q *query, hits []Hit, limit int) []Hit {
	if q.report || q.callers || len(hits) == 0 {
		return hits
	}
	var first []Hit
	for _, name := range q.names[:min(len(q.names), maxFirst)] {
		all := slices.DeleteFunc(x.definitions(name), func(d Definition) bool {
			return d.Aside || d.Kind == declaration.Setting || d.Kind == declaration.Parameter
		})
		if top := slices.DeleteFunc(slices.Clone(all), func(d Definition) bool {
			return d.Kind == declaration.Field
		}); len(top) > 0 {
			all = top
		}
		if len(all) > maxFirst {
			continue
		}
		for _, d := range all {
			first = append(first, defined(d, hits))
		}
	}
	for i, h := range first {
		h.Score = hits[0].Score * (1 + 0.01*float64(len(first)-i))
		h.alone = max(h.alone, hits[0].alone)
		first[i] = h
	}
	for _, h := range hits {
		if !slices.ContainsFunc(first, func(f Hit) bool {
			return f.Path == h.Path && f.Start <= h.End && h.Start <= f.End
		}) {
			first = append(first, h)
		}
	}
	return first[:min(len(first), limit)]
}

// defined returns the hit of a definition: the one found there, or its lines.
func defined(d Definition, hits []Hit) Hit {
	for _, h := range hits {
		if h.Path == d.Path && h.Start <= d.Line && d.Line <= h.End {
			return h
		}
	}
	start := max(d.Start, d.Line-maxShown/2) // a comment above may be long
	end := min(d.End, start+maxShown-1, len(d.Lines))
	return Hit{Path: d.Path, Start: start, End: end, Lines: d.Lines[start-1 : end],
		Words: []string{d.Name}, Defines: true,
		Cover: hits[0].Cover, Count: hits[0].Count, BestStart: max(start, d.Line-2),
		BestEnd: min(end, d.Line+maxQuoted-3)}
}

// later orders what is set behind what is not.
func later(b bool) int {
	if b {
		return 1
	}
	return 0
}

func split(text []byte) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}

// aside reports whether declarations of a file are no part of the code itself.
func (e entry) aside() bool {
	return fileKind(e.kind) != source
}

// naming returns at most limit files of code that contain a name, sources first.
func (x *Index) naming(name string, limit int) []entry {
	var files []entry
	declare := map[string]bool{} // by path: whether the name is in a declaration
	word := x.spelled(name)
	if word == "" {
		return nil
	}
	for _, w := range []string{string(fold([]byte(word))), otherName(word)} {
		for _, p := range x.posts(w) {
			s, at := x.at(p.at)
			e := s.files[at.file]
			if was, seen := declare[e.path]; !seen && declaration.Known(e.path) {
				declare[e.path] = p.fields.names() > 0
				files = append(files, e)
			} else if seen {
				declare[e.path] = was || p.fields.names() > 0
			}
		}
	}
	slices.SortFunc(files, func(a, b entry) int {
		return cmp.Or(cmp.Compare(later(a.aside()), later(b.aside())),
			cmp.Compare(later(!declare[a.path]), later(!declare[b.path])), strings.Compare(a.path, b.path))
	})
	files = files[:min(len(files), limit)]
	slices.SortFunc(files, func(a, b entry) int {
		return cmp.Or(cmp.Compare(later(a.aside()), later(b.aside())), strings.Compare(a.path, b.path))
	})
	return files
}

// spelled returns the word of the index for a name, however it is written: MaxRetries, max_retries, max
// retries.
func (x *Index) spelled(name string) string {
	var letters []byte
	for _, part := range strings.FieldsFunc(name, func(r rune) bool {
		return r == ' ' || r == '_' || r == '-' || r == '#'
	}) {
		letters = append(letters, strings.ToLower(part)...)
	}
	if len(letters) == 0 || len(letters) > maxRun {
		return ""
	}
	return string(stem(letters))
}
