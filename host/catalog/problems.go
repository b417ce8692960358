package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	schematree "github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// maxProblems is how many things wrong with an input one message lists.
const maxProblems = 5

// badInput makes the error of an input that does not fit: what is wrong, and
// what would fit.
func (t *Tool) badInput(wrong []string, cause error) *Error {
	return &Error{Code: InvalidInput, ToolID: t.ID(), Err: cause,
		Message: fmt.Sprintf("Invalid input for tool %s: %s. Expected: %s", shown(t.ID()), listed(wrong), Shape(t.Parameters))}
}

// badOutput is badInput for a result.
func (t *Tool) badOutput(wrong []string, cause error) *Error {
	return &Error{Code: InvalidOutput, ToolID: t.ID(), Err: cause,
		Message: fmt.Sprintf("The result of tool %s is not what it declares: %s. Declared: %s", shown(t.ID()), listed(wrong), Shape(t.Output))}
}

// listed joins up to maxProblems problems, and says how many more there are. A
// model that is told everything at once repairs less than one that is told the
// first few.
func listed(wrong []string) string {
	list := strings.Join(wrong[:min(len(wrong), maxProblems)], "; ")
	if more := len(wrong) - maxProblems; more > 0 {
		list += fmt.Sprintf("; and %d more", more)
	}
	return list
}

// problem is one thing wrong with an input.
type problem struct {
	at   []string
	text string
}

// problems returns what is wrong, in order of place. Known are the names of
// the top level's properties, to be offered in place of misspelt ones.
func problems(e *jsonschema.ValidationError, known []string) []string {
	found := gather(e, known)
	slices.SortStableFunc(found, func(a, b problem) int {
		return cmp.Or(slices.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	texts := make([]string, len(found))
	for i, p := range found {
		texts[i] = p.text
		if len(p.at) > 0 {
			texts[i] = writtenPlace(p.at) + ": " + p.text
		}
	}
	return slices.Compact(texts)
}

// gather collects the ends of the tree of causes.
//
// Only the ends count: a parent merely says that something below it failed.
func gather(e *jsonschema.ValidationError, known []string) []problem {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return nearestBranch(e, known)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return []problem{{e.InstanceLocation, "fits more than one of the allowed forms; leave out what tells them apart"}}
		}
		return nearestBranch(e, known)
	}
	if len(e.Causes) == 0 {
		if len(e.InstanceLocation) > 0 {
			known = nil
		}
		return []problem{{e.InstanceLocation, explain(e.ErrorKind, known)}}
	}
	var found []problem
	for _, cause := range e.Causes {
		found = append(found, gather(cause, known)...)
	}
	return found
}

// nearestBranch explains why no alternative fits. If only the type is wrong, it
// names the types they want. Otherwise it takes the alternative that got furthest
// into the value, or the only one that wants its type.
func nearestBranch(e *jsonschema.ValidationError, known []string) []problem {
	var types kind.Type
	var nearest, ofType []problem
	deepest, typed := len(e.InstanceLocation), 0
	for _, branch := range e.Causes {
		found := gather(branch, known)
		if k := typeOnly(branch); k != nil && len(branch.InstanceLocation) == len(e.InstanceLocation) {
			types.Got, types.Want = k.Got, append(types.Want, k.Want...)
		} else {
			ofType = found
			typed++
		}
		for _, p := range found {
			if len(p.at) > deepest {
				deepest, nearest = len(p.at), found
			}
		}
	}
	switch {
	case typed == 0 && len(types.Want) > 0:
		return []problem{{e.InstanceLocation, explain(&types, nil)}}
	case nearest != nil:
		return nearest
	case typed == 1:
		return ofType
	}
	return []problem{{e.InstanceLocation, fmt.Sprintf("fits none of the %d allowed forms", len(e.Causes))}}
}

// typeOnly returns the type error that is all that is wrong with a branch.
func typeOnly(e *jsonschema.ValidationError) *kind.Type {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	k, _ := e.ErrorKind.(*kind.Type)
	return k
}

// explain puts one failed rule into words a model can act on.
//
// The words are ours rather than the validator's where a model needs to know what
// to do. Kinds that are rare keep the validator's words, shortened.
func explain(k jsonschema.ErrorKind, known []string) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing " + quotedList(k.Missing)
	case *kind.AdditionalProperties:
		return "unknown " + unknownProperties(k.Properties, known)
	case *kind.Type:
		want := slices.Compact(slices.Sorted(slices.Values(k.Want)))
		return fmt.Sprintf("is %s but must be %s", k.Got, strings.Join(want, " or "))
	case *kind.Enum:
		const most = 12
		want := make([]string, 0, most)
		for _, v := range k.Want[:min(len(k.Want), most)] {
			want = append(want, literal(v))
		}
		if len(k.Want) > most {
			want = append(want, "…")
		}
		return fmt.Sprintf("is %s but must be one of %s", literal(k.Got), strings.Join(want, ", "))
	case *kind.Const:
		return fmt.Sprintf("is %s but must be %s", literal(k.Got), literal(k.Want))
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Not:
		return "has a form that is not allowed"
	}
	const most = 200
	return text.Shorten(k.LocalizedString(message.NewPrinter(language.English)), most)
}

// unknownProperties names properties, each with the one that may have been meant.
func unknownProperties(names, known []string) string {
	names = slices.Sorted(slices.Values(names))
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
		if name == "signal" { // what programs give most often to the wrong place
			list[i] += " (a signal is given after the input, as in f(input, {signal}))"
			continue
		}
		best := -1
		for _, k := range known {
			if d, ok := text.Distance(strings.ToLower(text.Shorten(name, text.MaxCompared)), strings.ToLower(k)); ok && (best < 0 || d < best) && d < len(k) {
				best = d
				list[i] = quoted(name) + " (did you mean " + quoted(k) + "?)"
			}
		}
	}
	return strings.Join(list[:min(len(list), maxProblems)], ", ")
}

// quotedList writes names in order, quoted and shortened.
func quotedList(names []string) string {
	names = slices.Sorted(slices.Values(names))
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, ", ")
}

// literal writes a JSON value, shortened.
func literal(v any) string {
	const most = 60
	data, err := json.Marshal(v)
	if err != nil {
		return "?" // values come out of JSON
	}
	return text.Shorten(string(data), most)
}

// writtenPlace writes a place in an input as JavaScript would.
func writtenPlace(at []string) string {
	var b strings.Builder
	for _, segment := range at {
		switch _, err := strconv.Atoi(segment); {
		case err == nil:
			b.WriteString("[" + text.Shorten(segment, text.MaxCompared) + "]")
		case isSafe(segment):
			b.WriteString("." + text.Shorten(segment, text.MaxCompared))
		default:
			b.WriteString("[" + quoted(segment) + "]")
		}
	}
	return strings.TrimPrefix(text.Shorten(b.String(), 2*text.MaxCompared), ".")
}

// propertyNames returns the properties a schema names at its top, sorted.
func propertyNames(schema json.RawMessage) []string {
	var names []string
	for _, p := range schematree.Parse(schema).Root().Get("properties").Fields() {
		names = append(names, p.Key)
	}
	slices.Sort(names)
	return names
}
