package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// QuickIndexBytes is the most bytes, and so characters, a QuickIndex has.
const QuickIndexBytes = 8000

// Bounds of one line of a quick index.
const (
	maxQuickText    = 120 // of a description
	maxQuickInput   = 200 // of an input's shape
	maxQuickOutput  = 160 // of an output's shape
	maxQuickExample = 120 // of an input that works
)

// QuickIndex lists the tools a guest sees, one line each, for a model that is to
// call them without having searched: the expression that calls the tool and, if there is room,
// what it does, what it takes, what it returns and an example of its input.
//
//	tools.issues_list({ state?: "open"|"closed" }) => { id: integer, title: string }[]  Lists issues. E.g. {"state":"open"}
//
// It is at most QuickIndexBytes long. Room goes first to the names of all tools,
// then to descriptions, inputs, outputs and examples, each time in catalog order. The last
// line counts the tools with names that do not fit. Equal catalogs have equal indexes. It is
// empty if a guest sees no tool.
func (c *Catalog) QuickIndex() string { return c.quick() }

// quickLine is one tool's line.
type quickLine struct {
	tool                  *Tool
	call                  string // what stands before the input
	input, output, itself string
	example               string
}

// String writes the line as it stands in the index.
func (l *quickLine) String() string {
	s := l.call + "(" + l.input + ")"
	if strings.HasPrefix(l.call, "tools.call") {
		s = l.call + ", " + l.input + ")"
	}
	if l.output != "" {
		s += " => " + l.output
	}
	if l.itself != "" {
		s += "  " + l.itself
	}
	if l.example != "" {
		s += "  E.g. " + l.example
	}
	return s
}

// makeQuickIndex writes all names first and then enriches line by line. A tool cannot be
// called if its name is missing, but it can be called without its description.
func (c *Catalog) makeQuickIndex() string {
	room := QuickIndexBytes - len(quickRest(len(c.guest)))
	lines := make([]quickLine, 0, min(len(c.guest), QuickIndexBytes/8))
	names := c.safe().ids
	for _, t := range c.guest {
		l := quickLine{tool: t, call: quickCall(t, names), input: "{…}"}
		if n := len(l.String()) + 1; n <= room {
			room -= n
			lines = append(lines, l)
		}
	}
	for _, detail := range []func(*quickLine){describeLine, inputLine, outputLine, exampleLine} {
		room = enrich(lines, room, detail)
	}
	var b strings.Builder
	for i := range lines {
		b.WriteString(lines[i].String())
		b.WriteByte('\n')
	}
	if left := len(c.guest) - len(lines); left > 0 {
		b.WriteString(quickRest(left))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quickRest is the last line, for the tools that did not fit.
func quickRest(n int) string {
	return fmt.Sprintf("and %d more: find them with tools.search(query)", n)
}

// quickCall is the expression that calls a tool, up to its input.
func quickCall(t *Tool, names map[string]string) string {
	if name := SafeName(t.Name); names[name] == t.ID() {
		return "tools." + name
	}
	return "tools.call(" + string(compactJSON(t.ID()))
}

// Call is the expression that a program calls a tool by, up to its input: the
// function on the global tools, or tools.call with the id where it has no function.
func (c *Catalog) Call(t *Tool) string { return quickCall(t, c.safe().ids) }

// Overview lists the tools a guest sees in at most room bytes, for a catalog with too many
// tools to say of each what it does: the owners, with how many tools each has and the names of
// some, which are functions of tools. Where owners are very many, it has their names and
// numbers alone.
//
//   - issues (12): issues_list, issues_get, …
//
// Equal catalogs have equal overviews. It is empty if a guest sees no tool.
func (c *Catalog) Overview(room int) string {
	return text.Groups(c.byOwner(), room, func(n int) string { return fmt.Sprintf("and %d more owners", n) })
}

// byOwner has the functions a guest sees by owner, in catalog order.
func (c *Catalog) byOwner() (groups []text.Group) {
	at := map[string]int{}
	ids := c.safe().ids
	for _, t := range c.guest {
		key := string(t.Source) + ":" + t.Owner
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, text.Group{Name: t.Owner})
		}
		groups[i].Count++
		if name := SafeName(t.Name); ids[name] == t.ID() {
			groups[i].Parts = append(groups[i].Parts, name)
		}
	}
	return groups
}

// enrich adds a detail to each line for which there is room, and returns what
// room is left.
func enrich(lines []quickLine, room int, detail func(*quickLine)) int {
	for i := range lines {
		better := lines[i]
		detail(&better)
		if more := len(better.String()) - len(lines[i].String()); more <= room {
			room -= more
			lines[i] = better
		}
	}
	return room
}

// describeLine adds the first sentence of the description.
func describeLine(l *quickLine) { l.itself = firstSentence(l.tool.Description) }

// inputLine adds the shape of the input, unless it is too long to be of use in a
// line.
func inputLine(l *quickLine) {
	if s := Shape(l.tool.Parameters); len(s) <= maxQuickInput && s != "unknown" {
		l.input = oneLine(s)
	}
}

// outputLine adds the shape of the result, if the tool declares one.
func outputLine(l *quickLine) {
	if len(l.tool.Output) == 0 || !json.Valid(l.tool.Output) {
		return
	}
	if s := Shape(l.tool.Output); len(s) <= maxQuickOutput && s != "unknown" && s != "{}" {
		l.output = oneLine(s)
	}
}

// exampleLine adds the input of the first example that fits into a line and says something.
func exampleLine(l *quickLine) {
	for _, e := range l.tool.Examples {
		var b bytes.Buffer
		if err := json.Compact(&b, e.Input); err == nil && b.Len() > len("{}") && b.Len() <= maxQuickExample {
			l.example = strings.ToValidUTF8(b.String(), "")
			return
		}
	}
}

// firstSentence returns the first sentence of a text in one line, bounded.
func firstSentence(s string) string {
	s = oneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return text.Shorten(s, maxQuickText)
}

// oneLine replaces all white space by single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ") }
