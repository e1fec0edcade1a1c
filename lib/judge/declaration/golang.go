package declaration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// goFile is a parsed file of Go.
type goFile struct {
	fset  *token.FileSet
	text  []byte
	all   []Declaration
	types map[string]int // in all, by name
}

func parseGo(text []byte) (*goFile, *ast.File) {
	f := &goFile{fset: token.NewFileSet(), text: text, types: map[string]int{}}
	file, err := parser.ParseFile(f.fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
	}
	return f, file
}

func readGo(text []byte) []Declaration {
	f, file := parseGo(text)
	if f == nil {
		return nil
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			f.function(decl)
		case *ast.GenDecl:
			f.group(decl)
		}
	}
	return f.all
}

func (f *goFile) line(p token.Pos) int { return f.fset.PositionFor(p, false).Line }

// source returns the text of a node, "" if it is so long that it cannot be one line.
func (f *goFile) source(n ast.Node) string {
	from, to := f.fset.PositionFor(n.Pos(), false).Offset, f.fset.PositionFor(n.End(), false).Offset
	if from < 0 || to > len(f.text) || from > to || to-from > 64*maxValue {
		return ""
	}
	return string(f.text[from:to])
}

// add adds a declaration of a node with the comment above it, or else the one behind it.
func (f *goFile) add(d Declaration, name *ast.Ident, n ast.Node, docs ...*ast.CommentGroup) {
	d.Name, d.Line = name.Name, f.line(name.Pos())
	d.Start, d.End = f.line(n.Pos()), f.line(n.End())
	for _, doc := range docs {
		if doc != nil {
			d.Start, d.Doc = min(d.Start, f.line(doc.Pos())), firstSentence(doc.Text())
			break
		}
	}
	f.all = append(f.all, d)
}

func (f *goFile) function(decl *ast.FuncDecl) {
	d := Declaration{Kind: Function}
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		d.Kind, d.Owner = Method, base(decl.Recv.List[0].Type)
	}
	if decl.Type.Results != nil {
		d.Type = oneLine(f.source(decl.Type.Results))
	}
	f.add(d, decl.Name, decl, decl.Doc)
	if decl.Body != nil {
		f.settings(decl.Body, decl.Name.Name)
	}
}

// base returns the name of a receiver's type.
func base(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return base(t.X)
	case *ast.IndexExpr:
		return base(t.X)
	case *ast.IndexListExpr:
		return base(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// group reads the constants, variables or types of one declaration.
func (f *goFile) group(decl *ast.GenDecl) {
	last := "" // the type of the constants, which iota repeats
	for _, spec := range decl.Specs {
		var docs []*ast.CommentGroup
		node := ast.Node(spec)
		if !decl.Lparen.IsValid() {
			docs, node = append(docs, decl.Doc), decl
		}
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			f.typed(spec, node, append(docs, spec.Doc, spec.Comment))
		case *ast.ValueSpec:
			d := Declaration{Kind: Variable}
			if decl.Tok == token.CONST {
				d.Kind = Constant
			}
			switch {
			case spec.Type != nil:
				last = f.source(spec.Type)
			case len(spec.Values) > 0:
				last = ""
			}
			d.Type = last
			for i, name := range spec.Names {
				d.Value = ""
				if i < len(spec.Values) && len(spec.Names) == len(spec.Values) {
					d.Value = oneLine(f.source(spec.Values[i]))
				}
				f.add(d, name, node, append(docs, spec.Doc, spec.Comment)...)
				if d.Kind == Constant && last != "" && name.Name != "_" {
					f.member(last, name.Name)
				}
				if i < len(spec.Values) {
					f.settings(spec.Values[i], name.Name)
				}
			}
		}
	}
}

// member adds a constant to the values of its type, if the type is declared above.
func (f *goFile) member(of, name string) {
	if i, ok := f.types[of]; ok {
		f.all[i].Members = append(f.all[i].Members, name)
	}
}

func (f *goFile) typed(spec *ast.TypeSpec, node ast.Node, docs []*ast.CommentGroup) {
	f.types[spec.Name.Name] = len(f.all)
	f.add(Declaration{Kind: Type}, spec.Name, node, docs...)
	var fields *ast.FieldList
	kind := Field
	switch t := spec.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields, kind = t.Methods, Method
	}
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			f.add(Declaration{Kind: kind, Owner: spec.Name.Name, Type: oneLine(f.source(field.Type))}, name,
				field, field.Doc, field.Comment)
		}
	}
}

// settings reads where fields get their first values: in a composite literal, and in an if that finds the
// field empty.
func (f *goFile) settings(n ast.Node, owner string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok && makes(owner, "") {
				f.add(Declaration{Kind: Setting, Owner: owner, Value: oneLine(f.source(n.Value))}, name, n)
			}
		case *ast.IfStmt:
			f.filled(n, owner)
		}
		return true
	})
}

// filled reads an if statement that gives an empty field its value.
func (f *goFile) filled(n *ast.IfStmt, owner string) {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || len(n.Body.List) != 1 || n.Else != nil ||
		!slices.Contains([]token.Token{token.EQL, token.LEQ, token.LSS}, cond.Op) {
		return
	}
	if zero := f.source(cond.Y); zero != "0" && zero != "nil" && zero != `""` && zero != "1" {
		return
	}
	set, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || len(set.Lhs) != 1 || len(set.Rhs) != 1 || f.source(set.Lhs[0]) != f.source(cond.X) {
		return
	}
	name, ok := set.Lhs[0].(*ast.Ident)
	if sel, is := set.Lhs[0].(*ast.SelectorExpr); is {
		name, ok = sel.Sel, true
	}
	if ok {
		f.add(Declaration{Kind: Setting, Owner: owner, Value: oneLine(f.source(set.Rhs[0]))}, name, n)
	}
}

func usesGo(text []byte, what string) []Use {
	f, file := parseGo(text)
	if f == nil {
		return nil
	}
	declared, calls := map[*ast.Ident]bool{}, map[*ast.Ident]bool{}
	from, imports := map[*ast.Ident]string{}, map[string]string{}
	for _, spec := range file.Imports {
		of := strings.Trim(spec.Path.Value, "`\"")
		if imports[path.Base(of)] = of; spec.Name != nil {
			imports[spec.Name.Name] = of
		}
	}
	var uses []Use
	for _, decl := range file.Decls {
		in, head := "", 0
		if fn, ok := decl.(*ast.FuncDecl); ok {
			in, head = fn.Name.Name, f.line(fn.Name.Pos())
			if fn.Recv != nil && len(fn.Recv.List) == 1 {
				in = base(fn.Recv.List[0].Type) + "." + in
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared[n.Name] = true
			case *ast.TypeSpec:
				declared[n.Name] = true
			case *ast.ValueSpec:
				for _, name := range n.Names {
					declared[name] = true
				}
			case *ast.Field:
				for _, name := range n.Names {
					declared[name] = true
				}
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok {
					from[n.Sel] = imports[of.Name]
				}
			case *ast.CallExpr:
				switch fun := n.Fun.(type) {
				case *ast.Ident:
					calls[fun] = true
				case *ast.SelectorExpr:
					calls[fun.Sel] = true
				}
			case *ast.Ident:
				if n.Name == what && !declared[n] {
					uses = append(uses, Use{Line: f.line(n.Pos()), In: strings.TrimPrefix(in, "."),
						Head: head, Call: calls[n], From: from[n]})
				}
			}
			return true
		})
	}
	return uses
}
