package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tri/lib/base/text"
	"tri/lib/judge/declaration"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// The results of checking a reference, from best to worst. The verdict uses the same words.
const (
	Supports    = "supports"
	Uncheckable = "uncheckable"
	Contradicts = "contradicts"
	Fabricated  = "fabricated"
)

// Tolerances, in lines. Code moves a little between reading and checking, and agents miscount; a larger
// distance means another place.
const (
	MaxDrift  = 20  // a quote may be this far from its citation
	Around    = 3   // claimed content may be this far from the cited lines
	MaxLines  = 200 // a citation of as many or more names no place in the file
	maxListed = 5   // missing words named in a note
)

// Finding is the result of checking a reference.
type Finding struct {
	Result string
	Note   string // one sentence, for people and for the next round
	Path   string // of a file reference, if readable
	// Start and End are the lines actually found, from 1; 0 if nothing narrower than the file was found.
	Start, End int
	Lines      []string // the lines from Start to End
	Drift      int      // lines between the cited and the actual place
	Text       string   // the whole file, or the commit's message and paths
	Stands     bool     // path, lines and quote exist
	Claim      *Text    // the claim that the reference supports
	Exact      []*Text  // the cited lines
	Places     []*Text  // the same with Around lines on each side
	Around     []*Text  // the same with Scope lines, the path, and the heads of the declarations around them
	Cover      Coverage // of the claim by these
	Decided    []string // numbers, names and units of the claim that code found
	Lacks      []string // those that it did not find
}

// Confirmed returns refs without the quotes that code has not found: only those are words of the evidence.
func Confirmed(refs []draft.Ref, found []Finding) []draft.Ref {
	refs = slices.Clone(refs)
	for i := range refs {
		if !found[i].Stands {
			refs[i].Quote = ""
		}
	}
	return refs
}

// Resolve checks the target of ref. It uses the version that the receipt names: the current file if it is
// unchanged, otherwise the file at the receipt's commit, otherwise the current file. Resolve never fails:
// an unreadable target is a finding too.
func Resolve(root *os.Root, repo Repo, ref draft.Ref) Finding {
	switch ref.Kind {
	case draft.KindFile:
		return resolveFile(root, repo, ref)
	case draft.KindGitCommit:
		return resolveCommit(repo, ref)
	}
	return Finding{Result: Uncheckable,
		Note: fmt.Sprintf("code cannot check a reference of kind %s", ref.Kind)}
}

// ResolveNote checks a reference to a note of the team: a file below the first of some folders that has it.
func ResolveNote(dirs []string, ref draft.Ref) Finding {
	f := Finding{Result: Uncheckable, Note: "no folder of notes is configured"}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) {
			f = Finding{Result: Fabricated, Note: errMissing.Error()}
			continue // no note was kept yet
		}
		if err != nil {
			return Finding{Result: Uncheckable, Note: missing(err).Error()}
		}
		f = resolveFile(root, Repo{}, ref)
		root.Close()
		if f.Text != "" || f.Note != errMissing.Error() {
			return f
		}
	}
	return f
}

// ResolveText checks a reference to a text that is not in a file, as ref names it.
func ResolveText(ref draft.Ref, text string) Finding {
	p, err := Parse(ref.Ref)
	if err != nil {
		return Finding{Result: Fabricated, Note: err.Error()}
	}
	f := judge(p, split([]byte(text)), ref)
	f.Text = text
	return f
}

// ResolveAll resolves the references of one return. Two references whose quotes are each found where the
// other is cited have been swapped, however close the places are.
func ResolveAll(root *os.Root, repo Repo, refs []draft.Ref) []Finding {
	found := make([]Finding, len(refs))
	for i, ref := range refs {
		found[i] = Resolve(root, repo, ref)
	}
	for i := range refs {
		for j := range refs {
			if i != j && elsewhere(refs, found, i, j) {
				if found[i].Result == Supports || found[i].Result == Uncheckable {
					found[i].Result = Contradicts
				}
				found[i].Note = fmt.Sprintf("its quote is that of reference %d, at line %d: %s", j+1,
					found[j].Start, found[i].Note)
				break
			}
		}
	}
	return found
}

// elsewhere reports whether the quote of i is found where j is cited, and not where i is.
func elsewhere(refs []draft.Ref, found []Finding, i, j int) bool {
	if refs[i].Kind != draft.KindFile || refs[j].Kind != draft.KindFile || !says(refs[i].Quote) {
		return false
	}
	p, err := Parse(refs[i].Ref)
	q, errOther := Parse(refs[j].Ref)
	if err != nil || errOther != nil || q.Start == 0 || p.Start == 0 || p == q {
		return false
	}
	if found[i].Result != Fabricated && (found[i].Drift == 0 || p.Path != q.Path) {
		return false
	}
	other := split([]byte(found[j].Text))
	for _, s := range find(other, refs[i].Quote) {
		if s.distance(q) == 0 && (p.Path != q.Path || s.distance(p) > 0) {
			return true
		}
	}
	return false
}

// Exists reports whether a file or folder exists in the codebase; name is relative to its root.
func Exists(codebase, name string) bool {
	clean, err := checkPath(name)
	if err != nil {
		return false
	}
	root, err := os.OpenRoot(codebase)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Lstat(clean)
	return err == nil
}

func resolveFile(root *os.Root, repo Repo, ref draft.Ref) Finding {
	p, err := Parse(ref.Ref)
	if err != nil {
		return Finding{Result: Fabricated, Note: err.Error()}
	}
	data, note, err := rightBytes(root, repo, p.Path, ref.Receipt)
	if unknown(err) {
		return Finding{Result: Uncheckable, Note: err.Error(), Path: p.Path}
	}
	if err != nil {
		return Finding{Result: Fabricated, Note: err.Error(), Path: p.Path}
	}
	f := judge(p, split(data), ref)
	f.Path, f.Text = p.Path, string(data)
	if note != "" {
		f.Note += "; " + note
	}
	return f
}

// rightBytes returns the file as the investigator read it, if available.
func rightBytes(root *os.Root, repo Repo, name string,
	r *draft.Receipt) (data []byte, note string, err error) {
	now, err := read(root, name)
	if r == nil || err == nil && r.SHA256 == text.SHA256(now) {
		return now, "", err
	}
	if r.Commit != "" && (err == nil || errors.Is(err, errMissing)) {
		then, gitErr := repo.blob(context.Background(), r.Commit, name)
		if gitErr == nil && checkText(then) == nil && (r.SHA256 == "" || r.SHA256 == text.SHA256(then)) {
			return then, fmt.Sprintf("as it was at %.12s; it has changed since", r.Commit), nil
		}
	}
	return now, "the file has changed since it was read", err
}

// judge compares the citation with the file's lines.
func judge(p Place, lines []string, ref draft.Ref) Finding {
	if n := len(lines); p.End > n {
		cited := p.End
		if p.Start > n {
			cited = p.Start
		}
		return Finding{Result: Fabricated, Note: fmt.Sprintf("line %d is cited, the file has %d", cited, n)}
	}
	p = p.Specific()
	if says(ref.Quote) {
		return judgeQuote(p, lines, ref)
	}
	if p.Start == 0 {
		return Finding{Result: Uncheckable, Note: "no line of the file is cited and nothing is quoted"}
	}
	f := Finding{Start: p.Start, End: p.End, Lines: lines[p.Start-1 : p.End]}
	if strings.TrimSpace(strings.Join(f.Lines, "")) == "" {
		f.Result, f.Note = Contradicts, "the cited lines are empty"
		return f
	}
	f.Stands = true
	f.weigh(ref, p, lines, []span{{p.Start, p.End}})
	if f.Result == Supports {
		f.Note = f.covers("the cited lines", "cover")
	}
	return f
}

func judgeQuote(p Place, lines []string, ref draft.Ref) Finding {
	found := find(lines, ref.Quote)
	if len(found) == 0 {
		return Finding{Result: Fabricated, Note: "the quoted text stands nowhere in the file"}
	}
	at := nearest(found, p)
	f := Finding{Start: at.start, End: at.end, Lines: lines[at.start-1 : at.end], Drift: at.distance(p)}
	if f.Drift > MaxDrift {
		f.Result = Contradicts
		f.Note = fmt.Sprintf("the quoted text does not stand at the cited lines but at line %d", at.start)
		return f
	}
	near := []span{at}
	if p.Start > 0 && at != (span{p.Start, p.End}) {
		near = append(near, span{p.Start, p.End})
	}
	f.Stands = true
	f.weigh(ref, p, lines, near)
	where := "the quoted text stands there"
	if f.Drift > 0 {
		where = fmt.Sprintf("the quoted text stands at line %d, %d lines from where it is cited",
			at.start, f.Drift)
	}
	switch f.Result {
	case Supports:
		f.Note = f.covers(where, "and covers")
	case Uncheckable:
		f.Note = where + ", but " + f.Note
	}
	return f
}

// covers says how much of the claim the lines cover. A claim that only lists names is true where they occur,
// and says nothing of their relevance.
func (f *Finding) covers(what, verb string) string {
	if f.Claim.Lists() {
		return "the names occur there; " + verdict.NotJudged
	}
	return what + " " + verb + " " + f.Cover.String()
}

// weigh compares the claim of ref with the cited places. Figures must be near the places, names there or in
// the heads of the declarations around them. A claim that is not contradicted is supported only if enough of
// its words are covered, its counts and units are near the places, and its names in them or in the heads.
func (f *Finding) weigh(ref draft.Ref, p Place, lines []string, places []span) {
	f.Claim = FromText("the claim", ref.SupportsClaim)
	for _, s := range places {
		from, to := max(s.start-Scope, 1), min(s.end+Scope, len(lines))
		scene := FromLines(p.Path, lines[from-1:to], from)
		f.Around = append(f.Around, scene)
		f.Exact = append(f.Exact, scene.part(s.start, s.end))
		f.Places = append(f.Places, scene.part(s.start-Around, s.end+Around))
	}
	own := f.Exact
	if !says(ref.Quote) {
		own = f.Places // without a quote the lines may be a few off
	}
	head := heads(p.Path, lines, places[0].start)
	f.Around = append(f.Around, FromText(p.Path, p.Path), FromLines(p.Path, head, 1))
	f.Cover = f.Claim.Cover(own, f.Around)
	if why := f.Claim.Contrary(f.Places...); why != "" {
		f.Result, f.Note = Contradicts, "the claim "+why
		return
	}
	var gone []string
	near := append(slices.Clone(f.Places), f.heads()...)
	f.Decided, gone = f.Claim.located(p, f.Places, near)
	f.Cover.Apart = apart(f.Claim.sentences, f.Claim.tokens, f.Exact, f.heads())
	switch {
	case len(gone) > 0:
		f.Result, f.Lacks = Uncheckable, gone
		f.Note = fmt.Sprintf("the cited lines do not hold %s, which the claim names", list(gone))
	case len(f.Cover.Apart) > 0:
		f.Result, f.Note = Uncheckable, "the cited lines do not hold "+list(f.Cover.Apart)
	case f.Cover.About:
		f.Result = Supports
	default:
		f.Result, f.Note = Uncheckable, "it is not about the claim: "+f.Cover.String()
	}
}

// heads returns the comments and the first lines of the declarations around a line.
func heads(path string, lines []string, line int) []string {
	var out []string
	for _, d := range declaration.Read(path, []byte(strings.Join(lines, "\n"))) {
		if d.Start <= line && line <= d.End && d.Start < d.End {
			out = append(out, lines[d.Start-1:min(d.Line, len(lines))]...)
		}
	}
	return out
}

// located finds each name, path, option and number of a claim in places, and a name also in named.
func (t *Text) located(p Place, places, named []*Text) (found, gone []string) {
	for _, tok := range t.tokens {
		if Names(p.Path, tok.Text) {
			continue
		}
		to := ""
		for _, e := range places {
			if to = e.Where(tok); to != "" {
				break
			}
		}
		switch {
		case to != "":
			found = append(found, tok.Kind+" "+tok.Text+" at "+to)
		case (tok.Kind != Number || tok.Version()) && tok.among(named, nil):
			found = append(found, tok.Kind+" "+tok.Text+" in "+p.Path)
		default:
			gone = append(gone, tok.Text)
		}
	}
	return found, gone
}

// Names reports whether text refers to the file: by its path, the end of it, or its package's folder.
func Names(file, text string) bool {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
	return text != "" && (file == text || strings.HasSuffix(file, "/"+text) ||
		strings.HasPrefix(file, text+"/") || path.Base(path.Dir(file)) == text)
}

func absent(tokens []Token, text string) []string {
	var gone []string
	for _, t := range tokens {
		if !t.In(text) {
			gone = append(gone, t.Text)
		}
	}
	return gone
}

func list(words []string) string { return text.Few(words, maxListed) }

func resolveCommit(repo Repo, ref draft.Ref) Finding {
	id := strings.ToLower(strings.TrimSpace(ref.Ref))
	if !commitID.MatchString(id) {
		return Finding{Result: Fabricated, Note: "is no commit id of 7 to 64 hexadecimal digits"}
	}
	text, ok, err := repo.commit(context.Background(), id)
	switch {
	case err != nil:
		return Finding{Result: Uncheckable, Note: err.Error()}
	case !ok:
		return Finding{Result: Fabricated, Note: "there is no such commit"}
	}
	f := Finding{Text: text, Lines: split([]byte(text)), Claim: FromText("the claim", ref.SupportsClaim),
		Stands: true}
	said := FromText(id, text)
	f.Places, f.Around, f.Cover = []*Text{said}, []*Text{said}, f.Claim.Cover([]*Text{said}, nil)
	tokens := slices.DeleteFunc(slices.Clone(f.Claim.tokens), func(t Token) bool {
		return strings.HasPrefix(id, t.Text) || strings.HasPrefix(t.Text, id)
	})
	switch gone := absent(tokens, text); {
	case says(ref.Quote) && len(find(f.Lines, ref.Quote)) == 0:
		f.Result, f.Note, f.Stands = Fabricated,
			"the quoted text stands neither in the commit's message nor in its paths", false
	case f.Cover.About && (says(ref.Quote) || len(tokens) > 0) && len(gone) == 0:
		f.Result, f.Note = Supports, "the commit's message or paths cover "+f.Cover.String()
	default:
		f.Result, f.Note = Uncheckable, "the commit exists; whether it does what is claimed, code cannot tell"
	}
	return f
}
