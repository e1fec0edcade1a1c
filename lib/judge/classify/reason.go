package classify

import (
	"fmt"
	"slices"
	"strings"
)

// InWords describes a reason, as written in records, for a person.
func InWords(reason string) string {
	if i := slices.Index(reasonNames[:], reason); i >= 0 {
		return reasonWords[i]
	}
	kind, what, _ := strings.Cut(reason, ":")
	switch {
	case kind == "sign":
		for _, f := range features {
			if f.name == what {
				return f.words
			}
		}
	case kind == "rule-failed":
		return fmt.Sprintf("the rule %q of the configuration failed", what)
	case kind == "rule":
		return fmt.Sprintf("the rule %q of the configuration holds", what)
	case strings.HasPrefix(reason, "question:word:"):
		return fmt.Sprintf("the words %q ask", strings.TrimPrefix(what, "word:"))
	case strings.HasPrefix(reason, "ack:pattern:"):
		return fmt.Sprintf("ack_patterns[%s] of the configuration matches",
			strings.TrimPrefix(what, "pattern:"))
	}
	return reason
}
