package codesearch

import (
	"bytes"
	"strings"
)

// fields is where a word occurs in a passage, in one byte, since it is kept for each word of each passage.
type fields uint8

const (
	nameOne fields = 1 << 0 // in the declaration: counted to 3
	noteOne fields = 1 << 2 // in comments: counted to 3
	codeOne fields = 1 << 4 // in code: counted to 7
	inPath  fields = 1 << 7 // in the file's path or the enclosing declarations
)

func (f fields) names() int { return int(f & 3) }
func (f fields) notes() int { return int(f >> 2 & 3) }
func (f fields) codes() int { return int(f >> 4 & 7) }

func (f *fields) add(one fields) {
	switch {
	case one == inPath:
		*f |= inPath
	case one == nameOne && f.names() < 3, one == noteOne && f.notes() < 3, one == codeOne && f.codes() < 7:
		*f += one
	}
}

// posting is an occurrence of a word in a passage.
type posting struct {
	file, passage uint32
	fields        fields
}

// reader turns files into postings. Each worker has its own.
type reader struct {
	lex   lexer
	ids   map[string]uint32
	words []string
	runs  map[string][]uint32 // names recur, so each is split once
	posts [][]posting         // by word
	seen  map[uint32]fields   // of the current passage
	count int                 // words in it
}

const maxRuns = 1 << 19 // names whose words a reader caches

func newReader() *reader {
	return &reader{ids: map[string]uint32{}, runs: map[string][]uint32{}, seen: map[uint32]fields{}}
}

// read indexes a file and returns its passages.
func (r *reader) read(file uint32, name string, text []byte) []span {
	lang := languageOf(name)
	lines := bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
	passages, kinds := lang.outline(lines)
	spans := make([]span, 0, len(passages))
	for n, p := range passages {
		clear(r.seen)
		r.count = 0
		r.add([]byte(name), inPath)
		r.add([]byte(p.inside), inPath)
		r.count = 0 // the path is the same for all passages
		for i := p.from - 1; i < p.to; i++ {
			r.line(lang, &p, i+1, lines[i], kinds[i])
		}
		for id, f := range r.seen {
			r.posts[id] = append(r.posts[id], posting{file, uint32(n), f})
		}
		spans = append(spans, span{file: file, from: uint32(p.from), to: uint32(p.to), decl: uint32(p.decl),
			words: uint32(r.count), tests: p.tests})
	}
	return spans
}

// line indexes one line of a passage.
func (r *reader) line(lang *language, p *passage, n int, line []byte, s lineKind) {
	switch {
	case s == blank, len(line) > maxLine:
	case s == foreign:
		_, note := lang.trailing(line)
		r.add(note, noteOne)
	case s == comment && n == p.decl: // a heading
		r.add(line, nameOne)
	case s == comment:
		r.add(line, noteOne)
	default:
		line, note := lang.trailing(line)
		r.add(note, noteOne)
		name := 0
		if n == p.decl {
			name = len(names(string(line)))
			if i := bytes.IndexByte(line, ' '); i > 0 {
				name = len(line) - len(bytes.TrimLeft(line[i:], " "))
				name += len(names(string(line[name:])))
			}
		} else if p.block {
			name = firstName(line)
		}
		name = min(name, len(line))
		r.add(line[:name], nameOne)
		r.add(line[name:], codeOne)
	}
}

// firstName returns the length of the name at the start of a line that the line sets or declares.
func firstName(line []byte) int {
	end := 0
	for end < len(line) && (line[end] == ' ' || line[end] == '\t' || line[end] == '"' || line[end] == '-') {
		end++
	}
	for end < len(line) && line[end] != ' ' && line[end] != ':' && line[end] != '=' && line[end] != '(' &&
		line[end] != '.' && line[end] != '\t' {
		end++
	}
	if end < len(line) && line[end] == '(' {
		return 0 // a call
	}
	return end
}

// trailing separates a line of code from the comment at its end.
func (l *language) trailing(line []byte) (code, note []byte) {
	for _, begin := range l.line {
		i := bytes.LastIndex(line, []byte(" "+begin))
		if i > 0 && bytes.Count(line[:i], []byte{'"'})%2 == 0 {
			return line[:i], line[i+1+len(begin):]
		}
		i = bytes.LastIndex(line, []byte("\t"+begin))
		if i > 0 && strings.TrimSpace(string(line[:i])) != "" {
			return line[:i], line[i+1+len(begin):]
		}
	}
	return line, nil
}

// add counts the words of some text in a field of the current passage.
func (r *reader) add(text []byte, field fields) {
	runs(text, func(run []byte) {
		ids, ok := r.runs[string(run)]
		if !ok {
			r.lex.words(run, func(word []byte, _ bool) { ids = append(ids, r.id(word)) })
			if len(r.runs) < maxRuns && len(run) <= maxRun {
				r.runs[string(run)] = ids
			}
		}
		r.count++
		for _, id := range ids {
			f := r.seen[id]
			f.add(field)
			r.seen[id] = f
		}
	})
}

// id returns the number of a word, assigning one if needed.
func (r *reader) id(word []byte) uint32 {
	if id, ok := r.ids[string(word)]; ok {
		return id
	}
	id := uint32(len(r.words))
	w := string(word)
	r.ids[w] = id
	r.words = append(r.words, w)
	r.posts = append(r.posts, nil)
	return id
}
