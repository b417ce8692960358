package namespaces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MappingKind tells how the arguments of a guest's call become the input of
// the tool behind it. The zero value is MapDefault.
type MappingKind uint8

// The mapping kinds. The list is append-only.
const (
	// MapDefault passes the first argument on, or {} for a call without arguments.
	MapDefault MappingKind = iota
	// MapPositional gives each argument a field by its position.
	MapPositional
	// MapFunction asks the plugin, which knows the mapper by name.
	MapFunction
)

// mappingKinds are the kinds' names in an encoded scope.
var mappingKinds = [...]string{MapDefault: "default", MapPositional: "positional", MapFunction: "function"}

// String returns the kind's name in an encoded scope.
func (k MappingKind) String() string {
	if int(k) < len(mappingKinds) {
		return mappingKinds[k]
	}
	return fmt.Sprintf("MappingKind(%d)", uint8(k))
}

// MarshalText writes the kind's name.
func (k MappingKind) MarshalText() ([]byte, error) {
	if int(k) >= len(mappingKinds) {
		return nil, &Error{Code: InvalidMapping, Message: fmt.Sprintf("mapping kind %d is unknown", uint8(k))}
	}
	return []byte(mappingKinds[k]), nil
}

// UnmarshalText reads a kind's name. The empty name is MapDefault.
func (k *MappingKind) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*k = MapDefault
		return nil
	}
	for i, name := range mappingKinds {
		if name == string(text) {
			*k = MappingKind(i)
			return nil
		}
	}
	return &Error{Code: InvalidMapping, Message: fmt.Sprintf(
		"mapping kind %s is unknown; use \"default\", \"positional\" or \"function\"", quoteName(string(text)))}
}

// Mapping says how a guest's arguments become a tool's input. The zero value
// passes the first argument on.
type Mapping struct {
	// Kind selects which of the other fields count.
	Kind MappingKind `json:"kind"`
	// Positional names the field of each argument in turn (MapPositional).
	Positional []string `json:"positional,omitempty"`
	// Rest, if set, names the field that receives the arguments beyond
	// Positional as an array, which may be empty (MapPositional).
	Rest string `json:"rest,omitempty"`
	// Options lets one more argument follow Positional: an object with other
	// fields of the input (MapPositional without Rest).
	Options bool `json:"options,omitempty"`
	// OptionNames are the only fields that options may have; empty for any.
	OptionNames []string `json:"optionNames,omitempty"`
	// Fixed are fields with values the guest cannot choose: they replace what
	// it gave under the same name (MapDefault, MapPositional).
	Fixed map[string]json.RawMessage `json:"fixed,omitempty"`
	// Mapper is the plugin's name for the function to ask (MapFunction).
	Mapper string `json:"mapper,omitempty"`

	// method says that the first argument is the key of the object itself, so that
	// messages leave it out.
	method bool
}

// isZero reports whether the mapping says no more than its zero value.
func (m Mapping) isZero() bool {
	return m.Kind == MapDefault && len(m.Positional) == 0 && m.Rest == "" && !m.Options && len(m.Fixed) == 0 && m.Mapper == ""
}

// maxFields bounds the field names of one mapping.
const maxFields = 64

// Validate reports fields that contradict the kind, field names that are
// unsafe or used twice, and fixed values that are not JSON. Every failure is
// an *Error with InvalidMapping. Serialize and Decode validate what they find.
func (m Mapping) Validate() error {
	if _, err := m.Kind.MarshalText(); err != nil {
		return err
	}
	if why := m.contradiction(); why != "" {
		return badMapping("a %s mapping %s", m.Kind, why)
	}
	names := slices.Concat(m.Positional, m.OptionNames, slices.Sorted(maps.Keys(m.Fixed)))
	if m.Rest != "" {
		names = append(names, m.Rest)
	}
	if len(names) > maxFields {
		return badMapping("the mapping has %d fields; the limit is %d", len(names), maxFields)
	}
	for i, name := range names {
		if err := checkKey(name, nil); err != nil {
			return badMapping("field %s is not a usable name", quoteName(name))
		}
		if slices.Contains(names[:i], name) {
			return badMapping("field %s is used twice", quoteName(name))
		}
	}
	for name, value := range m.Fixed {
		if !json.Valid(value) {
			return badMapping("fixed field %s is not valid JSON", quoteName(name))
		}
	}
	return nil
}

// contradiction returns what the mapping has that its kind does not use.
func (m Mapping) contradiction() string {
	switch {
	case m.Kind != MapPositional && (len(m.Positional) > 0 || m.Rest != ""):
		return "has no positional or rest fields; use kind \"positional\""
	case !m.Options && len(m.OptionNames) > 0:
		return "has names of options, but no options"
	case m.Options && (m.Kind != MapPositional || len(m.Positional) == 0 || m.Rest != ""):
		return "has options without positional fields, or with rest"
	case m.Kind == MapFunction && len(m.Fixed) > 0:
		return "has no fixed fields; set them in the function"
	case m.Kind == MapFunction && m.Mapper == "":
		return "must name its mapper"
	case m.Kind != MapFunction && m.Mapper != "":
		return "has no mapper; use kind \"function\""
	case len(m.Mapper) > 2*maxNameBytes || !utf8.ValidString(m.Mapper):
		return "must name its mapper in at most 256 bytes of UTF-8"
	}
	return ""
}

// canonical returns a copy with compact fixed values, so that equal mappings
// are encoded equally.
func (m Mapping) canonical() Mapping {
	m.Positional, m.OptionNames = slices.Clone(m.Positional), slices.Clone(m.OptionNames)
	fixed := maps.Clone(m.Fixed)
	for name, value := range fixed {
		var b bytes.Buffer
		if json.Compact(&b, value) == nil {
			fixed[name] = b.Bytes()
		}
	}
	m.Fixed = fixed
	return m
}

// Apply turns the arguments of one guest call, each a JSON value, into the
// input of the tool.
//
// MapDefault passes on the first argument, {} if it is absent or null, and
// ignores further ones; with Fixed the argument must be an object.
// MapPositional refuses arguments it has no field for and leaves out the
// fields of arguments that were not given; options may be absent or null, and
// must not have a field of an argument. MapFunction fails with
// MappingInPlugin: ask the plugin then. Other failures have MappingArguments.
// The result is not checked against the tool's schema.
func (m Mapping) Apply(args []json.RawMessage) (json.RawMessage, error) {
	for i, arg := range args {
		if !json.Valid(arg) {
			return nil, badArguments("argument %d is not valid JSON", i+1)
		}
	}
	switch m.Kind {
	case MapDefault:
		return m.applyDefault(args)
	case MapPositional:
		return m.applyPositional(args)
	case MapFunction:
		return nil, &Error{Code: MappingInPlugin, Message: "the mapping " + quoteName(m.Mapper) + " is a function of the plugin; ask the plugin"}
	}
	return nil, m.Validate()
}

// applyDefault makes the input of the first argument and the fixed fields.
func (m Mapping) applyDefault(args []json.RawMessage) (json.RawMessage, error) {
	input := json.RawMessage("{}")
	if len(args) > 0 && string(bytes.TrimSpace(args[0])) != "null" {
		input = args[0]
	}
	if len(m.Fixed) == 0 {
		return slices.Clone(input), nil
	}
	if bytes.TrimSpace(input)[0] != '{' {
		return nil, badArguments("the argument must be an object")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, badArguments("the argument must be an object")
	}
	maps.Copy(fields, m.Fixed)
	return appendFields(nil, fields), nil
}

// applyPositional makes the input field by field.
func (m Mapping) applyPositional(args []json.RawMessage) (json.RawMessage, error) {
	takes := slices.Clip(m.Positional)
	if m.Options {
		takes = append(takes, "options")
	}
	if len(args) > len(takes) && m.Rest == "" {
		shown, given := takes, len(args)
		if m.method {
			shown, given = shown[1:], given-1
		}
		return nil, badArguments("takes at most %d %s (%s) but was given %d; to use it as a callback, wrap it: x => f(x)",
			len(shown), plural(len(shown), "argument"), strings.Join(shown, ", "), given)
	}
	fields := make(map[string]json.RawMessage, len(m.Positional)+len(m.Fixed)+1)
	if m.Options && len(args) == len(takes) {
		if err := m.readOptions(args[len(args)-1], fields); err != nil {
			return nil, err
		}
	}
	for i, name := range m.Positional {
		if i < len(args) {
			fields[name] = args[i]
		}
	}
	if m.Rest != "" {
		rest := []byte{'['}
		for i := len(m.Positional); i < len(args); i++ {
			if i > len(m.Positional) {
				rest = append(rest, ',')
			}
			rest = append(rest, args[i]...)
		}
		fields[m.Rest] = append(rest, ']')
	}
	maps.Copy(fields, m.Fixed)
	return appendFields(nil, fields), nil
}

// readOptions reads the fields of the argument after the positional ones.
func (m Mapping) readOptions(options json.RawMessage, fields map[string]json.RawMessage) error {
	if options = bytes.TrimSpace(options); string(options) == "null" {
		return nil
	}
	if options[0] != '{' || json.Unmarshal(options, &fields) != nil {
		return badArguments("the argument options must be an object")
	}
	for _, name := range m.Positional {
		if _, given := fields[name]; given {
			return badArguments("%s is no option, because an argument before the options gives it", quoteName(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(m.OptionNames) > 0 && !slices.Contains(m.OptionNames, name) {
			return badArguments("%s is no option; the options are %s", quoteName(name), strings.Join(m.OptionNames, ", "))
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func badMapping(format string, args ...any) *Error {
	return &Error{Code: InvalidMapping, Message: fmt.Sprintf(format, args...)}
}

func badArguments(format string, args ...any) *Error {
	return &Error{Code: MappingArguments, Message: fmt.Sprintf(format, args...)}
}
