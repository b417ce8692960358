package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// rewriter collects the edits of one file. Edits are of text, so that lines stay
// where they are and profiles of the library fit the rewritten one.
type rewriter struct {
	fset   *token.FileSet
	source []byte
	edits  []edit
	err    error // the first
}

// edit replaces the bytes from..to.
type edit struct {
	from, to int
	text     string
}

// rewrite returns the source of a generated file with faster frames.
func rewrite(source []byte) ([]byte, error) {
	r := &rewriter{fset: token.NewFileSet(), source: source}
	file, err := parser.ParseFile(r.fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	functions := 0
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			r.conditions(fn.Body)
			if r.function(fn) {
				functions++
			}
		}
	}
	if functions == 0 {
		r.fail("no function has a frame")
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.apply()
}

func (r *rewriter) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) text(n ast.Node) string {
	return string(r.source[r.offset(n.Pos()):r.offset(n.End())])
}

func (r *rewriter) replace(from, to token.Pos, text string) {
	r.edits = append(r.edits, edit{r.offset(from), r.offset(to), text})
}

// apply returns the source with the edits, which do not overlap.
func (r *rewriter) apply() ([]byte, error) {
	slices.SortStableFunc(r.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	var out []byte
	last := 0
	for _, e := range r.edits {
		if e.from < last {
			return nil, fmt.Errorf("two edits overlap at byte %d", e.from)
		}
		out = append(append(out, r.source[last:e.from]...), e.text...)
		last = e.to
	}
	return append(out, r.source[last:]...), nil
}

// conditions makes libc.BoolInt64(c) != 0 into (c).
func (r *rewriter) conditions(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.NEQ || r.text(b.Y) != "0" {
			return true
		}
		if c, ok := b.X.(*ast.CallExpr); ok && len(c.Args) == 1 {
			if name := r.text(c.Fun); name == "libc.BoolInt64" || name == "libc.BoolInt32" {
				r.replace(b.Pos(), c.Args[0].Pos(), "(")
				r.replace(c.Args[0].End(), b.End(), ")")
			}
		}
		return true
	})
}

// parts are the statements with which a function takes and gives back its memory.
type parts struct {
	alloc, free  ast.Stmt // of its variables
	enter, leave ast.Stmt // of what it takes by alloca
	bp           string   // the variable that holds the address
	size         int
}

func (r *rewriter) parts(fn *ast.FuncDecl) (p parts) {
	for _, s := range fn.Body.List {
		text := r.text(s)
		switch s := s.(type) {
		case *ast.AssignStmt:
			if n, err := fmt.Sscanf(text, "bp := tls.Alloc(%d)", &p.size); err == nil && n == 1 {
				p.alloc, p.bp = s, "bp"
			} else if n, err := fmt.Sscanf(text, "bp1 := tls.Alloc(%d)", &p.size); err == nil && n == 1 {
				p.alloc, p.bp = s, "bp1"
			}
		case *ast.DeferStmt:
			switch {
			case strings.HasPrefix(text, "defer tls.Free("):
				p.free = s
			case text == "defer tls.AllocaExit()":
				p.leave = s
			default:
				r.fail("%s defers %s", fn.Name.Name, text)
			}
		case *ast.ExprStmt:
			if text == "tls.AllocaEntry()" {
				p.enter = s
			}
		}
	}
	if (p.alloc == nil) != (p.free == nil) || (p.enter == nil) != (p.leave == nil) {
		r.fail("%s takes a frame and does not give it back, or the reverse", fn.Name.Name)
	}
	return p
}

// shortFunction is how many lines a function may have to go without a frame. A
// longer one keeps it, because recursion is bounded by frames.
const shortFunction = 60

// function rewrites the frame of a function, if it has one.
func (r *rewriter) function(fn *ast.FuncDecl) bool {
	p := r.parts(fn)
	if r.err != nil || p.alloc == nil && p.enter == nil {
		return false
	}
	if p.alloc == nil {
		p.bp = "bp"
		r.replace(p.enter.Pos(), p.enter.End(), "bp := frame(0)")
	} else {
		slots := r.slots(fn, p.bp)
		lines := r.fset.Position(fn.Body.End()).Line - r.fset.Position(fn.Body.Pos()).Line
		framed := !slots.all || p.enter != nil || lines > shortFunction
		take := "_ = tls"
		if framed {
			take = fmt.Sprintf("%s := frame(%d)", p.bp, (p.size+15)&^15)
		}
		r.replace(p.alloc.Pos(), p.alloc.End(), take+slots.declaration())
		r.remove(p.free)
		r.remove(p.enter)
		if !framed {
			return true
		}
	}
	r.remove(p.leave)
	r.allocas(fn)
	r.returns(fn, p.bp)
	return true
}

func (r *rewriter) remove(s ast.Stmt) {
	if s != nil {
		r.replace(s.Pos(), s.End(), "")
	}
}

// allocas lets alloca take its bytes above the frame.
func (r *rewriter) allocas(fn *ast.FuncDecl) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && r.text(c.Fun) == "libc.X__builtin_alloca" && len(c.Args) == 2 {
			r.replace(c.Pos(), c.Args[1].Pos(), "alloca(")
		}
		return true
	})
}

// returns gives the frame back before each return, after its result is computed.
func (r *rewriter) returns(fn *ast.FuncDecl, bp string) {
	result := ""
	if fn.Type.Results != nil {
		if len(fn.Type.Results.List) != 1 || len(fn.Type.Results.List[0].Names) != 1 {
			r.fail("%s has not one named result", fn.Name.Name)
			return
		}
		result = fn.Type.Results.List[0].Names[0].Name
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			r.fail("%s has a function literal", fn.Name.Name)
		case *ast.ReturnStmt:
			if len(n.Results) == 0 || r.text(n.Results[0]) == result {
				r.replace(n.Pos(), n.Pos(), "{ unframe("+bp+"); ")
				r.replace(n.End(), n.End(), " }")
				return false
			}
			r.replace(n.Pos(), n.Results[0].Pos(), "{ "+result+" = ")
			r.replace(n.End(), n.End(), "; unframe("+bp+"); return "+result+" }")
		}
		return true
	})
	if fn.Type.Results == nil {
		r.replace(fn.Body.Rbrace, fn.Body.Rbrace, "unframe("+bp+")\n")
	}
}
