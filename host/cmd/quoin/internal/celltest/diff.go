package celltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

const (
	anything       = "…" // as a value, or as a member's name
	maxDifferences = 20
	maxShown       = 200 // bytes of one value
)

// differences are the places where got is not what is wanted, with both values.
func differences(want, got any) []string {
	var d differ
	d.compare("", want, got)
	if more := d.count - len(d.list); more > 0 {
		d.list = append(d.list, fmt.Sprintf("and %d more", more))
	}
	return d.list
}

type differ struct {
	list  []string
	count int
}

func (d *differ) note(path, want, got string) {
	if d.count++; len(d.list) < maxDifferences {
		if path != "" {
			path += ": "
		}
		d.list = append(d.list, fmt.Sprintf("%swant %s, got %s", path, want, got))
	}
}

func (d *differ) compare(path string, want, got any) {
	if want == anything {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.objects(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			d.lists(path, w, g)
			return
		}
	}
	if !same(want, got) {
		d.note(path, shown(want), shown(got))
	}
}

func (d *differ) objects(path string, want, got map[string]any) {
	_, open := want[anything]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if name == anything {
			continue
		}
		if g, ok := got[name]; ok {
			d.compare(path+member(name), want[name], g)
		} else {
			d.note(path+member(name), shown(want[name]), "nothing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[name]; !known && !open {
			d.note(path+member(name), "nothing", shown(got[name]))
		}
	}
}

func (d *differ) lists(path string, want, got []any) {
	for i := range max(len(want), len(got)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= len(got):
			d.note(at, shown(want[i]), "nothing")
		case i >= len(want):
			d.note(at, "nothing", shown(got[i]))
		default:
			d.compare(at, want[i], got[i])
		}
	}
}

// same compares values that are not both objects or both lists. Numbers are equal
// by value, to the last digit.
func same(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	switch {
	case ok1 && ok2 && x != y:
		// An exponent could ask for any amount of memory.
		if len(x) > 64 || len(y) > 64 || strings.ContainsAny(string(x+y), "eE") {
			f, err1 := x.Float64()
			g, err2 := y.Float64()
			return err1 == nil && err2 == nil && f == g
		}
		p, ok1 := new(big.Rat).SetString(string(x))
		q, ok2 := new(big.Rat).SetString(string(y))
		return ok1 && ok2 && p.Cmp(q) == 0
	case scalar(a) && scalar(b):
		return a == b
	}
	return false
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// member is how a member is reached in a program.
func member(name string) string {
	if namespaces.IsIdentifier(name) {
		return "." + name
	}
	return "[" + encode(name) + "]"
}

func encode(v any) string {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// shown is a value as JSON, bounded.
func shown(v any) string { return text.Shorten(encode(v), maxShown) }
