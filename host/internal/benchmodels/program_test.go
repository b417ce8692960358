package benchmodels

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/namespaces"
)

// program writes calls as one cell: reads at once, writes one after the other, each
// written out with its input. A model would write loops, which are shorter.
type program struct {
	b       strings.Builder
	results []string // the variables, and the fields that an answer needs
	answers []string
}

// newProgram writes the calls of a task. Operations say which calls write.
func newProgram(t testing.TB, calls []call, operations map[string]operation) *program {
	t.Helper()
	p := &program{}
	firstWrite := slices.IndexFunc(calls, func(c call) bool { return operations[c.tool].writes })
	if firstWrite < 0 {
		firstWrite = len(calls)
	}
	p.reads(t, calls[:firstWrite], operations)
	for _, c := range calls[firstWrite:] {
		name := p.name(operations[c.tool])
		fmt.Fprintf(&p.b, "const %s = await %s;\n", name, expression(t, c))
	}
	return p
}

func (p *program) reads(t testing.TB, calls []call, operations map[string]operation) {
	t.Helper()
	if len(calls) == 0 {
		return
	}
	var names, list []string
	for _, c := range calls {
		names, list = append(names, p.name(operations[c.tool])), append(list, expression(t, c))
	}
	if len(calls) == 1 {
		fmt.Fprintf(&p.b, "const %s = await %s;\n", names[0], list[0])
		return
	}
	fmt.Fprintf(&p.b, "const [%s] = await Promise.all([\n%s]);\n", strings.Join(names, ", "), strings.Join(list, ",\n"))
}

// name is the next variable.
func (p *program) name(o operation) string {
	name := fmt.Sprintf("r%d", len(p.results)+1)
	p.results = append(p.results, name)
	p.answers = append(p.answers, name+"."+o.answer)
	return name
}

// everything returns all results, answer only what a user is told.
func (p *program) everything() string {
	return p.b.String() + "return [" + strings.Join(p.results, ", ") + "];"
}
func (p *program) answer() string {
	return p.b.String() + "return [" + strings.Join(p.answers, ", ") + "];"
}

// expression is a call as a program writes it.
func expression(t testing.TB, c call) string {
	return "tools." + c.tool + "(" + literal(t, c.input) + ")"
}

// literal writes a value as JavaScript, keys without quotes where they may be.
func literal(t testing.TB, value any) string {
	t.Helper()
	switch v := value.(type) {
	case document:
		var fields []string
		for _, k := range sortedKeys(v) {
			key := k
			if !namespaces.IsIdentifier(k) {
				key = literal(t, k)
			}
			fields = append(fields, key+": "+literal(t, v[k]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, literal(t, item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	text, err := jsontext.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
