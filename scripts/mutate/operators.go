package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// The operators on expressions. Where two changes come to the same, as an if that
// is never true and one without its only statement, only one is made.

// alternative is an expression that may stand in the place of another.
type alternative struct{ op, text string }

// offer makes mutants of a condition: (on(1) && (alternative) || none && (itself)).
func (p *plan) offer(n ast.Expr, alts []alternative) {
	if len(alts) == 0 {
		return
	}
	before, lead := p.raw(n), ""
	switch p.role(n) {
	case "if":
		lead = "if "
	case "for":
		lead = "for "
	case "case":
		lead = "case "
	}
	var b strings.Builder
	first := 0
	for _, a := range alts {
		id := p.add(n, a.op, lead+before, lead+a.text)
		if first == 0 {
			first = id
		}
		fmt.Fprintf(&b, "mutantOn(%d) && (%s) || ", id, a.text)
	}
	last := len(p.mutants)
	p.wraps[n] = func() string {
		return fmt.Sprintf("(%smutantNone(%d, %d) && (%s))", b.String(), first, last, p.inner(n))
	}
}

// role says what a condition decides: if, for, case, and operand of && or ||.
func (p *plan) role(n ast.Expr) string {
	switch parent := p.up(0).(type) {
	case *ast.IfStmt:
		if parent.Cond == n {
			return "if"
		}
	case *ast.ForStmt:
		if parent.Cond == n {
			return "for"
		}
	case *ast.CaseClause:
		if s, ok := p.up(2).(*ast.SwitchStmt); ok && s.Tag == nil {
			return "case"
		}
	case *ast.BinaryExpr:
		if parent.Op == token.LAND || parent.Op == token.LOR {
			return "operand"
		}
	}
	return ""
}

// decided are the alternatives that a condition has by its role. That of a loop
// is not made true, since that only runs for ever.
func (p *plan) decided(n ast.Expr) []alternative {
	switch p.role(n) {
	case "if", "case":
		return []alternative{{"condition", "true"}, {"condition", "false"}}
	case "for":
		return []alternative{{"condition", "false"}}
	}
	return nil
}

func (p *plan) isBool(n ast.Expr) bool {
	t := p.info.Types[n]
	b, ok := t.Type.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0 && t.Value == nil && t.IsValue()
}

// truth mutates a condition that is not an operation.
func (p *plan) truth(n ast.Expr) {
	if p.isBool(n) {
		p.offer(n, p.decided(n))
	}
}

var (
	bounds   = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
	opposite = map[token.Token]string{token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
		token.EQL: "!=", token.NEQ: "=="}
	swaps = map[token.Token]string{
		token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
		token.AND: "|", token.OR: "&", token.XOR: "&", token.AND_NOT: "&", token.SHL: ">>", token.SHR: "<<",
	}
	swapped = map[token.Token]string{
		token.ADD: "mutantAdd", token.SUB: "mutantSub", token.MUL: "mutantMul", token.QUO: "mutantQuo",
		token.REM: "mutantRem",
		token.AND: "mutantAnd", token.OR: "mutantOr", token.XOR: "mutantXor", token.AND_NOT: "mutantAndNot",
		token.SHL: "mutantShl", token.SHR: "mutantShr",
	}
)

func (p *plan) binary(n *ast.BinaryExpr) {
	if p.info.Types[n].Value != nil {
		return
	}
	if swaps[n.Op] != "" {
		p.arithmetic(n)
		return
	}
	if !p.isBool(n) {
		return
	}
	alts := p.decided(n)
	x, y := p.raw(n.X), p.raw(n.Y)
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		alts = append(alts, alternative{"operand", x}, alternative{"operand", y})
	default:
		if b := bounds[n.Op]; b != "" {
			alts = append(alts, alternative{"boundary", x + " " + b + " " + y})
		}
		if p.role(n) == "" {
			alts = append(alts, alternative{"negation", x + " " + opposite[n.Op] + " " + y})
		}
	}
	p.offer(n, alts)
}

func (p *plan) arithmetic(n *ast.BinaryExpr) {
	b, ok := p.info.Types[n].Type.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsNumeric == 0 || b.Info()&types.IsComplex != 0 {
		return
	}
	x := func() string { return p.all(n.X) }
	if n.Op == token.SHL || n.Op == token.SHR {
		name, ok := p.typeName(p.info.Types[n].Type)
		if !ok {
			return
		}
		x = func() string { return name + "(" + p.all(n.X) + ")" }
	}
	id := p.add(n, "arithmetic", p.raw(n), p.raw(n.X)+" "+swaps[n.Op]+" "+p.raw(n.Y))
	p.wraps[n] = func() string { return fmt.Sprintf("%s(%d, %s, %s)", swapped[n.Op], id, x(), p.all(n.Y)) }
}

func (p *plan) unary(n *ast.UnaryExpr) {
	switch {
	case n.Op == token.SUB:
		p.constant(n)
	case n.Op == token.NOT && p.isBool(n):
		alts := p.decided(n)
		if alts == nil {
			alts = []alternative{{"negation", p.raw(n.X)}}
		}
		p.offer(n, alts)
	}
}

// constant makes a whole number one more and one less, with what is around it in
// the mutants' names. Those that only say how much memory to take at first are
// left alone, and so are modes and times, where a unit means nothing.
func (p *plan) constant(n ast.Expr) {
	tv := p.info.Types[n]
	around, ok := p.up(0).(ast.Expr)
	if tv.Value == nil || tv.Value.Kind() != constant.Int || ok && p.info.Types[around].Value != nil ||
		p.room(n) || p.unread(n) {
		return
	}
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind != token.INT {
		return
	}
	b, ok := tv.Type.Underlying().(*types.Basic)
	name, ok2 := p.typeName(tv.Type)
	value, exact := constant.Int64Val(tv.Value)
	if !ok || !ok2 || !exact || b.Info()&types.IsInteger == 0 || strings.HasSuffix(name, ".Duration") ||
		strings.HasSuffix(name, ".FileMode") {
		return
	}
	ids := [2]int{}
	for i, by := range []int64{1, -1} {
		if by < 0 && value == 0 {
			break // most often an index that is wrong for anybody to see
		}
		before, after := p.framed(n, fmt.Sprint(value+by))
		ids[i] = p.add(n, "constant", before, after)
	}
	p.wraps[n] = func() string {
		return fmt.Sprintf("mutantInt(%d, %d, %s(%s))", ids[0], ids[1], name, p.raw(n))
	}
}

// room reports a capacity.
func (p *plan) room(n ast.Expr) bool {
	call, ok := p.up(0).(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := call.Fun.(*ast.Ident)
	if !ok || fun.Name != "make" {
		return false
	}
	_, slice := p.info.Types[call.Args[0]].Type.Underlying().(*types.Slice)
	return len(call.Args) == 3 && call.Args[2] == n || !slice
}

// framed is what stands around a node, before and after it is another text.
func (p *plan) framed(n ast.Node, text string) (before, after string) {
	frame := p.up(0)
	switch frame.(type) {
	case ast.Expr, *ast.ReturnStmt, *ast.AssignStmt, *ast.ValueSpec:
	case *ast.RangeStmt:
		return "range " + p.raw(n), "range " + text
	default:
		return p.raw(n), text
	}
	return p.raw(frame), p.cut(frame.Pos(), n.Pos()) + text + p.cut(n.End(), frame.End())
}
