package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// piece is a part of a line: as it is to be run, and what a decision about it holds for,
// which has the digests of the files but no programs that only run another one.
type piece struct{ line, essence string }

// joined puts text between two pieces.
func joined(a piece, between string, b piece) piece {
	return piece{a.line + between + b.line, a.essence + between + b.essence}
}

func (p piece) with(before, after string) piece {
	return piece{before + p.line + after, before + p.essence + after}
}

func (r *reading) statements(list []*syntax.Stmt) piece {
	var all piece
	for i, s := range list {
		if p := r.statement(s); i == 0 {
			all = p
		} else {
			all = joined(all, "; ", p)
		}
	}
	return all
}

func (r *reading) statement(s *syntax.Stmt) piece {
	if s.Background || s.Coprocess || s.Disown {
		r.unclear("a command runs in the background of the shell: start it with background instead")
	}
	before := r.deaf
	r.deaf = false
	defer func() { r.deaf = r.deaf || before }()
	var p piece
	switch c := s.Cmd.(type) {
	case nil:
		r.unclear("a redirect has no command")
	case *syntax.CallExpr:
		p = r.call(c)
	case *syntax.BinaryCmd:
		p = r.binary(c)
	case *syntax.Subshell:
		p = r.group(c.Stmts).with("( ", " )")
	case *syntax.Block:
		p = r.group(c.Stmts).with("{ ", "; }")
	default:
		r.unclear("%s is more than a list of commands", constructName(c))
		r.inside(c)
	}
	if s.Negated {
		p = p.with("! ", "")
	}
	for _, d := range s.Redirs {
		text := r.redirect(d)
		if r.deaf && !strings.Contains(text, ">") {
			if text != " < '/dev/null'" {
				r.unlisted("it gives input to a program that may take commands from there")
			}
			text = "" // it has that input
		}
		p = p.with("", text)
	}
	return p
}

func (r *reading) group(list []*syntax.Stmt) piece {
	if r.depth++; r.depth > maxNesting {
		r.unclear("there are more than %d levels of shells and groups", maxNesting)
		return piece{}
	}
	defer func() { r.depth-- }()
	return r.statements(list)
}

func (r *reading) binary(c *syntax.BinaryCmd) piece {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt, syntax.Pipe, syntax.PipeAll:
	default:
		r.unclear("the operator %s is not known", c.Op)
	}
	if c.Op == syntax.OrStmt {
		r.maybe++
		defer func() { r.maybe-- }()
	}
	left, before := r.statement(c.X), r.deaf
	r.deaf = false
	r.maybe++ // the left may fail
	right := r.statement(c.Y)
	r.maybe--
	if r.deaf && (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) {
		r.unlisted("it gives input to a program that may take commands from there")
	}
	r.deaf = r.deaf || before
	return joined(left, " "+c.Op.String()+" ", right)
}

// inside reads the commands in the parts of a construct that is not plain, so that a
// person is told of them.
func (r *reading) inside(node syntax.Node) {
	if r.depth++; r.depth > maxNesting {
		r.depth--
		return
	}
	r.maybe++
	defer func() { r.depth, r.maybe = r.depth-1, r.maybe-1 }()
	syntax.Walk(node, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			r.statement(s)
			return false
		}
		return true
	})
}

func constructName(c syntax.Command) string {
	switch c := c.(type) {
	case *syntax.IfClause:
		return "if"
	case *syntax.WhileClause:
		return "while"
	case *syntax.ForClause:
		return "for"
	case *syntax.CaseClause:
		return "case"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.ArithmCmd, *syntax.LetClause:
		return "arithmetic"
	case *syntax.TestClause:
		return "[["
	case *syntax.DeclClause:
		return c.Variant.Value
	case *syntax.TimeClause:
		return "time"
	case *syntax.CoprocClause:
		return "coproc"
	}
	return "this"
}

// redirect reads a redirect: output to nowhere or to the other stream, input from a file.
func (r *reading) redirect(d *syntax.Redirect) string {
	fd := ""
	if d.N != nil {
		fd = d.N.Value
	}
	if d.Hdoc != nil || d.Word == nil {
		r.unclear("a here-document is not plain")
		if d.Hdoc != nil {
			r.inside(d.Hdoc)
		}
		return ""
	}
	w := r.word(d.Word)
	r.contents.data = append(r.contents.data, r.paths([]word{w})...)
	op := d.Op.String()
	switch d.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		if w.text == "/dev/null" && !w.glob && slices.Contains([]string{"", "1", "2"}, fd) {
			return " " + fd + op + w.quoted
		}
		r.unclear("it writes to the file %s", w.text)
	case syntax.DplOut:
		if (w.text == "1" || w.text == "2") && slices.Contains([]string{"", "1", "2"}, fd) {
			return " " + fd + op + w.text
		}
		r.unclear("it redirects to %s", w.text)
	case syntax.RdrIn:
		if (fd == "" || fd == "0") && !w.glob && strings.Trim(w.text, "0123456789") != "" && !device(w.text) {
			return " " + fd + op + " " + w.quoted
		}
		r.unclear("it reads from %s", w.text)
	case syntax.WordHdoc:
		if (fd == "" || fd == "0") && !w.glob && strings.Trim(w.text, "0123456789") != "" {
			return " " + fd + op + " " + w.quoted
		}
		r.unclear("it reads from %s", w.text)
	default:
		r.unclear("the redirect %s is not known", op)
	}
	return ""
}

// device reports whether a path leads, or may lead, to a device or to what bash makes of
// such a name: a connection.
func device(name string) bool {
	if path.Clean(name) == "/dev/null" {
		return false
	}
	name = path.Clean("/" + strings.ReplaceAll(name, "~", ""))
	return strings.HasPrefix(name+"/", "/dev/") || strings.Contains(name, "/tcp/") || strings.Contains(name, "/udp/")
}
