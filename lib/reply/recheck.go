package reply

import (
	"fmt"
	"os"

	"tri/lib/decision"
	"tri/lib/evidence"
)

// Lines returns the Recheck that looks whether the lines which an offer cites
// still stand. folder gives the folder of a codebase by what the offer calls it.
//
// Only what code saw when the offer was made can have shifted since: a reference
// that it could not read then has no receipt, and the person who approved has
// seen that it has none.
func Lines(folder func(codebase string) string) func(decision.Record) string {
	return func(offer decision.Record) string {
		var refs []evidence.Ref
		for _, ref := range offer.Evidence {
			if ref.Kind == evidence.File && ref.Receipt != nil {
				refs = append(refs, ref)
			}
		}
		if len(refs) == 0 {
			return ""
		}
		dir := folder(offer.Codebase)
		root, err := os.OpenRoot(dir)
		if err != nil {
			return fmt.Sprintf("the codebase cannot be read: %v", err)
		}
		defer root.Close()
		repo, err := evidence.OpenRepo(dir)
		if err != nil {
			return fmt.Sprintf("the codebase cannot be read: %v", err)
		}
		for _, ref := range refs {
			if ok, why := evidence.StillStands(root, repo, ref); !ok {
				return fmt.Sprintf("%s: %s", ref.Ref, why)
			}
		}
		return ""
	}
}
