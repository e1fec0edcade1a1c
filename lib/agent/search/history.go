package search

import (
	"context"
	"slices"
	"strings"

	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

const (
	maxCommits = 2000 // newest commits that are searched
	maxHistory = 2    // commits among the references of an answer
	telling    = 1.2  // minimum strength of a commit for the question
)

// history is the index of a codebase's commit messages, up to head.
type history struct {
	head  string
	index *codesearch.Index
}

// past are the words of questions about how something came about. For other questions git's run
// time is not worth it.
var past = strings.Fields("why who commit commits committed changed introduced renamed history recently anymore reverted regression kenapa mengapa")

// asksPast reports whether a question is about the history.
func asksPast(question string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return r < 'a' || r > 'z'
	}),
		func(w string) bool { return slices.Contains(past, w) })
}

// commits returns references to the commits whose messages best answer a question about the past.
// They are optional: if git fails, the answer does without.
func (c *Client) commits(ctx context.Context, codebase, question string) []draft.Ref {
	if !asksPast(question) {
		return nil
	}
	repo, err := evidence.OpenRepo(codebase)
	if err != nil {
		return nil
	}
	head, err := repo.Head(ctx)
	if err != nil || head == "" {
		return nil
	}
	c.mu.Lock()
	h := c.histories[codebase]
	c.mu.Unlock()
	if h.head != head {
		log, err := repo.Log(ctx, maxCommits)
		if err != nil {
			return nil
		}
		texts := map[string]string{}
		for _, one := range log {
			texts[one.ID] = one.Message
		}
		h = history{head, codesearch.Texts(texts)}
		c.mu.Lock()
		c.histories[codebase] = h
		c.mu.Unlock()
	}
	found, err := h.index.Search(ctx, question, maxHistory)
	if err != nil || len(found.Hits) == 0 || found.Strength < telling || found.Hits[0].Count < 2 {
		return nil
	}
	var refs []draft.Ref
	for _, hit := range found.Hits {
		ref := reference(hit, hit.Best())
		ref.Kind, ref.Ref = draft.KindGitCommit, hit.Path
		if len(hit.Words) > 0 && safe(question, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}
