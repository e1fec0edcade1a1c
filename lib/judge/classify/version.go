package classify

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
)

// sources is the code of the rules. It is part of the version, so that a version number need not be
// changed by hand. A test checks that this list is complete.
//
//go:embed classify.go custom.go dense.go dictionary.go features.go fields.go inflight.go judge.go lang.go lexicon.go marks.go match.go message.go model.go model.tsv normal.go pack.go part.go place.go turn.go signs.go table.go talk.go version.go weigh.go words.go
var sources embed.FS

// versionOf returns a short hash over code, packs and configuration.
func versionOf(o Options, packs []pack) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	for _, p := range packs {
		fmt.Fprintf(h, "%s %t %d\n%s", p.lang, p.team, len(p.text), p.text)
	}
	o.Config.PacksDir = "" // the content counts, not the path
	settings, err := json.Marshal([]any{o.Config, o.Team.Members, o.Team.Helpers})
	if err != nil {
		return "", fmt.Errorf("classifier: %w", err)
	}
	h.Write(settings) // never fails
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
