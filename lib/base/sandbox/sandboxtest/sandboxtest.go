// Package sandboxtest builds the sandbox's inner program for the tests of other
// packages.
package sandboxtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"tri/lib/base/text"
)

var build = sync.OnceValues(func() (string, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", err
	}
	// One folder for all tests of a checkout, so that the program is built once. It is readable by
	// others, for tests that change the user.
	dir := filepath.Join(os.TempDir(), "tri-test-"+text.SHA256(module)[:12])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "tri-sandbox")
	if bin := os.Getenv("TRI_BIN"); bin != "" { // where make has just built it
		return dir, refresh(program, filepath.Join(bin, "tri-sandbox"))
	}
	cmd := exec.Command("go", "build", "-o", program, "tri/cmd/tri-sandbox")
	cmd.Dir = strings.TrimSpace(string(module))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// refresh makes a program the same as another. A test that starts it meanwhile finds one of the two.
func refresh(program, from string) error {
	is, _ := os.ReadFile(program)
	want, err := os.ReadFile(from)
	if err != nil || bytes.Equal(is, want) {
		return err
	}
	if err := os.WriteFile(program+".new", want, 0o755); err != nil {
		return err
	}
	return os.Rename(program+".new", program)
}

// Path puts a folder with tri-sandbox first on PATH for a test, and returns it. Without bubblewrap
// it skips the test.
func Path(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed here: nothing that needs walls was tested")
	}
	dir, err := build()
	if err != nil {
		t.Fatalf("build tri-sandbox: %v", err)
	}
	if path := os.Getenv("PATH"); !strings.HasPrefix(path, dir+":") {
		t.Setenv("PATH", dir+":"+path)
	}
	return dir
}
