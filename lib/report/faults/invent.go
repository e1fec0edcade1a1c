package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/record/draft"
)

// words are the words that occur in a codebase.
type words struct{ seen map[string]bool }

const (
	maxFileSize = 4 << 20   // bytes; larger files are skipped
	maxRead     = 512 << 20 // bytes of all files
)

var token = regexp.MustCompile(`[\p{L}\p{N}_]+`)

// known reads the words of all text files of the codebase once.
func (d *Drill) known() (*words, error) {
	if d.words != nil {
		return d.words, nil
	}
	w := &words{map[string]bool{}}
	left := int64(maxRead)
	err := fs.WalkDir(d.Root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
				return nil // an unreadable file cannot be cited either
			}
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileSize || info.Size() > left {
			return nil
		}
		text, err := durable.ReadFile(d.Root, name)
		if err != nil || slices.Contains(text[:min(len(text), 8000)], 0) {
			return nil
		}
		left -= info.Size()
		for _, t := range token.FindAll(text, -1) {
			w.seen[strings.ToLower(string(t))] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read codebase: %w", err)
	}
	d.words = w
	return w, nil
}

// unheard returns the first of some names that contains a word which occurs neither in the codebase
// nor in the question.
func (s *subject) unheard(names []string) (string, error) {
	w, err := s.known()
	if err != nil {
		return "", err
	}
	for _, n := range names {
		for _, t := range token.FindAllString(n, -1) {
			t = strings.ToLower(t)
			if len(t) > 3 && !w.seen[t] && !strings.Contains(strings.ToLower(s.ret.Question), t) {
				return n, nil
			}
		}
	}
	return "", noPlace("every name tried stands somewhere")
}

// add appends a sentence to the draft's first or last paragraph.
func (s *subject) add(sentence string) {
	d := s.ret.DraftReply
	if head, rest, ok := strings.Cut(d, "\n\n"); ok && s.rng.IntN(2) == 0 {
		s.ret.DraftReply = head + " " + sentence + "\n\n" + rest
		return
	}
	if strings.HasSuffix(d, "```") {
		s.ret.DraftReply = d + "\n\n" + sentence
		return
	}
	s.ret.DraftReply = d + " " + sentence
}

var ticked = regexp.MustCompile("`([A-Za-z_]\\w{3,})`")

// inventedName makes the draft mention an identifier that does not exist: one of its own renamed,
// or one in a new sentence.
func inventedName(s *subject) error {
	var renamed []string
	if s.rng.IntN(2) == 0 {
		for _, m := range ticked.FindAllStringSubmatch(s.ret.DraftReply, -1) {
			for _, e := range shuffled(s,
				[]string{"Override", "Strict", "Fallback", "Internal", "Legacy", "Extended", "V2"}) {
				if strings.ToLower(m[1]) == m[1] {
					e = "_" + strings.ToLower(e)
				}
				if n, err := s.unheard([]string{m[1] + e}); err == nil {
					renamed = append(renamed, m[1], n)
				} else if !errors.Is(err, ErrNoPlace) {
					return err
				}
			}
		}
	}
	if len(renamed) > 0 {
		i := s.rng.IntN(len(renamed)/2) * 2
		s.ret.DraftReply = strings.Replace(s.ret.DraftReply, "`"+renamed[i]+"`", "`"+renamed[i+1]+"`", 1)
		s.did(renamed[i]+" → "+renamed[i+1], "draft")
		return nil
	}
	n, err := s.unheard(s.names())
	if err != nil {
		return err
	}
	s.add(fmt.Sprintf(pick(s, s.inLanguage("name")), n))
	s.did("+ "+n, "draft")
	return nil
}

// names returns invented identifiers in several programming styles.
func (s *subject) names() []string {
	verbs := []string{"resolve", "flush", "retry", "guard", "throttle", "rotate", "collapse", "hydrate",
		"quarantine", "reconcile"}
	nouns := []string{"Budget", "Window", "Backoff", "Ceiling", "Sentinel", "Watermark", "Cooldown",
		"Heuristic", "Registry", "Janitor"}
	var out []string
	for _, v := range shuffled(s, verbs) {
		for _, n := range shuffled(s, nouns)[:3] {
			capital := strings.ToUpper(v[:1]) + v[1:]
			out = append(out,
				pick(s, []string{v + n, "Max" + n + capital, capital + n, v + "_" + strings.ToLower(n),
					strings.ToUpper(v) + "_" + strings.ToUpper(n)}))
		}
	}
	return shuffled(s, out)
}

func refTexts(r *draft.Return) []string {
	var out []string
	for _, ref := range r.EvidenceRefs {
		out = append(out, ref.Ref, ref.Quote, ref.SupportsClaim)
	}
	return out
}
