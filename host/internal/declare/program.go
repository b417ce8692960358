package declare

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Program returns the declaration file of one saved program: the type of its input, which
// is an object.
func Program(name, description string, input json.RawMessage) []byte {
	types := NewTypes(Identifier("program_" + name))
	expression := types.Expression(input, "Input", 2)
	var b strings.Builder
	b.WriteString("interface ProgramInputs {\n")
	if about := lines(description); len(about) > 0 {
		b.WriteString(comment(about, "  "))
	}
	fmt.Fprintf(&b, "  %s: %s;\n}\n", quote(name), expression)
	b.WriteString(types.Declarations())
	return []byte(b.String())
}
