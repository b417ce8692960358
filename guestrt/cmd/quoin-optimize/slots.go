package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// valueType is the type of a guest's value, two words, and valueSize its bytes.
const (
	valueType = "TJSValue"
	valueSize = 16
)

// slots are the offsets in a frame that become Go variables.
type slots struct {
	offsets []int
	all     bool // no other offset is used
}

// declaration declares the variables, in the line that it is appended to.
func (s slots) declaration() string {
	var names, blanks []string
	for _, o := range s.offsets {
		names, blanks = append(names, variable(o)), append(blanks, "_")
	}
	if len(names) == 0 {
		return ""
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("; var %s %s; %s = %s", list, valueType, strings.Join(blanks, ", "), list)
}

func variable(offset int) string { return fmt.Sprintf("slot%d", offset) }

// use is one place where a slot is read or written whole, as a value or as the
// number or address in its first word.
type use struct {
	node  ast.Expr
	typed string
}

// slots finds the offsets that only ever hold a value, with an address that
// goes nowhere, and rewrites their uses.
func (r *rewriter) slots(fn *ast.FuncDecl, bp string) slots {
	uses, kept := map[int][]use{}, map[int]bool{}
	var path []ast.Node
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		if id, ok := n.(*ast.Ident); !ok || id.Name != bp {
			return true
		}
		up := path[:len(path)-1]
		if a, ok := up[len(up)-1].(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			return true
		}
		offset := 0
		if b, ok := up[len(up)-1].(*ast.BinaryExpr); ok && b.Op == token.ADD && b.X == n {
			var err error
			if offset, err = strconv.Atoi(r.text(b.Y)); err != nil {
				offset = 0 // an index into what is at 0: not a use
			} else {
				up = up[:len(up)-1]
			}
		}
		if u, ok := r.use(up); ok {
			uses[offset] = append(uses[offset], u)
		} else {
			kept[offset] = true
		}
		return true
	})
	for offset, list := range uses {
		if !slices.ContainsFunc(list, func(u use) bool { return u.typed == valueType }) {
			kept[offset] = true
		}
	}
	keepOverlapping(uses, kept)
	var s slots
	for _, offset := range slices.Sorted(maps.Keys(uses)) {
		if kept[offset] {
			continue
		}
		s.offsets = append(s.offsets, offset)
		for _, u := range uses[offset] {
			r.replace(u.node.Pos(), u.node.End(), u.read(variable(offset)))
		}
	}
	s.all = len(kept) == 0
	return s
}

// keepOverlapping keeps in memory what overlaps with another slot.
func keepOverlapping(uses map[int][]use, kept map[int]bool) {
	offsets := slices.Sorted(maps.Keys(uses))
	for o := range kept {
		offsets = append(offsets, o)
	}
	for _, a := range offsets {
		for _, b := range offsets {
			if a != b && a > b-valueSize && a < b+valueSize {
				kept[a], kept[b] = true, true
			}
		}
	}
}

// read is the expression that takes the place of a use.
func (u use) read(variable string) string {
	switch u.typed {
	case "uintptr", "int32":
		return u.typed + "(" + variable + ".Fu.Fuint641)"
	case "float64":
		return "float(" + variable + ".Fu.Fuint641)"
	}
	return variable
}

// use looks at what is done with the address that the last node of path is made
// of. Expected is *(*T)(unsafe.Pointer(address)) or unsafe.Add(nil, address).
func (r *rewriter) use(path []ast.Node) (use, bool) {
	n := len(path)
	if n < 4 {
		return use{}, false
	}
	pointer, ok := path[n-1].(*ast.CallExpr)
	if !ok {
		return use{}, false
	}
	if name := r.text(pointer.Fun); name != "unsafe.Pointer" && name != "unsafe.Add" {
		return use{}, false
	}
	conversion, ok := path[n-2].(*ast.CallExpr)
	if !ok {
		return use{}, false
	}
	star, ok := path[n-3].(*ast.StarExpr)
	if !ok {
		return use{}, false
	}
	u := use{node: star, typed: strings.TrimSuffix(strings.TrimPrefix(r.text(conversion.Fun), "(*"), ")")}
	switch u.typed {
	case valueType:
		return u, !addressed(path[:n-3])
	case "uintptr", "int32", "float64":
		return u, !written(star, path[n-4]) && !addressed(path[:n-3])
	}
	return use{}, false
}

// written reports whether a statement stores into the expression.
func written(e ast.Expr, parent ast.Node) bool {
	switch s := parent.(type) {
	case *ast.AssignStmt:
		return slices.Contains(s.Lhs, e)
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// addressed reports whether the address of the expression below path, or of a
// field of it, is taken.
func addressed(path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr, *ast.SelectorExpr, *ast.IndexExpr:
			continue
		case *ast.UnaryExpr:
			return n.Op == token.AND
		}
		return false
	}
	return false
}
