package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// The operators on statements: to leave one out, and to give back another value.

func (p *plan) statement(n ast.Stmt) {
	if p.list() == nil {
		return
	}
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && p.raw(call.Fun) != "panic" {
			p.leaveOut(n)
		}
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		p.leaveOut(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			p.assignment(n)
		}
	case *ast.BranchStmt:
		p.branch(n)
	case *ast.ReturnStmt:
		p.giveBack(n)
	}
}

// list is the statements of which the one that is looked at is one, nil where it
// stands alone, as before the condition of an if.
func (p *plan) list() []ast.Stmt {
	switch parent := p.up(0).(type) {
	case *ast.BlockStmt:
		return parent.List
	case *ast.CaseClause:
		return parent.Body
	case *ast.CommClause:
		return parent.Body
	}
	return nil
}

// lone reports the only statement of an if without else: leaving it out is as
// good as a condition that is false.
func (p *plan) lone() bool {
	branch, ok := p.up(1).(*ast.IfStmt)
	return ok && len(p.list()) == 1 && branch.Else == nil && branch.Body == p.up(0)
}

func (p *plan) leaveOut(n ast.Stmt) {
	if p.lone() {
		return
	}
	id := p.add(n, "statement", p.raw(n), "")
	p.wraps[n] = func() string { return fmt.Sprintf("if !mutantOn(%d) { %s }", id, p.inner(n)) }
}

func (p *plan) assignment(n *ast.AssignStmt) {
	swap := ""
	if n.Tok != token.ASSIGN {
		if b, ok := p.info.TypeOf(n.Lhs[0]).Underlying().(*types.Basic); ok && b.Info()&types.IsNumeric != 0 {
			swap = swaps[n.Tok-token.ADD_ASSIGN+token.ADD]
		}
	}
	if swap == "" {
		p.leaveOut(n)
		return
	}
	out := 0
	if !p.lone() {
		out = p.add(n, "statement", p.raw(n), "")
	}
	other := p.raw(n.Lhs[0]) + " " + swap + "= " + p.raw(n.Rhs[0])
	id := p.add(n, "arithmetic", p.raw(n), other)
	p.wraps[n] = func() string {
		return fmt.Sprintf("if mutantOn(%d) { %s } else if !mutantOn(%d) { %s }", id, other, out, p.inner(n))
	}
}

// branch leaves out a break or continue, and makes one of the other where it is
// of a loop.
func (p *plan) branch(n *ast.BranchStmt) {
	if n.Tok != token.BREAK && n.Tok != token.CONTINUE {
		return
	}
	out, other := 0, 0
	if !p.lone() {
		out = p.add(n, "statement", p.raw(n), "")
	}
	swap := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]
	if n.Label == nil && p.inLoop() {
		other = p.add(n, "branch", p.raw(n), swap)
	}
	if out+other > 0 {
		p.wraps[n] = func() string {
			if other == 0 {
				return fmt.Sprintf("if !mutantOn(%d) { %s }", out, p.raw(n))
			}
			return fmt.Sprintf("if mutantOn(%d) { %s } else if !mutantOn(%d) { %s }", other, swap,
				out, p.raw(n))
		}
	}
}

// inLoop reports whether what a break here would leave is a loop.
func (p *plan) inLoop() bool {
	for i := range p.stack {
		switch p.up(i).(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.SwitchStmt, *ast.SelectStmt, *ast.TypeSwitchStmt, *ast.FuncLit:
			return false
		}
	}
	return false
}

// giveBack leaves out a return that is not the function's end, and gives back
// other values: zero, nil, the opposite.
func (p *plan) giveBack(n *ast.ReturnStmt) {
	type change struct {
		id   int
		code string
	}
	var changes []change
	results := p.results()
	if len(n.Results) == 1 && len(results) > 1 {
		if isError(results[len(results)-1]) {
			names := make([]string, len(results))
			for i := range names {
				names[i] = fmt.Sprintf("mutant%d", i)
			}
			others := strings.Join(names[:len(names)-1], ", ")
			id := p.add(n, "return", p.raw(n), "return …, nil")
			changes = append(changes,
				change{id, fmt.Sprintf("%s, _ := %s; return %s, nil", others, p.raw(n.Results[0]), others)})
		}
	} else {
		for i, e := range n.Results {
			other := p.otherResult(n, e, results[i])
			if other == "" || p.unreadIn(n, e) {
				continue
			}
			code := "return " + p.cut(n.Results[0].Pos(), e.Pos()) + other + p.cut(e.End(), n.End())
			changes = append(changes, change{p.add(n, "return", p.raw(n), code), code})
		}
	}
	out := 0
	if !p.lone() && !p.last(n) {
		out = p.add(n, "statement", p.raw(n), "")
	}
	if len(changes) == 0 && out == 0 {
		return
	}
	p.wraps[n] = func() string {
		var b strings.Builder
		for _, c := range changes {
			fmt.Fprintf(&b, "if mutantOn(%d) { %s }; ", c.id, c.code)
		}
		if out > 0 {
			return fmt.Sprintf("{ %sif !mutantOn(%d) { %s } }", b.String(), out, p.inner(n))
		}
		return "{ " + b.String() + p.inner(n) + " }"
	}
}

// results are the types that the function around gives back.
func (p *plan) results() (all []types.Type) {
	var t *ast.FuncType
	switch f := p.function().(type) {
	case *ast.FuncDecl:
		t = f.Type
	case *ast.FuncLit:
		t = f.Type
	}
	if t.Results == nil {
		return nil
	}
	for _, field := range t.Results.List {
		for range max(1, len(field.Names)) {
			all = append(all, p.info.TypeOf(field.Type))
		}
	}
	return all
}

func isError(t types.Type) bool { return types.TypeString(t, nil) == "error" }

// otherResult is what may be given back instead of e, "" when nothing may.
func (p *plan) otherResult(n *ast.ReturnStmt, e ast.Expr, t types.Type) string {
	value := p.info.Types[e].Value
	other := ""
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0 && value != nil:
			return fmt.Sprint(value.String() != "true")
		case u.Info()&types.IsBoolean != 0 && p.simple(e):
			return "!(" + p.raw(e) + ")"
		case u.Info()&types.IsNumeric != 0 && (value == nil || p.named(e) && value.String() != "0"):
			other = "0"
		case u.Info()&types.IsString != 0:
			other = `""`
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		if _, generic := t.(*types.TypeParam); !generic {
			other = "nil"
		}
	case *types.Struct:
		if name, ok := p.typeName(t); ok && p.raw(e) != name+"{}" {
			other = "*new(" + name + ")"
		}
	}
	if other == p.raw(e) {
		return ""
	}
	return other
}

// simple reports what no operator on conditions changes.
func (p *plan) simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return false
	case *ast.UnaryExpr:
		return e.Op != token.NOT
	}
	return true
}

func (p *plan) named(e ast.Expr) bool {
	_, lit := e.(*ast.BasicLit)
	return !lit
}

var failure = regexp.MustCompile(`^(fmt\.Errorf|errors\.New|sysexit\.(With|Hint)|\w*[eE]rror)\(`)

// unreadIn reports a value that goes with an error, so that nobody looks at it.
func (p *plan) unreadIn(n *ast.ReturnStmt, e ast.Expr) bool {
	results := p.results()
	if len(results) < 2 || len(n.Results) != len(results) || !isError(results[len(results)-1]) ||
		n.Results[len(n.Results)-1] == e {
		return false
	}
	end := n.Results[len(n.Results)-1]
	err := p.raw(end)
	if _, made := end.(*ast.CallExpr); made && p.nothing(e) {
		return true
	}
	if branch, ok := p.ancestorIf(); ok && err == "err" &&
		strings.HasSuffix(p.raw(branch.Cond), "err != nil") {
		return true
	}
	return failure.MatchString(err)
}

// nothing reports 0, "", false and nil.
func (p *plan) nothing(e ast.Expr) bool {
	switch p.raw(e) {
	case "0", "-1", `""`, "false", "nil":
		return true
	}
	return false
}

func (p *plan) ancestorIf() (*ast.IfStmt, bool) {
	for i := range p.stack {
		if branch, ok := p.up(i).(*ast.IfStmt); ok {
			return branch, true
		}
	}
	return nil, false
}

// unread is unreadIn for a constant.
func (p *plan) unread(e ast.Expr) bool {
	n, ok := p.up(0).(*ast.ReturnStmt)
	if !ok {
		return false
	}
	above := p.stack
	p.stack = p.stack[:len(p.stack)-1]
	defer func() { p.stack = above }()
	return p.unreadIn(n, e)
}

// last reports whether a function that gives something back would run into its
// end without n.
func (p *plan) last(n ast.Stmt) bool {
	var body *ast.BlockStmt
	switch f := p.function().(type) {
	case *ast.FuncDecl:
		body = f.Body
	case *ast.FuncLit:
		body = f.Body
	}
	end := body.List[len(body.List)-1]
	if end == n {
		return true
	}
	switch end.(type) {
	case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.IfStmt, *ast.SelectStmt, *ast.BlockStmt:
		return slices.Contains(p.stack, ast.Node(end))
	}
	return false
}

// ending gives a function an end that the compiler accepts when what ends it now
// can be left out.
func (p *plan) ending(n ast.Node) {
	body, ok := n.(*ast.BlockStmt)
	if !ok || len(body.List) == 0 {
		return
	}
	var t *ast.FuncType
	switch f := p.up(0).(type) {
	case *ast.FuncDecl:
		t = f.Type
	case *ast.FuncLit:
		t = f.Type
	default:
		return
	}
	if _, plain := body.List[len(body.List)-1].(*ast.ReturnStmt); plain || t.Results == nil {
		return
	}
	p.wraps[body] = func() string {
		s := p.inner(body)
		return s[:len(s)-1] + "; panic(\"the mutant left the function's end\") }"
	}
}
