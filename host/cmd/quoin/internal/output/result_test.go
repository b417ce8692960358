package output

import (
	"strings"
	"testing"
)

// TestExcerpt: a failure shows the place in the program that it names, and nothing where it
// names no place of the program.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100) + "(" + strings.Repeat("b", 100)
	for _, tc := range []struct{ program, failure, want string }{
		{"return 6 7", "SyntaxError: expecting ';' (cell.js:1:10)", "\n  return 6 7\n           ^"},
		{"one\n\tthrow x\r\n", "x is not defined\n    at <anonymous> (cell.ts:2:8)\n    at cell.ts:1:1", "\n   throw x\n         ^"},
		{"f(", "unexpected end of the code (cell.js:1:3)", "\n  f(\n    ^"},
		{"\"\x1b[2J\" 1", "(cell.js:1:8)", "\n  \"\\x1b[2J\" 1\n            ^"},
		{long, "(cell.js:1:101)", "\n  " + strings.Repeat("a", 39) + "(" + strings.Repeat("b", 15) + "\n  " + strings.Repeat(" ", 39) + "^"},
		{"return 1", "(cell.js:2:1)", ""},
		{"return 1", "(cell.js:0:1)", ""},
		{"return 1", "(cell.js:1:10)", ""},
		{"return 1", "(cell.js:99999999999999999999:1)", ""},
		{"", "(cell.js:1:2)", ""},
		{"return 1", "no place", ""},
	} {
		if got := excerpt(tc.program, tc.failure); got != tc.want {
			t.Errorf("%q, %q:\n%q, want\n%q", tc.program, tc.failure, got, tc.want)
		}
	}
}
