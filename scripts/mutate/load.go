package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// code is a package, parsed and with its types.
type code struct {
	dir   string // below the checkout, as in lib/base/durable
	abs   string
	name  string
	fset  *token.FileSet
	files []*source
	types *types.Package
	info  *types.Info
}

type source struct {
	path string
	text []byte
	tree *ast.File
}

// load reads the package in dir, and the types of what it imports from the files
// that the compiler has left in its cache.
func load(dir string) (*code, error) {
	out, err := exec.Command("go", "list", "-export", "-deps",
		"-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly", "./"+dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := &code{dir: dir, fset: token.NewFileSet()}
	exports := map[string]string{}
	var files []string
	var path string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Dir, Export string
			GoFiles                       []string
			DepOnly                       bool
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			c.name, c.abs, files, path = p.Name, p.Dir, p.GoFiles, p.ImportPath
		}
	}
	for _, name := range files {
		s := &source{path: filepath.Join(c.abs, name)}
		if s.text, err = os.ReadFile(s.path); err != nil {
			return nil, err
		}
		if s.tree, err = parser.ParseFile(c.fset, s.path, s.text,
			parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		c.files = append(c.files, s)
	}
	return c, c.check(path, exports)
}

func (c *code) check(path string, exports map[string]string) error {
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(c.fset, "gc", open)}
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}}
	var trees []*ast.File
	for _, f := range c.files {
		trees = append(trees, f.tree)
	}
	var err error
	c.types, err = conf.Check(path, c.fset, trees, c.info)
	return err
}
