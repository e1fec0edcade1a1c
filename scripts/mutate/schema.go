package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of the environment: the mutant that is on, and the file that is told which
// ones are met.
const (
	envMutant = "TRI_MUTANT"
	envSeen   = "TRI_MUTANT_SEEN"
)

// switches is added to a package: what its mutants ask whether they are on.
const switches = `package %s

import (
	"os"
	"strconv"
	"syscall"
)

var mutantNow = func() int {
	n, err := strconv.Atoi(os.Getenv("` + envMutant + `"))
	if err != nil {
		return -1
	}
	return n
}()

// mutantSeen is a byte for each mutant, of a file: what is met stays known however
// the process ends, and whatever it may not write.
var mutantSeen = func() []byte {
	f, err := os.OpenFile(os.Getenv("` + envSeen + `"), os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	seen, err := syscall.Mmap(int(f.Fd()), 0, %d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return seen
}()

func mutantOn(id int) bool {
	if mutantSeen != nil {
		mutantSeen[id] = 1
	}
	return id == mutantNow
}

func mutantNone(first, last int) bool { return mutantNow < first || mutantNow > last }

type mutantWhole interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantNumber interface{ mutantWhole | ~float32 | ~float64 }

func mutantInt[T mutantWhole](more, less int, n T) T {
	switch {
	case mutantOn(more):
		return n + 1
	case less != 0 && mutantOn(less):
		return n - 1
	}
	return n
}

func mutantAdd[T mutantNumber](id int, a, b T) T { if mutantOn(id) { return a - b }; return a + b }
func mutantSub[T mutantNumber](id int, a, b T) T { if mutantOn(id) { return a + b }; return a - b }
func mutantMul[T mutantNumber](id int, a, b T) T { if mutantOn(id) { return a / b }; return a * b }
func mutantQuo[T mutantNumber](id int, a, b T) T { if mutantOn(id) { return a * b }; return a / b }
func mutantRem[T mutantWhole](id int, a, b T) T { if mutantOn(id) { return a * b }; return a %% b }
func mutantAnd[T mutantWhole](id int, a, b T) T { if mutantOn(id) { return a | b }; return a & b }
func mutantOr[T mutantWhole](id int, a, b T) T { if mutantOn(id) { return a & b }; return a | b }
func mutantXor[T mutantWhole](id int, a, b T) T { if mutantOn(id) { return a & b }; return a ^ b }
func mutantAndNot[T mutantWhole](id int, a, b T) T { if mutantOn(id) { return a & b }; return a &^ b }
func mutantShl[T, S mutantWhole](id int, a T, b S) T { if mutantOn(id) { return a >> b }; return a << b }
func mutantShr[T, S mutantWhole](id int, a T, b S) T { if mutantOn(id) { return a << b }; return a >> b }
`

// build writes the package with all its mutants beside it, in tmp, and compiles
// tests with it in the package's place: its own, and those of the folders with.
func (p *plan) build(tmp string, with []string) (binaries []binary, err error) {
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	replace := map[string]string{}
	put := func(path, text string) error {
		replace[path] = filepath.Join(tmp, filepath.Base(path))
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	for _, s := range p.files {
		if err := put(s.path, p.written(s)); err != nil {
			return nil, err
		}
	}
	if err := put(filepath.Join(p.abs, "mutant_switches.go"),
		fmt.Sprintf(switches, p.name, len(p.mutants)+1)); err != nil {
		return nil, err
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return nil, err
	}
	for i, dir := range append([]string{p.dir}, with...) {
		b := binary{path: filepath.Join(tmp, fmt.Sprintf("tests%d", i))}
		if b.dir, err = shadow(filepath.Join(tmp, fmt.Sprintf("tree%d", i)), dir); err != nil {
			return nil, err
		}
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path,
			"./"+dir).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("build the tests of %s: %w\n%s", dir, err, out)
		}
		binaries = append(binaries, b)
	}
	return binaries, nil
}

// shadow is a folder that looks like dir of the checkout does from within, and is
// a copy: a mutant writes where it should not.
func shadow(tmp, dir string) (string, error) {
	to, from := filepath.Join(tmp, "main"), "."
	for _, name := range strings.Split(filepath.ToSlash(dir), "/") {
		if err := links(to, from, name); err != nil {
			return "", err
		}
		to, from = filepath.Join(to, name), filepath.Join(from, name)
	}
	shared, err := filepath.Abs("../shared") // data that some tests read in place
	if err != nil {
		return "", err
	}
	return to, errors.Join(os.Symlink(shared, filepath.Join(tmp, "shared")), os.CopyFS(to, os.DirFS(from)))
}

// links makes a folder of links to what another has, but for one name.
func links(to, from, but string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := filepath.Abs(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if e.Name() != but {
			if err := os.Symlink(target, filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
