package git

import (
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestKill kills a merging process at random times: after recovery the checkout is in the old or
// the new state.
func TestKill(t *testing.T) {
	if root := os.Getenv("TRI_TEST_MERGE"); root != "" {
		merging(t, root)
		return
	}
	times := 12
	if os.Getenv("TRI_TEST_LONG") != "" {
		times = 200
	}
	r, base, p, after := fixed(t)
	before := dropFolders(read(t, r.Root))
	write(t, r.scratch, map[string]string{"patch": string(p.bytes)})
	var longest time.Duration
	var met [3]int
	for i := range times {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "TRI_TEST_MERGE="+r.Root, "TRI_TEST_BASE="+base,
			"TRI_TEST_SCRATCH="+r.scratch)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		sign := make([]byte, 1)
		if _, err := io.ReadFull(out, sign); err != nil { // it begins
			t.Fatal(err)
		}
		began := time.Now()
		if i == 0 {
			_, err = io.ReadFull(out, sign) // it is done
			longest = time.Since(began)
		} else {
			time.Sleep(time.Duration(rand.Int64N(int64(longest))))
			cmd.Process.Kill()
		}
		if e := cmd.Wait(); i == 0 && (e != nil || err != nil) {
			t.Fatal(e, err)
		}
		m, err := r.Recover(t.Context(), r.merge(base).Journal)
		if err != nil {
			t.Fatal(err)
		}
		got := dropFolders(read(t, r.Root))
		switch {
		case maps.Equal(got, after):
			met[0]++
		case !maps.Equal(got, before):
			t.Fatalf("kill %d: recovered %+v: %q", i, m, got)
		case m != nil:
			met[1]++
		default:
			met[2]++
		}
		if _, err := os.Lstat(r.merge(base).Journal); err == nil {
			t.Fatal("the journal stays behind")
		}
		run(t, r.Root, "reset", "-q", "--hard")
		run(t, r.Root, "clean", "-qfd")
	}
	t.Logf("%d kills: %d merged, %d put back, %d before they began", times-1, met[0]-1, met[1], met[2])
}

// merging is the process that is killed.
func merging(t *testing.T, root string) {
	r, err := Open(t.Context(), root, os.Getenv("TRI_TEST_SCRATCH"))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := os.ReadFile(filepath.Join(r.scratch, "patch"))
	if err != nil {
		t.Fatal(err)
	}
	p := checked(t, patch, Rules{})
	os.Stdout.WriteString(".")
	if _, err := r.Apply(t.Context(), p, r.merge(os.Getenv("TRI_TEST_BASE"))); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("!")
}
