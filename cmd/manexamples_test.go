package cmd_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestManExamples reads the examples of each page as a terminal shows them. The shell must be able
// to parse each, its programs and options must exist, and all are run but those that need a person,
// a server or another time of day.
func TestManExamples(t *testing.T) {
	pages, err := filepath.Glob("../man/*.1")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	ran := 0
	for _, page := range pages {
		shown := rendered(t, page)
		if len(shown) == 0 {
			t.Errorf("%s shows no command", page)
		}
		for _, command := range shown {
			checkCalls(t, page, command)
			if cron := regexp.MustCompile(`^[\d*-]+( [\d*-]+){4} `); cron.MatchString(command) {
				command = strings.ReplaceAll(cron.ReplaceAllString(command, ""), `\%`, "%")
			}
			if out, err := exec.Command("bash", "-n", "-c", command).CombinedOutput(); err != nil {
				t.Errorf("%s: %s\n%s", page, command, out)
			}
			if elsewhere.MatchString(command) {
				continue
			}
			ran++
			t.Run(filepath.Base(page), func(t *testing.T) { runExample(t, command) })
		}
	}
	if ran < 15 {
		t.Errorf("%d examples were run", ran)
	}
}

// elsewhere matches commands that do not end, or need something that is not available here: a
// terminal, an agent program, mail, a running pipeline, a home with answers.
var elsewhere = regexp.MustCompile(`--follow|--watch|attach|tail |tri up|tri logs|tri-supervise|tri-box|tri-escalate|` +
	`tri-approve (approve|redo)|tri-reply --test|mail |/srv/|tri-sandbox|tri restore|tri-report (why|audit|diff|tune)|tri-watch (local|tail)|~/restored`)

// rendered returns the commands below EXAMPLES of a page, as mandoc prints them in 80 columns:
// those of literal blocks, with continuation lines joined.
func rendered(t *testing.T, page string) (commands []string) {
	t.Helper()
	out, err := exec.Command("mandoc", "-T", "ascii", page).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "")
	_, text, _ = strings.Cut(text, "\nEXAMPLES\n")
	text, _, _ = strings.Cut(text, "\nSEE ALSO\n")
	goesOn := false
	for line := range strings.Lines(text) {
		body, literal := strings.CutPrefix(line, "           ")
		if !literal {
			goesOn = false
			continue
		}
		body = strings.TrimRight(body, "\n")
		if goesOn {
			commands[len(commands)-1] += "\n" + body
		} else {
			commands = append(commands, strings.TrimSpace(body))
		}
		goesOn = regexp.MustCompile(`(\\|\||&&)$`).MatchString(body)
	}
	return commands
}

// runExample runs a command in a folder with the files that pages name; each of its programs must
// end with 0 or 1.
func runExample(t *testing.T, command string) {
	dir := t.TempDir()
	week, err := filepath.Abs("../examples/week")
	if err != nil {
		t.Fatal(err)
	}
	prepare := `set -e
mkdir -p src/shop .tri chat
printf 'package shop\n\n// MaxRetries is how often a charge is tried again.\nconst MaxRetries = 5\n' >src/shop/retry.go
cp src/shop/retry.go .
ln -s "$1" slack.zip
mkdir examples
ln -s "$1/../prompts" examples/prompts
tri-watch export slack.zip 2>/dev/null >events.ndjson
tri-classify events.ndjson >events-classified.ndjson
echo 'what is MaxRetries?' | tri-watch stdin --text | tri-classify >event.json
tri-investigate --codebase src/shop event.json >return.json
cp return.json returns.ndjson
touch .tri/replies.ndjson`
	if out, err := bash(t, dir, prepare, week); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := bash(t, dir, "set -o pipefail\n"+command)
	exit := new(exec.ExitError)
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Errorf("%s\n%v\n%s", command, err, out)
	}
}

// bash runs a script in a separate home.
func bash(t *testing.T, dir, script string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", append([]string{"-c", script, "bash"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "TRI_HOME="+filepath.Join(dir, ".tri"), "TRI_USER=ana")
	return c.CombinedOutput()
}
