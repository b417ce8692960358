package namespaces

import "encoding/json"

// Call marks a place in a scope as callable: a call there becomes a call of
// the named tool, which must be one of the namespace's required tools.
type Call struct {
	Tool    string
	Mapping Mapping
}

// Scope is the serialised content of a namespace: a tree of objects, arrays,
// plain values and calls. It is immutable and safe for concurrent use, except
// that UnmarshalJSON replaces it.
type Scope struct {
	root *node
}

type node struct{}

// MarshalJSON writes the tagged tree in its canonical form.
func (s *Scope) MarshalJSON() ([]byte, error) { return nil, nil }

// UnmarshalJSON reads a tagged tree under DefaultLimits. See Decode.
func (s *Scope) UnmarshalJSON(data []byte) error { return nil }

// Guest returns the descriptor given to the guest: the same tree without tool
// names and mappings.
func (s *Scope) Guest() []byte { return nil }

// Resolve returns the call recorded at path.
func (s *Scope) Resolve(path []string) (Call, error) { return Call{}, nil }

// CheckTargets reports the first callable whose tool is not in required.
func (s *Scope) CheckTargets(required []string) error { return nil }

// Limits bound one scope. A zero field means its default.
type Limits struct {
	Nodes int
	Depth int
	Bytes int
}

// Serialize turns a Go value into a Scope.
func Serialize(v any, l Limits) (*Scope, error) { return nil, nil }

// Decode reads a tagged tree.
func Decode(data []byte, l Limits) (*Scope, error) { return nil, nil }

var _ json.Marshaler = (*Scope)(nil)
