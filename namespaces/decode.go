package namespaces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Decode reads a tagged tree, which comes from another process and is taken
// for hostile: work and memory are bounded by the limits and by the length of
// data, no nesting can exhaust the stack, and everything that is not exactly
// such a tree is refused, duplicate keys and unknown fields included. A plain
// value may be a whole object or array; it becomes nodes under the same rules
// for keys, so that no shape of input escapes them. Data may be up to eight
// times as long as Limits.Bytes, to leave room for spaces and escapes.
func Decode(data []byte, l Limits) (*Scope, error) {
	b := newBuilder(l)
	if len(data)/8 > b.limits.Bytes {
		return nil, b.charge(nil, len(data))
	}
	if !utf8.Valid(data) {
		return nil, malformed(nil, "the encoded scope is not valid UTF-8", nil)
	}
	if !json.Valid(data) {
		return nil, malformed(nil, "the encoded scope is not valid JSON", nil)
	}
	d := decoder{builder: b, json: json.NewDecoder(bytes.NewReader(data))}
	d.json.UseNumber()
	root, err := d.node(nil, 1)
	if err == nil {
		err = d.checkClasses()
	}
	if err != nil {
		return nil, err
	}
	if root.kind != objectNode {
		return nil, &Error{Code: ScopeNotObject, Message: "the root of an encoded scope must be an object"}
	}
	return newScope(root), nil
}

// UnmarshalJSON reads a tagged tree under the default limits, see Decode. On
// an error the scope is unchanged.
func (s *Scope) UnmarshalJSON(data []byte) error {
	decoded, err := Decode(data, Limits{})
	if err != nil {
		return err
	}
	*s = *decoded
	return nil
}

// decoder reads a tagged tree token by token. Its recursion ends at
// Limits.Depth.
type decoder struct {
	*builder
	json  *json.Decoder
	named map[string]*Class // by name; without methods until they are read
}

// The fields of a tagged node, as bits to tell which were there.
const (
	hasKind = 1 << iota
	hasEntries
	hasItems
	hasValue
	hasTool
	hasMapping
	hasTemplate
	hasReturns
	hasReturnsIn
	hasClasses
)

// nodeFields are the bits of the field names, kindFields the bits of each kind:
// all it must have, and all it may have.
var (
	nodeFields = map[string]int{"kind": hasKind, "entries": hasEntries, "items": hasItems,
		"value": hasValue, "tool": hasTool, "mapping": hasMapping, "template": hasTemplate, "returns": hasReturns, "returnsIn": hasReturnsIn,
		"classes": hasClasses}
	kindFields = map[string]struct{ must, may int }{
		"object": {hasKind | hasEntries, hasKind | hasEntries},
		"array":  {hasKind | hasItems, hasKind | hasItems},
		"value":  {hasKind | hasValue, hasKind | hasValue},
		"call":   {hasKind | hasTool, hasKind | hasTool | hasMapping | hasTemplate | hasReturns | hasReturnsIn},
		"root":   {hasKind | hasEntries, hasKind | hasEntries | hasClasses},
	}
)

// node reads one tagged node.
func (d *decoder) node(at *trail, level int) (*node, error) {
	if err := d.delim('{', at); err != nil {
		return nil, err
	}
	var (
		n    *node
		kind string
		call Call
		seen int
	)
	for d.json.More() {
		field, err := d.string(at)
		if err != nil {
			return nil, err
		}
		bit := nodeFields[field]
		if bit == 0 {
			return nil, malformed(at, fmt.Sprintf("a node has no field %s", quoteName(field)), nil)
		}
		if seen&bit != 0 {
			return nil, &Error{Code: DuplicateKey, Path: at.String(), Message: "field " + quoteName(field) + " occurs twice at " + at.where()}
		}
		if seen |= bit; seen&(hasEntries|hasItems|hasValue|hasTool)&^bit != 0 && bit&(hasEntries|hasItems|hasValue|hasTool) != 0 {
			return nil, malformed(at, "a node has one content, not two", nil)
		}
		switch bit {
		case hasKind:
			kind, err = d.string(at)
		case hasEntries:
			n, err = d.object(at, level, d.node)
		case hasItems:
			n, err = d.array(at, level, d.node)
		case hasValue:
			n, err = d.plain(at, level)
		case hasTool:
			call.Tool, err = d.string(at)
		case hasMapping:
			call.Mapping, err = d.mapping(at)
		case hasTemplate:
			call.Template, err = d.bool(at)
		case hasReturns:
			call.Returns, err = d.returns(at)
		case hasReturnsIn:
			call.ReturnsIn, err = d.string(at)
		case hasClasses:
			err = d.readClasses(at)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := d.delim('}', at); err != nil {
		return nil, err
	}
	wanted := kind
	if at == nil && kind == "object" {
		wanted = "root"
	}
	want, known := kindFields[wanted]
	known = known && kind != "root"
	if !known || seen&want.must != want.must || seen&^want.may != 0 {
		return nil, malformed(at, fmt.Sprintf("kind %s does not have these fields", quoteName(kind)), nil)
	}
	if kind == "call" {
		return d.call(call, at, level)
	}
	return n, nil
}

// object reads an object and its values by value.
func (d *decoder) object(at *trail, level int, value func(*trail, int) (*node, error)) (*node, error) {
	if err := d.delim('{', at); err != nil {
		return nil, err
	}
	return d.objectBody(at, level, value)
}

// objectBody reads an object after its opening brace.
func (d *decoder) objectBody(at *trail, level int, value func(*trail, int) (*node, error)) (*node, error) {
	n, err := d.builder.object(at, level)
	if err != nil {
		return nil, err
	}
	for d.json.More() {
		key, err := d.string(at)
		if err != nil {
			return nil, err
		}
		if err := d.key(n, key, at); err != nil {
			return nil, err
		}
		child, err := value(at.child(key), level+1)
		if err != nil {
			return nil, err
		}
		n.entry(key, child)
	}
	if err := d.delim('}', at); err != nil {
		return nil, err
	}
	return n, n.seal(at)
}

// array reads an array and its items by value.
func (d *decoder) array(at *trail, level int, value func(*trail, int) (*node, error)) (*node, error) {
	if err := d.delim('[', at); err != nil {
		return nil, err
	}
	return d.arrayBody(at, level, value)
}

// arrayBody reads an array after its opening bracket.
func (d *decoder) arrayBody(at *trail, level int, value func(*trail, int) (*node, error)) (*node, error) {
	n, err := d.builder.array(at, level)
	if err != nil {
		return nil, err
	}
	for i := 0; d.json.More(); i++ {
		child, err := value(at.item(i), level+1)
		if err != nil {
			return nil, err
		}
		if err := d.item(n, child, at); err != nil {
			return nil, err
		}
	}
	return n, d.delim(']', at)
}

// plain reads ordinary JSON into nodes.
func (d *decoder) plain(at *trail, level int) (*node, error) {
	token, err := d.token(at)
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return d.objectBody(at, level, d.plain)
		}
		return d.arrayBody(at, level, d.plain)
	case string:
		return d.text(t, at, level)
	case json.Number:
		return d.scalar(number(t.String()), at, level)
	case bool:
		if t {
			return d.scalar([]byte("true"), at, level)
		}
		return d.scalar([]byte("false"), at, level)
	}
	return d.scalar([]byte("null"), at, level)
}

// mapping reads a mapping. It is validated when its call is built.
func (d *decoder) mapping(at *trail) (m Mapping, err error) {
	seen := map[string]bool{}
	err = d.fields(at, func(field string) error {
		if seen[field] {
			return &Error{Code: DuplicateKey, Path: at.String(), Message: "mapping field " + quoteName(field) + " occurs twice at " + at.where()}
		}
		seen[field] = true
		var err error
		switch field {
		case "kind":
			var kind string
			if kind, err = d.string(at); err == nil {
				err = m.Kind.UnmarshalText([]byte(kind))
			}
		case "positional":
			m.Positional, err = d.strings(at)
		case "rest":
			m.Rest, err = d.string(at)
		case "options":
			m.Options, err = d.bool(at)
		case "optionNames":
			m.OptionNames, err = d.strings(at)
		case "mapper":
			m.Mapper, err = d.string(at)
		case "fixed":
			m.Fixed, err = d.fixed(at)
		default:
			err = malformed(at, "a mapping has no field "+quoteName(field), nil)
		}
		return err
	})
	return m, err
}

// fixed reads the fixed values of a mapping. They are held to the rules of
// plain data, though they never enter the guest.
func (d *decoder) fixed(at *trail) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	err := d.fields(at, func(name string) error {
		if _, twice := values[name]; twice {
			return &Error{Code: DuplicateKey, Path: at.String(), Message: "fixed field " + quoteName(name) + " occurs twice at " + at.where()}
		}
		if len(values) == maxFields {
			return badMapping("the mapping has more than %d fixed fields", maxFields)
		}
		var value json.RawMessage
		if err := d.json.Decode(&value); err != nil {
			return malformed(at, "a fixed field cannot be read", err)
		}
		values[name] = value
		inner := decoder{builder: newBuilder(d.limits), json: json.NewDecoder(bytes.NewReader(value))}
		inner.json.UseNumber()
		_, err := inner.plain(at, 1)
		return err
	})
	return values, err
}

// fields reads an object and gives each key to read, which must read its value.
func (d *decoder) fields(at *trail, read func(key string) error) error {
	if err := d.delim('{', at); err != nil {
		return err
	}
	for d.json.More() {
		key, err := d.string(at)
		if err != nil {
			return err
		}
		if err := read(key); err != nil {
			return err
		}
	}
	return d.delim('}', at)
}

// strings reads an array of strings.
func (d *decoder) strings(at *trail) ([]string, error) {
	if err := d.delim('[', at); err != nil {
		return nil, err
	}
	var list []string
	for d.json.More() {
		s, err := d.string(at)
		if err != nil {
			return nil, err
		}
		if list = append(list, s); len(list) > maxFields {
			return nil, badMapping("the mapping has more than %d fields in a list", maxFields)
		}
	}
	return list, d.delim(']', at)
}

func (d *decoder) token(at *trail) (json.Token, error) {
	token, err := d.json.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, malformed(at, "the encoded scope cannot be read", err)
	}
	return token, nil
}

func (d *decoder) string(at *trail) (string, error) {
	token, err := d.token(at)
	if err != nil {
		return "", err
	}
	s, ok := token.(string)
	if !ok {
		return "", malformed(at, "expected a string, found "+quoteName(fmt.Sprint(token)), nil)
	}
	return s, nil
}

func (d *decoder) bool(at *trail) (bool, error) {
	token, err := d.token(at)
	if err != nil {
		return false, err
	}
	b, ok := token.(bool)
	if !ok {
		return false, malformed(at, "expected true or false, found "+quoteName(fmt.Sprint(token)), nil)
	}
	return b, nil
}

func (d *decoder) delim(want json.Delim, at *trail) error {
	token, err := d.token(at)
	if err != nil {
		return err
	}
	if token != want {
		return malformed(at, fmt.Sprintf("expected %q", want.String()), nil)
	}
	return nil
}

// malformed makes the error of bytes that are no encoded scope.
func malformed(at *trail, message string, cause error) *Error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &Error{Code: MalformedScope, Path: at.String(), Message: "at " + at.where() + ": " + message, Err: cause}
}
