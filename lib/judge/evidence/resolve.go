package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"tri/lib/record/draft"
)

// What a reference can be found to be, from best to worst (triage §4.4). They
// are verdict's words too.
const (
	Supports    = "supports"
	Uncheckable = "uncheckable"
	Contradicts = "contradicts"
	Fabricated  = "fabricated"
)

// Tolerances, in lines. Code moves a little between reading and checking, and
// agents miscount; what moved further is another place.
const (
	MaxDrift  = 20  // a quote may stand this far from where it is cited
	Around    = 3   // what is claimed of lines may stand this near them
	MaxLines  = 200 // a longer citation points at nothing in particular
	maxListed = 5   // missing words named in a note
)

// Finding is what code saw where a reference points.
type Finding struct {
	Result string
	Note   string // one sentence, for a person and for the next round
	Path   string // of a file reference that could be read
	// Start and End are the lines where it really stands, from 1; 0 when nothing
	// narrower than the file was found.
	Start, End int
	Lines      []string    // of that place
	Drift      int         // lines between where it was cited and where it stands
	Text       string      // the whole file, or the commit's message and paths
	Taken      []*Evidence // the place and what is around it, taken apart
}

// Near is the text of the place and of the lines around it, for what is said of
// it in other words.
func (f Finding) Near() string {
	if f.Start == 0 {
		return strings.Join(f.Lines, "\n")
	}
	return around(split([]byte(f.Text)), f.Start, f.End)
}

// Scene is the text of the place and of what it stands in, which tells what it is
// about.
func (f Finding) Scene() string {
	if f.Start == 0 {
		return strings.Join(f.Lines, "\n")
	}
	lines := split([]byte(f.Text))
	return strings.Join(lines[max(f.Start-1-scene, 0):min(f.End+scene, len(lines))], "\n")
}

// Resolve looks at what ref points at and says whether it stands there. The
// bytes are those that the receipt names: of the file as it is while it is
// unchanged, else of the receipt's commit, else as it is now. Resolve never
// fails: what cannot be read is a finding too.
func Resolve(root *os.Root, repo Repo, ref draft.Ref) Finding {
	switch ref.Kind {
	case draft.KindFile:
		return resolveFile(root, repo, ref)
	case draft.KindGitCommit:
		return resolveCommit(repo, ref)
	}
	return Finding{Result: Uncheckable, Note: fmt.Sprintf("code cannot check a reference of kind %s", ref.Kind)}
}

// ResolveAll resolves the references of one return. Two whose quotes each stand
// where the other is cited have been swapped, however near the places are.
func ResolveAll(root *os.Root, repo Repo, refs []draft.Ref) []Finding {
	found := make([]Finding, len(refs))
	for i, ref := range refs {
		found[i] = Resolve(root, repo, ref)
	}
	for i := range refs {
		for j := range refs {
			if i != j && elsewhere(refs, found, i, j) {
				if found[i].Result == Supports {
					found[i].Result = Contradicts
				}
				found[i].Note = fmt.Sprintf("its quote is that of reference %d, at line %d: %s", j+1, found[j].Start, found[i].Note)
				break
			}
		}
	}
	return found
}

// elsewhere reports whether the quote of i does not stand where i is cited and
// stands where j is.
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

// Exists reports whether a file or folder is in the codebase, by its path from
// the codebase's root.
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

// rightBytes returns the file as the investigator read it, when that can be had.
func rightBytes(root *os.Root, repo Repo, name string, r *draft.Receipt) (data []byte, note string, err error) {
	now, err := read(root, name)
	if r == nil || err == nil && r.SHA256 == sum(now) {
		return now, "", err
	}
	if r.Commit != "" && (err == nil || errors.Is(err, errMissing)) {
		then, gitErr := repo.blob(context.Background(), r.Commit, name)
		if gitErr == nil && checkText(then) == nil && (r.SHA256 == "" || r.SHA256 == sum(then)) {
			return then, fmt.Sprintf("as it was at %.12s; it has changed since", r.Commit), nil
		}
	}
	return now, "the file has changed since it was read", err
}

// judge compares the citation with the file's lines.
func judge(p Place, lines []string, ref draft.Ref) Finding {
	n := len(lines)
	if p.Start > n {
		return Finding{Result: Fabricated, Note: fmt.Sprintf("line %d is cited, the file has %d", p.Start, n)}
	}
	if says(ref.Quote) {
		return judgeQuote(p, lines, ref)
	}
	if p.End > n {
		return Finding{Result: Fabricated, Note: fmt.Sprintf("line %d is cited, the file has %d", p.End, n)}
	}
	if p.Start == 0 || p.End-p.Start >= MaxLines {
		return Finding{Result: Uncheckable, Note: "no line of the file is cited and nothing is quoted"}
	}
	f := Finding{Start: p.Start, End: p.End, Lines: lines[p.Start-1 : p.End]}
	if strings.TrimSpace(strings.Join(f.Lines, "")) == "" {
		f.Result, f.Note = Contradicts, "the cited lines are empty"
		return f
	}
	near := []span{{p.Start, p.End}}
	f.Taken = take(p, lines, near)
	f.Result, f.Note = weigh(ref, p, lines, near, f.Taken, around(lines, p.Start, p.End))
	if f.Result == "" {
		f.Result, f.Note = Supports, "what the claim names stands there"
		if len(claimed(ref, p)) == 0 {
			f.Result, f.Note = Uncheckable, "the lines exist, but nothing is quoted and the claim names nothing that could stand there"
		}
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
	if p.Start > 0 && p.End-p.Start < MaxLines && p.Start <= len(lines) && at.distance(p) > 0 {
		near = append(near, span{p.Start, min(p.End, len(lines))})
	}
	f.Taken = take(p, lines, near)
	if result, note := weigh(ref, p, lines, near, f.Taken, strings.Join(lines, "\n")); result != "" {
		f.Result, f.Note = result, note
		return f
	}
	f.Result, f.Note = Supports, "the quoted text stands there"
	if f.Drift > 0 {
		f.Note = fmt.Sprintf("the quoted text stands at line %d, %d lines from where it is cited", at.start, f.Drift)
	}
	return f
}

// take takes the places and the lines around them apart.
func take(p Place, lines []string, near []span) []*Evidence {
	var out []*Evidence
	inside := remarks(p.Path, lines)
	for _, s := range near {
		from, to := max(s.start-1-Around, 0), min(s.end+Around, len(lines))
		out = append(out, takeApart(p.Path, lines[from:to], from+1, inside[min(from, len(inside)):min(to, len(inside))]))
	}
	return out
}

// weigh compares a claim with the places that are cited for it; "" when nothing
// speaks against it. Figures must stand near the places, names in names.
func weigh(ref draft.Ref, p Place, lines []string, near []span, evs []*Evidence, names string) (result, note string) {
	if why := Contrary(ref.SupportsClaim, evs...); why != "" {
		return Contradicts, "the claim " + why
	}
	names = p.Path + "\n" + names // a package's name is its folder's
	var gone []string
	tokens := claimed(ref, p)
	for _, t := range tokens {
		if t.Version() && t.In(names) {
			continue
		}
		if t.Kind == Number && !slices.ContainsFunc(evs, func(e *Evidence) bool { return e.Where(t) != "" }) || t.Kind != Number && !t.In(names) {
			gone = append(gone, t.Text)
		}
	}
	if len(gone) > 0 {
		return Contradicts, fmt.Sprintf("the cited lines do not hold %s, which the claim names", list(gone))
	}
	if len(tokens) == 0 && strange(ref.SupportsClaim, p, lines, near) {
		return Contradicts, "the cited lines have no word of the claim: they say nothing about it"
	}
	return "", ""
}

const leastClaim = 2 // words of a claim that must say something before it is held against lines

// strange reports whether a claim shares no word with the lines around the cited
// places, nor with the file's path. A claim in another script than the code shares
// none and may still be right.
func strange(claim string, p Place, lines []string, near []span) bool {
	about := content(terms(plainClaim(claim)))
	about = slices.DeleteFunc(about, func(t term) bool { return !isASCII(t.text) })
	if len(about) < leastClaim || !english(claim) {
		return false
	}
	text := p.Path
	for _, s := range near {
		text += "\n" + strings.Join(lines[max(s.start-1-scene, 0):min(s.end+scene, len(lines))], "\n")
	}
	n, _ := shared(about, terms(text))
	return n == 0
}

const scene = 12 // lines around a place that tell what it is part of

// english guesses whether a text is in the language that code is written in.
func english(text string) bool {
	n := 0
	for _, t := range terms(text) {
		if anglo[t.text] {
			n++
		}
	}
	return n > 0
}

// anglo are small words that few sentences of English lack, and other languages
// do not have.
var anglo = map[string]bool{"the": true, "is": true, "are": true, "of": true, "and": true, "it": true, "that": true, "by": true, "when": true, "with": true, "its": true, "has": true, "which": true, "from": true, "this": true}

// claimed lists what the claim names, the cited file itself apart.
func claimed(ref draft.Ref, p Place) []Token {
	var out []Token
	for _, t := range Tokens(ref.SupportsClaim) {
		if !Names(p.Path, t.Text) {
			out = append(out, t)
		}
	}
	return out
}

// Names reports whether text means the file: its path or the end of it, or its
// package's folder.
func Names(file, text string) bool {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
	return text != "" && (file == text || strings.HasSuffix(file, "/"+text) ||
		strings.HasPrefix(file, text+"/") || path.Base(path.Dir(file)) == text)
}

func around(lines []string, start, end int) string {
	return strings.Join(lines[max(start-1-Around, 0):min(end+Around, len(lines))], "\n")
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

func list(words []string) string {
	more := ""
	if n := len(words) - maxListed; n > 0 {
		words, more = words[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(quoted, ", ") + more
}

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
	f := Finding{Text: text, Lines: split([]byte(text))}
	tokens := slices.DeleteFunc(Tokens(ref.SupportsClaim), func(t Token) bool { return strings.HasPrefix(id, t.Text) || strings.HasPrefix(t.Text, id) })
	switch gone := absent(tokens, text); {
	case says(ref.Quote) && len(find(f.Lines, ref.Quote)) == 0:
		f.Result, f.Note = Fabricated, "the quoted text stands neither in the commit's message nor in its paths"
	case says(ref.Quote), len(tokens) > 0 && len(gone) == 0:
		f.Result, f.Note = Supports, "what is said of it stands in the commit's message or paths"
	default:
		f.Result, f.Note = Uncheckable, "the commit exists; whether it does what is claimed, code cannot tell"
	}
	return f
}
