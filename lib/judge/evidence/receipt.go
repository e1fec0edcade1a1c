package evidence

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Stamp returns refs with receipts for the files that can be read now. Receipts are made only by code: one
// sent by an agent is dropped.
func Stamp(root *os.Root, repo Repo, refs []draft.Ref, now time.Time) []draft.Ref {
	out := make([]draft.Ref, len(refs))
	head, asked := "", false
	for i, ref := range refs {
		ref.Receipt = nil
		out[i] = ref
		if ref.Kind != draft.KindFile {
			continue
		}
		p, err := Parse(ref.Ref)
		if err != nil {
			continue
		}
		data, err := read(root, p.Path)
		if err != nil {
			continue
		}
		if !asked {
			// If git fails, the codebase is treated as one without history: the file's own hash still
			// holds.
			head, _ = repo.Head(context.Background())
			asked = true
		}
		out[i].Receipt = &draft.Receipt{Commit: head, SHA256: text.SHA256(data),
			ReadAt: text.Timestamp(now)}
		lines := split(data)
		if s, ok := region(p, lines, ref.Quote); ok {
			out[i].Receipt.Lines = sumLines(lines[s.start-1 : s.end])
		}
	}
	return out
}

// region returns the place that a receipt covers: the quote if there is one, since the claim depends on
// it, otherwise the cited lines.
func region(p Place, lines []string, quote string) (span, bool) {
	if says(quote) {
		if found := find(lines, quote); len(found) > 0 {
			return nearest(found, p), true
		}
	}
	if p.Start == 0 || p.End > len(lines) {
		return span{}, false
	}
	return span{p.Start, p.End}, true
}

// StillStands reports whether the text cited by ref is in the codebase now: the file is unchanged, or
// contains the same lines somewhere. why says, for a person, where they moved or what is gone. A reference
// that code cannot check counts as unchanged.
func StillStands(root *os.Root, repo Repo, ref draft.Ref) (ok bool, why string, err error) {
	switch ref.Kind {
	case draft.KindGitCommit:
		if f := resolveCommit(repo, ref); f.Result == Fabricated {
			return false, f.Note, nil
		}
		return true, "", nil
	case draft.KindFile:
	default:
		return true, "", nil
	}
	if ref.Receipt == nil {
		return false, "it has no receipt", nil
	}
	p, err := Parse(ref.Ref)
	if err != nil {
		return false, err.Error(), nil
	}
	data, err := read(root, p.Path)
	if unknown(err) {
		return false, "", fmt.Errorf("read %q: %w", p.Path, err)
	}
	if err != nil {
		return false, err.Error(), nil
	}
	if text.SHA256(data) == ref.Receipt.SHA256 {
		return true, "", nil
	}
	ok, why = linesStand(p, split(data), ref)
	return ok, why, nil
}

func linesStand(p Place, lines []string, ref draft.Ref) (bool, string) {
	if ref.Receipt.Lines == "" {
		return false, "the file has changed, and no lines of it were cited"
	}
	if says(ref.Quote) {
		for _, s := range find(lines, ref.Quote) {
			if sumLines(lines[s.start-1:s.end]) == ref.Receipt.Lines {
				return true, moved(p, s)
			}
		}
		return false, "the file has changed, and the quoted lines no longer stand in it"
	}
	if p.Start == 0 {
		return false, "the file has changed"
	}
	if s, ok := search(p, lines, ref.Receipt.Lines); ok {
		return true, moved(p, s)
	}
	return false, "the file has changed, and the cited lines no longer stand in it"
}

func moved(p Place, s span) string {
	if d := s.distance(p); d > 0 {
		return fmt.Sprintf("it moved to line %d", s.start)
	}
	return ""
}

// maxHashed bounds the bytes that search hashes.
const maxHashed = 64 << 20

// search finds lines with a given hash, from the cited place outward.
func search(p Place, lines []string, want string) (span, bool) {
	k, hashed := p.End-p.Start+1, 0
	from := min(p.Start, len(lines))
	for d := 0; d <= len(lines) && hashed < maxHashed; d++ {
		for _, start := range []int{from - d, from + d} {
			end := start + k - 1
			if start < 1 || end > len(lines) {
				continue
			}
			part := strings.Join(lines[start-1:end], "\n")
			if hashed += len(part); text.SHA256(part) == want {
				return span{start, end}, true
			}
		}
	}
	return span{}, false
}
