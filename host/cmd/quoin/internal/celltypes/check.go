package celltypes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Complaint is one thing that the compiler says against a cell.
type Complaint struct {
	// File is the cell's path, as it was given to Check.
	File string
	// Line and Column are places in that file, from 1.
	Line, Column int
	// Text is the message, such as "error TS2322: Type 'string' is not …". It may
	// have further lines.
	Text string
}

// String is path:line:column: text.
func (c Complaint) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", c.File, c.Line, c.Column, c.Text)
}

// opening makes a cell the body of a function without moving its lines.
const opening = "export default async function () { "

// Check has the compiler check cells, which are TypeScript, by their paths. The error
// is about the compiler or the declarations, not about the cells.
func Check(ctx context.Context, compiler, declarations string, cells map[string]string) (_ []Complaint, err error) {
	dir, err := os.MkdirTemp("", "quoin-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := Write(dir, declarations); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o755); err != nil {
		return nil, err
	}
	paths := map[string]string{} // of the cells, by their names for the compiler
	for path, code := range cells {
		name := "testdata/cell" + strconv.Itoa(len(paths)) + ".ts"
		paths[name] = path
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(opening+code+"\n}\n"), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, compiler, "--project", ".", "--pretty", "false")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("%s cannot be run: %w", compiler, err)
	}
	said, rest := complaints(string(out), paths)
	if rest != "" || err != nil && len(said) == 0 {
		return nil, fmt.Errorf("%s: %s", compiler, strings.TrimSpace(rest+" "+errorText(err)))
	}
	return said, nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "(" + err.Error() + ")"
}

// complaint matches the first line of one: path(line,column): error TSn: text.
var complaint = regexp.MustCompile(`^(.+)\((\d+),(\d+)\): (error TS\d+: .*)$`)

// complaints reads what the compiler says. rest is not about any of the cells.
func complaints(out string, paths map[string]string) (list []Complaint, rest string) {
	within := false // lines that are indented belong to the complaint before them
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		m := complaint.FindStringSubmatch(line)
		switch {
		case m != nil && paths[m[1]] != "":
			c := Complaint{File: paths[m[1]], Text: m[4]}
			c.Line, c.Column = number(m[2]), number(m[3])
			if c.Line == 1 {
				c.Column = max(1, c.Column-len(opening))
			}
			list, within = append(list, c), true
		case within && strings.HasPrefix(line, " "):
			list[len(list)-1].Text += "\n" + line
		case strings.TrimSpace(line) != "":
			rest, within = rest+line+"\n", false
		}
	}
	return list, rest
}

// number reads digits; so many that they are no number are 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
