package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/namespaces"
)

// MapFunc turns the arguments of a namespace call into the input of its tool.
// The result may be any value with the JSON form the tool expects.
type MapFunc func(ctx context.Context, rc RunContext, args []json.RawMessage) (any, error)

// VerbRef is a callable place in a scope. Its methods return the same VerbRef.
type VerbRef struct {
	tool       *ToolRef
	positional []string
	rest       string
	options    bool
	optionList []string
	fixed      map[string]any
	mapper     MapFunc
	template   bool
	returns    *Class
	returnsIn  string
}

// Verb makes a place in a scope callable: a call there becomes a call of t.
// By default the first argument is the input. A call without arguments passes {}.
func Verb(t *ToolRef) *VerbRef { return &VerbRef{tool: t} }

// Positional gives the arguments names: the first argument becomes the input's
// field names[0], and so on. Arguments that are not given leave no field.
func (v *VerbRef) Positional(names ...string) *VerbRef {
	v.positional = append(v.positional, names...)
	return v
}

// Rest collects the arguments after the positional ones in an array under name.
func (v *VerbRef) Rest(name string) *VerbRef {
	v.rest = name
	return v
}

// Options lets one more argument follow the positional ones: an object with
// other fields of the input, as in run("make", {workdir: "/src"}). With names it may have
// these alone. It excludes Rest.
func (v *VerbRef) Options(names ...string) *VerbRef {
	v.options, v.optionList = true, append(v.optionList, names...)
	return v
}

// Returns gives the results of the verb the methods of c.
func (v *VerbRef) Returns(c *Class) *VerbRef {
	v.returns = c
	return v
}

// ReturnsIn gives methods to what stands in a field of the results: an object, or the items
// of a list, as in {items: […], more: true}.
func (v *VerbRef) ReturnsIn(field string, c *Class) *VerbRef {
	v.returns, v.returnsIn = c, field
	return v
}

// Fixed sets a field of the input to a value the caller cannot change.
func (v *VerbRef) Fixed(name string, value any) *VerbRef {
	if v.fixed == nil {
		v.fixed = make(map[string]any)
	}
	v.fixed[name] = value
	return v
}

// Map has f turn the arguments into the input, in the plugin. It excludes
// Positional, Rest, Options and Fixed.
func (v *VerbRef) Map(f MapFunc) *VerbRef {
	v.mapper = f
	return v
}

// mapping is the verb's argument mapping as the host applies it. path is the
// place of the verb, by which a mapping function is found again.
func (v *VerbRef) mapping(path []string) (namespaces.Mapping, error) {
	if v.mapper != nil {
		if len(v.positional) > 0 || v.rest != "" || v.options || len(v.fixed) > 0 {
			return namespaces.Mapping{}, fmt.Errorf("Map excludes Positional, Rest, Options and Fixed, as Template does")
		}
		return namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: mapperName(path)}, nil
	}
	m := namespaces.Mapping{Positional: v.positional, Rest: v.rest, Options: v.options, OptionNames: v.optionList}
	if len(v.positional) > 0 || v.rest != "" || v.options {
		m.Kind = namespaces.MapPositional
	}
	for name, value := range v.fixed {
		b, err := json.Marshal(value)
		if err != nil {
			return m, fmt.Errorf("fixed field %q: %w", name, err)
		}
		if m.Fixed == nil {
			m.Fixed = make(map[string]json.RawMessage)
		}
		m.Fixed[name] = b
	}
	return m, m.Validate()
}

// mapperName names the mapping function at path. Keys may hold any character,
// so the name is JSON.
func mapperName(path []string) string {
	b, err := json.Marshal(path)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

// marked returns scope with every verb replaced by a call marker of the
// namespaces package. check is called for each verb with its place.
func marked(scope Scope, check func(path []string, v *VerbRef, m namespaces.Mapping) error) (any, error) {
	w := &scopeWalk{check: check}
	return w.value(reflect.ValueOf(scope), nil)
}

// scopeWalk replaces verbs in maps, slices and interfaces; other values are
// passed on as they are.
type scopeWalk struct {
	check   func(path []string, v *VerbRef, m namespaces.Mapping) error
	depth   int
	classes map[*Class]*namespaces.Class
}

// maxScopeDepth stops the walk on values that contain themselves. The
// serialiser's own limit is lower and gives the better message.
const maxScopeDepth = 1000

var verbType = reflect.TypeFor[*VerbRef]()

func (w *scopeWalk) value(v reflect.Value, path []string) (any, error) {
	if w.depth++; w.depth > maxScopeDepth {
		return nil, fmt.Errorf("%s: nested too deeply, or contains itself", placeName(path))
	}
	defer func() { w.depth-- }()
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, nil
	}
	if v.Type() == verbType {
		return w.verb(v.Interface().(*VerbRef), path)
	}
	switch {
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String && mayHoldVerbs(v.Type().Elem()):
		return w.object(v, path)
	case v.Kind() == reflect.Slice && mayHoldVerbs(v.Type().Elem()):
		return w.list(v, path)
	}
	return v.Interface(), nil
}

// mayHoldVerbs reports whether a value of type t can lead to a verb.
func mayHoldVerbs(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Map, reflect.Slice:
		return mayHoldVerbs(t.Elem())
	}
	return t == verbType
}

func (w *scopeWalk) object(v reflect.Value, path []string) (any, error) {
	out := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		key := it.Key().String()
		entry, err := w.value(it.Value(), append(slices.Clip(path), key))
		if err != nil {
			return nil, err
		}
		out[key] = entry
	}
	return out, nil
}

func (w *scopeWalk) list(v reflect.Value, path []string) (any, error) {
	out := make([]any, v.Len())
	for i := range out {
		item, err := w.value(v.Index(i), append(slices.Clip(path), strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		out[i] = item
	}
	return out, nil
}

func (w *scopeWalk) verb(v *VerbRef, path []string) (call namespaces.Call, err error) {
	if v == nil || v.tool == nil {
		return call, fmt.Errorf("%s: the verb has no tool", placeName(path))
	}
	m, err := v.mapping(path)
	if err != nil {
		return call, fmt.Errorf("%s: %w", placeName(path), err)
	}
	if err := w.check(path, v, m); err != nil {
		return call, fmt.Errorf("%s: %w", placeName(path), err)
	}
	class, err := w.class(v.returns)
	if err != nil {
		return call, err
	}
	return namespaces.Call{Tool: v.tool.name, Mapping: m, Template: v.template, Returns: class, ReturnsIn: v.returnsIn}, nil
}

// placeName is a path as a caller would write it.
func placeName(path []string) string {
	if len(path) == 0 {
		return "scope"
	}
	return strings.Join(path, ".")
}

// MarshalJSON fails: a verb can stand in a Scope, a map or a slice, but not in
// a struct or in data.
func (v *VerbRef) MarshalJSON() ([]byte, error) {
	return nil, errVerbInData
}

var errVerbInData = errors.New("sdk: a verb can only stand in a Scope, a map or a slice of a scope")
