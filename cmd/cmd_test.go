// Package cmd_test tests the programs under cmd as they are used: built, on PATH, joined by pipes.
// A new program, script, page or example needs no change here.
package cmd_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func TestMain(m *testing.M) {
	flag.Parse()
	if onlySources(flag.Lookup("test.run").Value.String()) {
		os.Exit(m.Run())
	}
	os.Exit(withPrograms(m))
}

// sourceTests read the tree and run no program.
var sourceTests = []string{"TestLayers", "TestOnlyCliTalks", "TestMainsAreThin", "TestRooms",
	"TestDocumentsNameWhatIsThere", "TestManLint", "TestWidth"}

// onlySources reports whether -run selects only tests in sourceTests: the programs need not be
// built then, which takes most of the time.
func onlySources(run string) bool {
	for name := range strings.SplitSeq(run, "|") {
		if !slices.Contains(sourceTests, name) {
			return false
		}
	}
	return true
}

// withPrograms puts the folder of the programs first on PATH: TRI_BIN, where make has just built them, or one
// that it builds.
func withPrograms(m *testing.M) int {
	bin := os.Getenv("TRI_BIN")
	if cover := os.Getenv("GOCOVERDIR") != ""; bin == "" || cover {
		var err error
		if bin, err = os.MkdirTemp("", "tri"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(bin)
		build := exec.Command("go", "build", "-o", bin+"/", "./...")
		if cover {
			build.Args = slices.Insert(build.Args, 2, "-cover", "-coverpkg=tri/...")
		}
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	if err := needed("bash", "jq", "mandoc", "tmux", "strace", "git", "bwrap"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// needed fails if a tool that the tests use is missing: a silently skipped test proves nothing.
func needed(tools ...string) error {
	var missing []error
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing,
				fmt.Errorf("the tests need %s: install it (README names the packages)", tool))
		}
	}
	return errors.Join(missing...)
}

// TestInputs reads every folder that the programs are built from. The go command caches a passing
// test until a file that it read changes; without this test it would not notice changed programs.
func TestInputs(t *testing.T) {
	for _, dir := range []string{".", "../lib", "../schemas", "../man", "../examples", "../scripts/torture",
		"../scripts/acceptance"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Condition: func(name string) (bool, error) {
			if name != "cover" {
				return false, fmt.Errorf("no condition %q", name)
			}
			return os.Getenv("GOCOVERDIR") != "", nil
		},
		Setup: func(e *testscript.Env) error {
			e.Defer(func() { endLeft(e.WorkDir) })
			e.Setenv("ROOT", root)
			e.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			e.Setenv("TRI_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TRI_USER", "operator")
			e.Setenv("NO_COLOR", "1")
			return nil
		},
	})
}

// status runs a command that must end with a given exit status; its output can be matched by stdout
// and stderr as after exec:
//
//	status 64 tri-classify --no-such-flag
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status code command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
