package evidence

import (
	"fmt"
	"strings"

	"tri/lib/pattern"
)

var (
	// noDefault is a claim that a value is not the default.
	noDefault = pattern.New(`(?i)\b(?:does|do|did)(?:\s+not|n't)\s+default\s+to\s+["'` + "`" + `]*([\w.-]*\w)|["'` + "`" + `]+([\w.-]+)["'` + "`" + `]+\s+is(?:\s+not|n't)\s+the\s+default\b`)
	// byDefault are the ways in which lines name one.
	byDefault = pattern.New(`(?i)["'` + "`" + `]*([\w.-]*\w)["'` + "`" + `]*\s+\((?:the )?default\)|\bdefault(?:s\s+to|\s+is|\s+value\s+is|\s*[:=])\s*["'` + "`" + `]*([\w.-]*\w)|\bdefault,?\s+(?:this|it)\s+is\s+(?:\w+\s+with\s+)?["'` + "`" + `]+([\w.-]*\w)`)
)

// defaulted says where a line has the value as the default that a claim denies it
// is.
func defaulted(claim string, against []*Evidence) string {
	for _, m := range noDefault.FindAllStringSubmatch(claim, -1) {
		value := m[1] + m[2]
		for _, e := range against {
			for i := range e.all {
				p := &e.all[i]
				for _, d := range byDefault.FindAllStringSubmatch(p.text, -1) {
					if strings.EqualFold(d[1]+d[2]+d[3], value) {
						return fmt.Sprintf("says %s is not the default, %s has %s", value, e.at(p.line), strings.TrimSpace(d[0]))
					}
				}
			}
		}
	}
	return ""
}
