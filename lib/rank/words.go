package rank

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxRun  = 64      // bytes of a name; longer ones are hashes and the like
	maxRuns = 1 << 20 // names whose words are remembered
)

// lexer cuts text into words. It keeps its buffers.
type lexer struct{ buf, whole []byte }

// runs calls fn for each run of letters, digits and '_' in line.
func runs(line []byte, fn func(run []byte)) {
	start := -1
	for i := 0; i < len(line); {
		c := line[i]
		size := 1
		in := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(line[i:])
			in = r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
		}
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			fn(line[start:i])
			start = -1
		}
		i += size
	}
	if start >= 0 {
		fn(line[start:])
	}
}

// words calls fn for each word of a run: the whole name without its underscores
// when it has several parts (whole is then true), and each part. Words are lower
// case and stemmed; of scripts without spaces they are pairs of characters.
func (l *lexer) words(run []byte, fn func(word []byte, whole bool)) {
	if len(run) > maxRun && !wide(run) {
		return
	}
	if wide(run) {
		l.pairs(run, fn)
		return
	}
	parts := 0
	l.whole = l.whole[:0]
	for rest := run; len(rest) > 0; {
		part := nextPart(rest)
		rest = rest[len(part):]
		part = bytes.Trim(part, "_")
		if len(part) == 0 {
			continue
		}
		parts++
		l.buf = lower(l.buf[:0], part)
		l.whole = append(l.whole, l.buf...)
		if w := fold(stem(l.buf)); utf8.RuneCount(w) > 1 {
			fn(w, false)
		}
	}
	if parts > 1 {
		fn(stem(l.whole), true)
	}
}

// nextPart is the first part of a camelCase or snake_case name: "HTTPServer2" is
// HTTP, Server, 2.
func nextPart(run []byte) []byte {
	class := func(i int) int {
		switch c := run[i]; {
		case c == '_':
			return 0
		case '0' <= c && c <= '9':
			return 1
		case 'A' <= c && c <= 'Z':
			return 2
		}
		return 3 // lower case, and every other script
	}
	for i := 1; i < len(run); i++ {
		was, is := class(i-1), class(i)
		switch {
		case was == 2 && is == 2 && i+1 < len(run) && class(i+1) == 3: // the S of HTTPServer
			return run[:i]
		case was == is, was == 2 && is == 3, is == 1 && was >= 2: // sha256 and V2 stay whole
		default:
			return run[:i]
		}
	}
	return run
}

func lower(dst, part []byte) []byte {
	for _, c := range part {
		if c >= utf8.RuneSelf {
			return append(dst[:0:0], bytes.ToLower(part)...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// wide reports whether a run has a script that is written without spaces.
func wide(run []byte) bool {
	for _, r := range string(run) {
		if spaceless(r) {
			return true
		}
	}
	return false
}

// asking are the characters of Chinese and Japanese questions that carry nothing.
const asking = "的了吗呢吧啊在哪里是什么怎为和与有多少几个请问能不会要我你他这那么のはがをにでとかもですますどこなに"

func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul)
}

// pairs calls fn for each two neighbours of a spaceless run, and for the words of
// other scripts between them ("在retry_limit里" has one).
func (l *lexer) pairs(run []byte, fn func([]byte, bool)) {
	text := []rune(string(run))
	for i := 0; i < len(text); i++ {
		if !spaceless(text[i]) {
			j := i
			for j < len(text) && !spaceless(text[j]) {
				j++
			}
			l.words([]byte(string(text[i:j])), fn)
			i = j - 1
			continue
		}
		if i+1 < len(text) && spaceless(text[i+1]) {
			fn([]byte(string(text[i:i+2])), false)
		}
	}
}

// endings are taken off, the longest first, where enough of the word stays. What
// stays need not be a word; it must only be the same for its relatives.
var endings = []struct {
	end, put string
	left     int // least length of what stays before put
}{
	{"ications", "y", 4}, {"ication", "y", 4}, {"izations", "", 4}, {"ization", "", 4},
	{"ations", "", 4}, {"ation", "", 4}, {"ators", "", 4}, {"ator", "", 4}, {"iers", "y", 4}, {"ier", "y", 4},
	{"ates", "", 4}, {"ated", "", 4}, {"ating", "", 4}, {"ate", "", 4},
	{"ings", "", 3}, {"ing", "", 3}, {"ions", "", 4}, {"ion", "", 4}, {"ies", "y", 3}, {"ied", "y", 3},
	{"sses", "ss", 2}, {"ches", "ch", 2}, {"shes", "sh", 2}, {"xes", "x", 2},
	{"ers", "", 4}, {"er", "", 4}, {"ors", "", 4}, {"or", "", 4}, {"ed", "", 3}, {"ment", "", 4}, {"ments", "", 4},
	{"nya", "", 4}, {"kah", "", 4}, {"ly", "", 4}, {"es", "", 4}, {"s", "", 3},
}

// stem takes the ending off an English word (and two of Indonesian), in place.
func stem(w []byte) []byte {
	if len(w) < 4 || w[len(w)-1] >= utf8.RuneSelf || w[len(w)-1] <= '9' {
		return w
	}
	for _, e := range endings {
		if bytes.HasSuffix(w, []byte(e.end)) && len(w)-len(e.end) >= e.left {
			if e.end == "s" && (w[len(w)-2] == 's' || w[len(w)-2] == 'u') {
				break // class, status
			}
			w = append(w[:len(w)-len(e.end)], e.put...)
			break
		}
	}
	if n := len(w); n >= 4 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
		w = w[:n-1] // dropped, running
	}
	if n := len(w); n >= 4 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// same are words that code writes short and people write out, by their stems.
var same = map[string][]byte{
	"maximum": []byte("max"), "maximal": []byte("max"), "minimum": []byte("min"), "minimal": []byte("min"), "configur": []byte("config"),
	"directory": []byte("dir"), "fold": []byte("dir"), "parameter": []byte("param"), "paramet": []byte("param"), "argu": []byte("arg"),
	"argument": []byte("arg"), "database": []byte("db"), "repository": []byte("repo"), "environ": []byte("env"), "environment": []byte("env"),
	"authentic": []byte("auth"), "author": []byte("auth"), "msg": []byte("messag"), "err": []byte("error"), "ctx": []byte("context"),
	"temporary": []byte("tmp"), "temp": []byte("tmp"), "identify": []byte("id"), "identifi": []byte("id"), "connect": []byte("conn"),
	"sec": []byte("second"), "millisecond": []byte("ms"), "pwd": []byte("password"), "passwd": []byte("password"), "async": []byte("asynchronou"),
}

// fold replaces a stem by the one that stands for it.
func fold(w []byte) []byte {
	if short, ok := same[string(w)]; ok {
		return short
	}
	return w
}

// stopWords carry no meaning of their own in a question: English, Indonesian,
// and the politeness of both.
var stopWords = wordSet(`a about above after again all also am an and any anybody anyone are as ask at be because been before
being below between both but by can cannot could did do does doing done down during each else ever every few for from further get
gets give given go goes going got had happen happens has have having he hello help her here hey hi him his how i if in into is it its
just know let like look looking make makes many may me mean means might more most much must my need needs no nor not now of off ok on
once one only or other our out over own please pls same say see shall she should so some somebody someone something such take tell
than thanks that the their them then there these they thing things think this those through to too under until up us use used uses
using very want was way we were what whats when where which while who whom whose why will with would yes yet you your
actual anything believe bit cant come correct didn different doesn doing don everything example fine getting goes gonna good great guess
guys hmm idea ideas instead isn keep kind least less little lot matter matters maybe might never nothing people perhaps plus possible
quick quite rather really reason said seem seems since sort still suggest suggested supposed sure talk told um unless unsure wait
wasn well whether wonder wondering wouldn wrong yeah
exactly actually currently right work works working explain show find question answer anyway maybe code
define defined defines definition located live lives implemented
ada adalah agar aku akan anda apa apakah atau bagaimana bagi bahwa banget beberapa begitu belum berapa biar bisa buat cara dalam dan
dapat dari dengan di dia dimana dong dulu gak gimana guys hanya harus ini itu jadi jika juga ka kak kalau kami kamu kan kapan karena ke
kenapa kita ko kok lagi lah mana masih mau mengapa mereka mohon nah ngga nggak nih nya oleh pada para pas saat saja sama sampai saya
satu sebagai sebuah sedang seperti sih siapa sini situ sudah supaya tahu tapi tau telah tentang tidak tolong tuh udah untuk ya yaitu yang`)

// glossary turns Indonesian words of the trade into the English that code is
// written in.
var glossary = map[string]string{
	"alamat": "address", "aturan": "rule", "baca": "read", "baris": "line", "batas": "limit", "batasan": "limit", "baru": "new",
	"berkas": "file", "bahasa": "language", "buka": "open", "cek": "check", "coba": "try", "daftar": "list", "diambil": "fetch",
	"dibaca": "read", "dibuat": "create", "dihapus": "delete", "dihitung": "count", "dikirim": "send", "dikunci": "lock", "dipakai": "use",
	"disimpan": "store", "ditolak": "refuse", "ditulis": "write", "fungsi": "function", "gagal": "fail", "galat": "error",
	"hapus": "delete", "hitung": "count", "jam": "hour", "jawaban": "reply", "jumlah": "count", "kabel": "wire", "kata": "word",
	"keluar": "exit", "kesalahan": "error", "kirim": "send", "konfigurasi": "config", "kode": "code", "kosong": "empty", "kunci": "lock",
	"lokasi": "location", "maksimal": "max", "maksimum": "max", "masuk": "input", "membaca": "read", "menulis": "write",
	"menyimpan": "store", "minimal": "min", "mulai": "start", "nama": "name", "nilai": "value", "panjang": "length", "pengaturan": "config",
	"pengguna": "user", "perintah": "command", "pertanyaan": "question", "pesan": "message", "putus": "disconnect", "rahasia": "secret",
	"saluran": "channel", "selesai": "done", "simpan": "store", "tanggal": "date", "tulis": "write", "tutup": "close", "ubah": "change",
	"ukuran": "size", "ulang": "retry", "urutan": "order", "waktu": "time", "berhenti": "stop", "tunggu": "wait", "ganti": "replace",
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// id returns the number of a word, a new one for a new word.
func (x *Index) id(word []byte) uint32 {
	if id, ok := x.ids[string(word)]; ok {
		return id
	}
	id := uint32(len(x.df))
	x.ids[string(word)] = id
	x.df = append(x.df, 0)
	return id
}

// terms returns the numbers of a run's words. Names repeat, so that they are cut
// up once.
func (x *Index) terms(run []byte) []uint32 {
	if ids, ok := x.runs[string(run)]; ok {
		return ids
	}
	var ids []uint32
	x.lex.words(run, func(word []byte, _ bool) { ids = append(ids, x.id(word)) })
	if len(x.runs) < maxRuns && len(run) <= maxRun {
		x.runs[string(run)] = ids
	}
	return ids
}

// fill reads the words of a file: line by line, its path as line 0.
func (x *Index) fill(f *file, text []byte) {
	var pairs []uint64 // term, line
	add := func(line int) func([]byte) {
		return func(run []byte) {
			for _, id := range x.terms(run) {
				pairs = append(pairs, uint64(id)<<32|uint64(line))
			}
		}
	}
	runs([]byte(f.path), add(0))
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		runs(line, add(n))
		text = rest
	}
	slices.Sort(pairs)
	f.lines = make([]uint32, 0, len(pairs))
	last := uint64(1) << 63
	for _, p := range pairs {
		if id := uint32(p >> 32); len(f.terms) == 0 || f.terms[len(f.terms)-1] != id {
			f.terms = append(f.terms, id)
			f.starts = append(f.starts, uint32(len(f.lines)))
		}
		if p != last {
			f.lines = append(f.lines, uint32(p))
		}
		last = p
	}
	f.starts = append(f.starts, uint32(len(f.lines)))
	f.terms, f.starts = slices.Clip(f.terms), slices.Clip(f.starts)
}

// on returns the lines of f that have a term.
func (f *file) on(id uint32) []uint32 {
	i, ok := slices.BinarySearch(f.terms, id)
	if !ok {
		return nil
	}
	return f.lines[f.starts[i]:f.starts[i+1]]
}
