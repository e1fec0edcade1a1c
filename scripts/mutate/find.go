package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change in one place.
type mutant struct {
	ID     int    `json:"id"`   // in its package, from 1; the environment names it
	Name   string `json:"name"` // place: before => after; no line number, so that it keeps when code moves
	File   string `json:"file"`
	Line   int    `json:"line"`
	Op     string `json:"operator"`
	Before string `json:"before"`
	After  string `json:"after"`
	Fate   string `json:"fate,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (m *mutant) hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(m.Name))
	return h.Sum64()
}

// plan is a package with all its mutants, and how the nodes are written that
// have some.
type plan struct {
	*code
	mutants []*mutant
	wraps   map[ast.Node]func() string

	src   *source
	stack []ast.Node // from the file down to the parent of what is looked at
	names map[string]int
}

// find looks for every mutant of a package, in the order of the text.
func find(c *code) *plan {
	p := &plan{code: c, wraps: map[ast.Node]func() string{}, names: map[string]int{}}
	slices.SortFunc(c.files, func(a, b *source) int { return cmp.Compare(a.path, b.path) })
	for _, p.src = range c.files {
		ast.Inspect(p.src.tree, func(n ast.Node) bool {
			if n == nil {
				p.stack = p.stack[:len(p.stack)-1]
				return true
			}
			if p.fixed(n) {
				return false
			}
			if p.function() != nil {
				p.visit(n)
			}
			p.stack = append(p.stack, n)
			return true
		})
	}
	return p
}

// fixed reports what must stay as it is for the code to compile.
func (p *plan) fixed(n ast.Node) bool {
	switch parent := p.up(0).(type) {
	case *ast.ArrayType:
		return n == parent.Len
	case *ast.CommClause:
		return n == parent.Comm
	case *ast.KeyValueExpr:
		return n == parent.Key
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.CONST || n.Tok == token.IMPORT || n.Tok == token.TYPE
	case ast.Expr:
		return p.info.Types[n].IsType()
	}
	return false
}

func (p *plan) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		p.binary(n)
	case *ast.UnaryExpr:
		p.unary(n)
	case *ast.BasicLit:
		p.constant(n)
	case *ast.CallExpr:
		p.truth(n)
	case *ast.Ident:
		p.truth(n)
	case *ast.SelectorExpr:
		p.truth(n)
	case *ast.IndexExpr:
		p.truth(n)
	case ast.Stmt:
		p.statement(n)
	}
	p.ending(n)
}

// up is the i-th node above the one that is looked at.
func (p *plan) up(i int) ast.Node {
	if i >= len(p.stack) {
		return nil
	}
	return p.stack[len(p.stack)-1-i]
}

// function is the function around what is looked at.
func (p *plan) function() ast.Node {
	for i := range p.stack {
		switch n := p.up(i).(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return n
		}
	}
	return nil
}

// place is package and function, as in lib/base/durable Home.Replace.
func (p *plan) place() string {
	for i := range p.stack {
		switch n := p.up(i).(type) {
		case *ast.FuncDecl:
			name := n.Name.Name
			if n.Recv != nil {
				name = strings.TrimLeft(p.raw(n.Recv.List[0].Type), "*") + "." + name
			}
			return p.dir + " " + name
		case *ast.ValueSpec:
			if p.up(i+2) == ast.Node(p.src.tree) {
				return p.dir + " " + n.Names[0].Name
			}
		}
	}
	return p.dir
}

// add makes a mutant of n and returns its number.
func (p *plan) add(n ast.Node, op, before, after string) int {
	m := &mutant{ID: len(p.mutants) + 1, Op: op, Before: before, After: after}
	at := p.fset.Position(n.Pos())
	m.File, m.Line = p.dir+"/"+filepath.Base(at.Filename), at.Line
	m.Name = fmt.Sprintf("%s: %s => %s", p.place(), short(before), short(cmp.Or(after, "(nothing)")))
	if p.names[m.Name]++; p.names[m.Name] > 1 {
		m.Name += fmt.Sprintf(" #%d", p.names[m.Name])
	}
	p.mutants = append(p.mutants, m)
	return m.ID
}

// short makes a text one line of a bearable length.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 120 {
		s = string(r[:90]) + " … " + string(r[len(r)-25:])
	}
	return s
}

// raw is the text of a node as it stands.
func (p *plan) raw(n ast.Node) string { return p.cut(n.Pos(), n.End()) }

func (p *plan) cut(from, to token.Pos) string {
	at := func(pos token.Pos) int { return p.fset.Position(pos).Offset }
	return string(p.src.text[at(from):at(to)])
}

// inner is the text of a node with what is below it mutated.
func (p *plan) inner(n ast.Node) string {
	var b strings.Builder
	at := n.Pos()
	ast.Inspect(n, func(d ast.Node) bool {
		if d == nil || d == n {
			return true
		}
		wrap := p.wraps[d]
		if wrap == nil {
			return true
		}
		b.WriteString(p.cut(at, d.Pos()))
		b.WriteString(wrap())
		at = d.End()
		return false
	})
	return b.String() + p.cut(at, n.End())
}

// all is the text of a node mutated.
func (p *plan) all(n ast.Node) string {
	if wrap := p.wraps[n]; wrap != nil {
		return wrap()
	}
	return p.inner(n)
}

// written is the whole of a file with its mutants.
func (p *plan) written(s *source) string {
	p.src = s
	head := p.cut(s.tree.FileStart, s.tree.Pos())
	return head + p.inner(s.tree) + p.cut(s.tree.End(), s.tree.FileEnd)
}

// typeName is how the file that is looked at writes a type; ok is false when it
// cannot.
func (p *plan) typeName(t types.Type) (name string, ok bool) {
	ok = true
	name = types.TypeString(types.Default(t), func(other *types.Package) string {
		if other == p.types {
			return ""
		}
		for _, spec := range p.src.tree.Imports {
			if strings.Trim(spec.Path.Value, `"`) == other.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return other.Name()
			}
		}
		ok = false
		return other.Name()
	})
	return name, ok
}
