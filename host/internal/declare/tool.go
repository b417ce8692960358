package declare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// MaxBytes is more than any file has.
const MaxBytes = 512 << 10

// Tool returns the declaration file of one tool. Function is its name on the
// global tools, "" if it is called by its id.
func Tool(t *catalog.Tool, function string) []byte {
	prefix := function
	if function == "" {
		prefix = t.ID()
	}
	types := NewTypes(Identifier(prefix))
	optional := ""
	if !needsInput(t.Parameters) {
		optional = "?"
	}
	input := "{ [key: string]: unknown }"
	if len(bytes.TrimSpace(t.Parameters)) > 0 {
		input = types.Expression(t.Parameters, "Input", 2)
	}
	output := types.Expression(t.Output, "Output", 2)
	head := Key(function) + "("
	if function == "" {
		head = "call(id: " + quote(t.ID()) + ", "
	}
	var b strings.Builder
	b.WriteString("interface Tools {\n")
	b.WriteString(comment(aboutTool(t, function), "  "))
	fmt.Fprintf(&b, "  %sinput%s: %s, %s): Promise<%s>;\n}\n", head, optional, input, optionsOfTool, output)
	b.WriteString(types.Declarations())
	b.WriteString(signalDeclaration)
	return []byte(b.String())
}

// What a function of tools takes after its input. It ignores everything else there.
const optionsOfTool = "options?: { signal?: AbortSignal | null } | null"

// signalDeclaration makes a file complete that names the class: the guest's own
// declarations say what is in it.
const signalDeclaration = "interface AbortSignal {}\n"

// needsInput reports whether a call without an input fails. The host gives a tool
// an empty object then.
func needsInput(schema json.RawMessage) bool {
	d := &document{doc: jsonschema.Parse(schema)}
	return d.needs(d.doc.Root(), 0)
}

// needs reports whether a schema plainly says that an object without properties does not fit
// it.
func (d *document) needs(s *jsonschema.Node, depth int) bool {
	const deepest = 8
	if s == nil || depth > deepest || d.tired() {
		return false
	}
	if len(s.Get("required").List()) > 0 {
		return true
	}
	if ref := s.Get("$ref"); ref.Is(jsonschema.String) && d.needs(d.doc.Target(ref.Text), depth+1) {
		return true
	}
	needs := func(branch *jsonschema.Node) bool { return d.needs(branch, depth+1) }
	if slices.ContainsFunc(s.Get("allOf").List(), needs) {
		return true
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := s.Get(keyword).List(); len(branches) > 0 && !slices.ContainsFunc(branches, func(b *jsonschema.Node) bool { return !needs(b) }) {
			return true
		}
	}
	return false
}

// maxExamples is how many examples a file shows.
const maxExamples = 5

// aboutTool is the comment of a tool.
func aboutTool(t *catalog.Tool, function string) []string {
	var out []string
	if t.Label != "" {
		out = append(lines(t.Label), "")
	}
	if text := lines(t.Description); len(text) > 0 {
		out = append(append(out, text...), "")
	}
	id := "Id: " + harmless(t.ID()) + "."
	if t.ReadOnly { // that a tool is idempotent is not said: it is so of a call that the host makes again
		id += " Changes nothing."
	}
	out = append(out, id)
	for i, e := range t.Examples {
		if i == maxExamples {
			break
		}
		out = append(out, strings.TrimSpace("@example "+text.Shorten(harmless(e.Description), maxLineBytes)), exampleCall(t, function, e))
		if result := exampleText(e.Output); result != "" {
			out = append(out, "// "+result)
		}
	}
	return out
}

// exampleCall writes the call that an example makes.
func exampleCall(t *catalog.Tool, function string, e catalog.Example) string {
	input := exampleText(e.Input)
	if function == "" {
		if input != "" {
			input = ", " + input
		}
		return "await tools.call(" + harmless(quote(t.ID())) + input + ")"
	}
	return "await tools." + harmless(function) + "(" + input + ")"
}

// exampleText writes a value of an example in one line; "" without one.
func exampleText(value json.RawMessage) string {
	const most = 1000
	n := jsonschema.Parse(value).Root()
	if n == nil {
		return ""
	}
	return text.Shorten(harmless(compact(n, most)), most)
}

// Named is a tool with the path of its file.
type Named struct {
	Tool *catalog.Tool
	// Function is its name on the global tools, "" if it is called by its id.
	Function string
	Path     string
}

// maxIndex is about how many bytes of tools an index lists.
const maxIndex = 128 << 10

// Index returns the file that says which tools there are and where each is
// declared. It declares nothing itself.
func Index(tools []Named) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "// %d tools. Read the declaration of one with await API.read(path); find them by words with tools.search(query).\n", len(tools))
	for i, n := range tools {
		if b.Len() > maxIndex {
			fmt.Fprintf(&b, "// and %d more: see await API.list(\"tools\")\n", len(tools)-i)
			break
		}
		name := "tools." + n.Function
		if n.Function == "" {
			name = "tools.call(" + quote(n.Tool.ID()) + ", …)"
		}
		fmt.Fprintf(&b, "// %s  %s  %s\n", harmless(n.Path), harmless(name), Summary(n.Tool))
	}
	return []byte(b.String())
}

// Summary says in one short line what a tool is for.
func Summary(t *catalog.Tool) string {
	const most = 120
	about := t.Description
	if strings.TrimSpace(about) == "" {
		about = t.Label
	}
	first, _, _ := strings.Cut(strings.TrimSpace(about), "\n")
	return text.Shorten(harmless(first), most)
}
