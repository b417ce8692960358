package view

import (
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/text"
)

// maxReturned bounds what a hint says of the result of one tool, in bytes.
const maxReturned = 200

// listMethods are methods of lists that programs call of an object with a list in it.
var listMethods = []string{"at", "every", "filter", "find", "findIndex", "flatMap", "forEach", "includes", "join", "map", "reduce", "slice", "some", "sort"}

// keysOrAwait is how a program finds out what a value of its own is.
const keysOrAwait = "Object.keys(value) lists the fields of a value. A call without await is a Promise, which has no field of the result."

// hintOwnField explains a field that a value of the program's own does not have: most often
// the value is a result, and the program has guessed its fields or has not awaited it.
func (h Hints) hintOwnField(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return written(path) + " is undefined. " + h.returned() + keysOrAwait
}

// hintListMethod explains a method of lists that was called of something else.
func (h Hints) hintListMethod(name string) string {
	if !slices.Contains(listMethods, name) {
		return ""
	}
	return name + " is a method of lists, and this value is no list. " + h.returned() + keysOrAwait
}

// returned says what the tools that the run has used return, if they declare it.
func (h Hints) returned() string {
	var all []string
	for _, t := range h.Used() {
		shape := strings.Join(strings.Fields(catalog.Shape(t.Output)), " ")
		if len(t.Output) == 0 || shape == "unknown" || len(all) == nearest {
			continue
		}
		call := h.View.Catalog.Call(t)
		if t.Source == catalog.SourceMCP {
			call = h.View.MCPPath(t)
		}
		all = append(all, call+" returns "+text.Shorten(shape, maxReturned)+". ")
	}
	return strings.Join(all, "")
}
