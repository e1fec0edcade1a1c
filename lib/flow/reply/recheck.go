package reply

import (
	"fmt"
	"os"

	"tri/lib/judge/evidence"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// Lines returns the Recheck that looks whether the lines which an offer cites
// still stand. folder gives the folder of a codebase by what the offer calls it.
//
// Only what code saw when the offer was made can have shifted since: a reference
// that it could not read then has no receipt, and the person who approved has
// seen that it has none. A codebase that cannot be read just now is an error, not
// a change: the post waits for it.
func Lines(folder func(codebase string) string) func(decision.Record) (string, error) {
	return func(offer decision.Record) (string, error) {
		var refs []draft.Ref
		for _, ref := range offer.Evidence {
			if ref.Kind == draft.KindFile && ref.Receipt != nil {
				refs = append(refs, ref)
			}
		}
		if len(refs) == 0 {
			return "", nil
		}
		dir := folder(offer.Codebase)
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", fmt.Errorf("recheck the cited lines: %w", err)
		}
		defer root.Close()
		repo, err := evidence.OpenRepo(dir)
		if err != nil {
			return "", fmt.Errorf("recheck the cited lines: %w", err)
		}
		for _, ref := range refs {
			ok, why, err := evidence.StillStands(root, repo, ref)
			if err != nil {
				return "", fmt.Errorf("recheck the cited lines: %w", err)
			}
			if !ok {
				return fmt.Sprintf("%s: %s", ref.Ref, why), nil
			}
		}
		return "", nil
	}
}
