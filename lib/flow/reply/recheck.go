package reply

import (
	"fmt"
	"os"

	"tri/lib/judge/evidence"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// Lines returns a Recheck that checks whether the lines which an offer cites are unchanged. folder returns
// the folder of a codebase by its name in the offer.
//
// Only references that were read when the offer was made can be compared. One that could not be read has
// no receipt, and the person who approved has seen that. A codebase that cannot be read now is an error,
// not a change: the post waits.
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
