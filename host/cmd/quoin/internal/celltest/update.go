package celltest

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host"
)

// wide is how long a value may be to stand in one line, in bytes.
const wide = 100

// Update writes into the cell's file what it returned, in place of what was
// expected, if it has completed and the two differ. A cell that should have
// failed, or did, is left as it is, and so are expectations of output.
func (o *Outcome) Update() error {
	c, r := o.Cell, o.Result
	if r.Status != host.StatusCompleted || c.want != nil && c.want.word != "want" {
		return nil
	}
	if c.want != nil && len(c.checkValue(r)) == 0 || c.want == nil && len(c.outputs) > 0 {
		return nil
	}
	lines := strings.Split(c.Code, "\n")
	block := wanted(r.Value)
	if c.want != nil {
		lines = slices.Replace(lines, c.want.first, c.want.end, block...)
	} else {
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		lines = append(append(append(lines, ""), block...), "")
	}
	code := strings.Join(lines, "\n")
	if err := os.WriteFile(c.Path, []byte(code), 0o644); err != nil {
		return err
	}
	c.Code, o.Updated = code, true
	if err := c.parse(); err != nil {
		return err
	}
	o.Problems = c.check(r, o.Elapsed)
	return nil
}

// wanted is the expectation of a value, as lines.
func wanted(value json.RawMessage) []string {
	if len(value) <= wide {
		return []string{"// want: " + string(value)}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, "// ", "  "); err != nil {
		return []string{"// want: " + string(value)}
	}
	return strings.Split("// want: "+b.String(), "\n")
}
