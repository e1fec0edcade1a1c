package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestReadOnly(t *testing.T) {
	for _, tt := range []struct {
		line     string
		from, to uintptr
		ok       bool
	}{
		{"00400000-006da000 r-xp 00000000 fe:00 123  /usr/bin/tri dispatch", 0x400000, 0x6da000, true},
		{"006da000-009de000 r--p 002da000 fe:00 123  /usr/bin/tri dispatch", 0x6da000, 0x9de000, true},
		{"009de000-00a04000 rw-p 005de000 fe:00 123  /usr/bin/tri dispatch", 0, 0, false},
		{"00400000-006da000 ---p 00000000 fe:00 123  /usr/bin/tri dispatch", 0, 0, false},
		{"00400000-006da000 r-xp 00000000 fe:00 124  /usr/bin/tri dispatch (deleted)", 0, 0, false},
		{"7fa88946e000-7fa889700000 rw-p 00000000 00:00 0", 0, 0, false},
		{"7ffd000-7ffe000 r-xp 00000000 00:00 0  [vdso]", 0, 0, false},
		{"", 0, 0, false},
		{"no map", 0, 0, false},
	} {
		from, to, ok := readOnly(tt.line, "/usr/bin/tri dispatch")
		if ok != tt.ok || ok && (from != tt.from || to != tt.to) {
			t.Errorf("%q: %x to %x, %v", tt.line, from, to, ok)
		}
	}
}

// TestForgetCode: the program goes on as before, and has less of its file.
func TestForgetCode(t *testing.T) {
	before := fileKB(t)
	forgetCode()
	after := fileKB(t)
	if before == 0 || after == 0 || after > before/2 {
		t.Errorf("%d KB of files before, %d after", before, after)
	}
}

// fileKB is how much of files this process has resident.
func fileKB(t *testing.T) (kb int) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Skip(err)
	}
	_, after, found := strings.Cut(string(text), "\nPss_File:")
	if !found {
		t.Skip("a kernel that does not tell files from other memory")
	}
	if _, err := fmt.Sscan(after, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}
