package quickjs

import (
	"bytes"

	"github.com/quoinhq/quoin/internal/wire"
)

// escapes reports whether the body of a cell ends the function it stands in and
// starts another, as in "}, () => {". Such a program parses all the same, but it
// is not the body of one function. It is compiled, and not run, as the body of a
// function declaration: what may follow the end of that is never what may follow
// the end of a function expression.
func (j js) escapes(cell []byte) bool {
	from, to := bytes.IndexByte(cell, '{'), bytes.LastIndexByte(cell, '}')
	if from < 0 || to < from || !leavesBlocks(cell[from+1:to]) {
		return false
	}
	const head, tail = "async function cell() {", "\n}"
	program := make([]byte, 0, len(head)+to-from+len(tail))
	program = append(append(append(program, head...), cell[from+1:to]...), tail...)
	code := j.compile(program, "cell")
	if isException(code) {
		j.dropException()
		return true
	}
	j.free(code)
	return false
}

// leavesBlocks is false for a body in which no brace can end the function: no brace
// is followed by a comma, a parenthesis, or a comment that could hide one.
func leavesBlocks(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '}')
		if i < 0 {
			return false
		}
		body = body[i+1:]
		if next := bytes.TrimLeft(body, " \t\r\n\v\f"); len(next) > 0 && (next[0] == ',' || next[0] == ')' || next[0] == '/' || next[0] >= 0x80) {
			return true
		}
	}
}

// escapeError is the refusal of such a program.
func escapeError() *wire.GuestError {
	return inputError(&wire.GuestError{Name: "SyntaxError", Message: "a brace closes the function that the program is the body of; remove it or open it before"})
}
