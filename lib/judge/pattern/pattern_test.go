package pattern

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestNeeds: the required texts of a rule are in whatever it matches, in every line of the tests of the
// packages that have rules.
func TestNeeds(t *testing.T) {
	known, matched := 0, 0
	for _, of := range []struct {
		pkg, tests string
		sections   Sections
	}{
		{"questiontype", "question_test.go", Sections{
			"why": false, "status_check": false, "api_contract": false, "data_lookup": false, "other": false,
			"problem": false, "minutes": true,
		}},
		{"intent", "intent_test.go", Sections{
			"research": true, "code_change": true, "organize": true, "question": true, "reminder": true,
			"todo":       true,
			"todo_check": true, "todo_complete": true, "other": true, "large": false,
		}},
	} {
		folder := os.DirFS("../" + of.pkg)
		set, err := Load(folder, "rules", of.sections)
		if err != nil {
			t.Fatal(err)
		}
		src, err := fs.ReadFile(folder, of.tests)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range set {
			for _, r := range list {
				if r.needs == nil {
					continue
				}
				known++
				for text := range strings.Lines(string(src)) {
					text = Plain(text)
					switch {
					case holdsAny(text, r.needs):
						matched++
					case r.re.MatchString(text):
						t.Errorf("%s matches %.60q, which holds none of %q", r.Name, text, r.needs)
					}
				}
			}
		}
	}
	if known < 50 || matched == 0 {
		t.Errorf("%d rules have needs, %d texts hold some: this tests nothing", known, matched)
	}
}
