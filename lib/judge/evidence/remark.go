package evidence

import (
	"path"
	"strings"
)

// remarks tells of each line of a file whether it stands in a remark of several
// lines, which only the lines before it can tell: a docstring, /* … */, <!-- … -->.
func remarks(name string, lines []string) []bool {
	var marks []string // what opens one, and what closes it
	switch path.Ext(name) {
	case ".py", ".pyi":
		marks = []string{`"""`, `"""`, `'''`, `'''`}
	case ".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".js", ".ts", ".tsx", ".jsx", ".java", ".kt", ".rs", ".swift", ".scala", ".cs", ".php", ".css":
		marks = []string{"/*", "*/"}
	case ".html", ".xml", ".vue", ".svelte":
		marks = []string{"<!--", "-->"}
	default:
		return nil
	}
	in := make([]bool, len(lines))
	end, said := "", false // what closes it; whether it is said, and no value of a name
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if end != "" {
			in[i] = said && !strings.HasPrefix(t, ">>>")
			if strings.Contains(t, end) {
				end = ""
			}
			continue
		}
		for k := 0; k < len(marks) && end == ""; k += 2 {
			at := strings.Index(t, marks[k])
			if at < 0 {
				continue
			}
			if strings.Contains(t[at+len(marks[k]):], marks[k+1]) { // it ends where it began
				in[i] = strings.Trim(t[:at], "rRuUbB") == ""
				break
			}
			end, said = marks[k+1], strings.Trim(t[:at], "rRuUbB") == ""
			in[i] = said
		}
	}
	return in
}

// bareRemark is a line of such a remark without its marks.
func bareRemark(l string) string {
	if m := remarked.FindStringSubmatch(l); m != nil {
		l = m[1]
	}
	for _, mark := range []string{`"""`, `'''`} {
		if head, rest, ok := strings.Cut(l, mark); ok && strings.Trim(head, "rRuUbB \t") == "" {
			l = rest
		}
		l = strings.TrimSuffix(strings.TrimSpace(l), mark)
	}
	return strings.TrimSpace(l)
}
