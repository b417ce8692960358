package namespaces

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// field is one struct field as JSON sees it.
type field struct {
	name      string
	index     []int
	tagged    bool
	omitEmpty bool
	omitZero  bool
	quoted    bool
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf returns the fields of a struct that JSON sees, by encoding/json's
// rules: exported, renamed by tags, the fields of embedded structs promoted,
// the shallower and then the tagged one winning, and equals hiding each other.
func fieldsOf(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	fields := collectFields(t)
	cached, _ := fieldCache.LoadOrStore(t, fields)
	return cached.([]field)
}

// embedding is an embedded struct with fields still to be looked at.
type embedding struct {
	t     reflect.Type
	index []int
}

// collectFields walks the embedded structs level by level.
func collectFields(t reflect.Type) []field {
	var fields []field
	settled := map[string]bool{}
	visited := map[reflect.Type]bool{}
	for level := []embedding{{t: t}}; len(level) > 0; {
		var next []embedding
		found := map[string][]field{}
		var names []string
		for _, e := range level {
			for _, f := range e.ownFields(&next) {
				if found[f.name] == nil {
					names = append(names, f.name)
				}
				found[f.name] = append(found[f.name], f)
			}
		}
		for _, name := range names {
			if f, ok := dominant(found[name]); ok && !settled[name] {
				fields = append(fields, f)
			}
			settled[name] = true
		}
		for _, e := range level {
			visited[e.t] = true
		}
		level = slices.DeleteFunc(next, func(e embedding) bool { return visited[e.t] })
	}
	return fields
}

// ownFields returns the fields of one struct and adds its embedded structs to next.
func (e embedding) ownFields(next *[]embedding) []field {
	var fields []field
	for i := range e.t.NumField() {
		sf := e.t.Field(i)
		elem := sf.Type
		if elem.Kind() == reflect.Pointer && elem.Name() == "" {
			elem = elem.Elem()
		}
		promotes := sf.Anonymous && elem.Kind() == reflect.Struct
		tag := sf.Tag.Get("json")
		if tag == "-" || !sf.IsExported() && !promotes {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		index := append(slices.Clone(e.index), i)
		if promotes && name == "" {
			*next = append(*next, embedding{elem, index})
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, index: index, tagged: name != ""}
		if name == "" {
			f.name = sf.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			f.omitEmpty = f.omitEmpty || option == "omitempty"
			f.omitZero = f.omitZero || option == "omitzero"
			f.quoted = f.quoted || option == "string" && quotable(elem)
		}
		fields = append(fields, f)
	}
	return fields
}

// dominant returns the field that wins among the fields of one name and level.
func dominant(fields []field) (field, bool) {
	if len(fields) == 1 {
		return fields[0], true
	}
	tagged := slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return !f.tagged })
	if len(tagged) == 1 {
		return tagged[0], true
	}
	return field{}, false
}

// in returns the field's value in a struct, and false if it is left out.
func (f *field) in(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if f.omitEmpty && isEmpty(v) || f.omitZero && isZero(v) {
		return v, false
	}
	return v, true
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Complex64, reflect.Complex128, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return false
	}
	return v.IsZero()
}

// isZero is what omitzero leaves out.
func isZero(v reflect.Value) bool {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Interface && v.IsNil() {
		return true
	}
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

// quotable reports whether the string option applies to a type.
func quotable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return false
}

// quotedValue returns the string that the string option makes of a scalar.
func quotedValue(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v
		}
		v = v.Elem()
	}
	var text string
	switch {
	case v.CanInt():
		text = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		text = strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		text = string(floatJSON(v))
	case v.Kind() == reflect.Bool:
		text = strconv.FormatBool(v.Bool())
	default:
		text = string(appendString(nil, v.String()))
	}
	return reflect.ValueOf(text)
}

// mapEntry is one entry of a map under its text form.
type mapEntry struct {
	key   string
	value reflect.Value
}

// mapEntries returns the entries of a map in order of their keys.
func (s *serializer) mapEntries(v reflect.Value, at *trail) ([]mapEntry, error) {
	if v.Len() > s.limits.Nodes {
		return nil, s.tooMany(at)
	}
	entries := make([]mapEntry, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		key, err := keyText(iter.Key(), at)
		if err != nil {
			return nil, err
		}
		entries = append(entries, mapEntry{key, iter.Value()})
	}
	slices.SortFunc(entries, func(a, b mapEntry) int { return strings.Compare(a.key, b.key) })
	return entries, nil
}

// keyText returns the text form of a map key: strings, text marshalers,
// integers, and booleans, also inside an interface.
func keyText(k reflect.Value, at *trail) (string, error) {
	if k.Kind() == reflect.Interface {
		k = k.Elem()
	}
	switch {
	case !k.IsValid():
	case k.Kind() == reflect.String:
		return k.String(), nil
	case k.Type().Implements(textMarshalerType) && !(k.Kind() == reflect.Pointer && k.IsNil()):
		return marshalText(k, at)
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	case k.Kind() == reflect.Bool:
		return strconv.FormatBool(k.Bool()), nil
	}
	name := "nil"
	if k.IsValid() {
		name = k.Type().String()
	}
	return "", &Error{Code: UnsupportedKey, Path: at.String(), Message: fmt.Sprintf(
		"the map at %s has a key of type %s; use strings, integers or text marshalers", at.where(), name)}
}

var _ encoding.TextMarshaler = MapDefault
