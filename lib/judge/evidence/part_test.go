package evidence

import (
	"strings"
	"testing"
)

// TestParts holds where sentences are cut, and what each part does in them.
func TestParts(t *testing.T) {
	roles := map[int]string{states: "says", asks: "if", selects: "which"}
	for _, c := range []struct{ sentence, want string }{
		{"Sessions end after a day", "says: Sessions end after a day"},
		{"If the lock is held, it waits", "if: If the lock is held, | says: it waits"},
		{"It waits unless the lock is free", "says: It waits | if but: unless the lock is free"},
		{"It waits only when the lock is held", "says: It waits | if only: only when the lock is held"},
		{"If gzip was asked for it is not decoded", "if: If gzip was asked for | says: it is not decoded"},
		{"Files that cannot be opened are ignored", "says: Files | which: that cannot be opened | says: are ignored"},
		{"It says that the file is there", "says: It says that the file is there"},
		{"It ends, without an error", "says: It ends, | says: without an error"},
		{"It is named without being held in memory", "says: It is named | says: without being held in memory"},
		{"Without a key it fails", "if but: Without a key | says: it fails"},
		{"A call (or its copy) is refused", "says: A call (or its copy) is refused"},
		{"A call (it is a copy) is refused", "says: A call ( | says: it is a copy) | says: is refused"},
		{"It copies files, links and folders", "says: It copies files, links and folders"},
		{"The hook is not used and the option is ignored", "says: The hook is not used | says: and the option is ignored"},
	} {
		s := analyse(c.sentence, false)
		var got []string
		for _, p := range s.parts {
			role := roles[p.role]
			if p.but {
				role += " but"
			}
			if p.only {
				role += " only"
			}
			got = append(got, role+": "+strings.TrimSpace(s.text[p.at:p.end]))
		}
		if all := strings.Join(got, " | "); all != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.sentence, all, c.want)
		}
	}
}

// TestRemarks holds which lines are remarks because of lines before them.
func TestRemarks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "def f():\n    \"\"\"Says it.\n\n    More (of it) = this.\n    >>> f()\n    \"\"\"\n    x = 1", ".###.#."},
		{"a.py", "x = \"\"\"\nno remark\n\"\"\"\ny = 2", "...."},
		{"a.py", "r'''One line.'''\nx = 1", "#."},
		{"a.js", "/** Says\n it */\nx()", "##."},
		{"a.html", "<p>\n<!-- so\nit is -->\n</p>", ".##."},
		{"a.txt", "\"\"\"\nno\n\"\"\"", ""},
	} {
		got := ""
		for _, in := range remarks(c.name, strings.Split(c.text, "\n")) {
			got += map[bool]string{true: "#", false: "."}[in]
		}
		if got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
