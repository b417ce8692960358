package namespaces

import (
	"strings"
)

// Code names a kind of failure. Codes cross processes, so the list is
// append-only. A Code is itself an error, to be used as the target of
// errors.Is: errors.Is(err, namespaces.DuplicateID).
type Code string

// The codes of a registration that is refused. The plugin is to blame.
const (
	InvalidPluginID  Code = "invalid_plugin_id"    // empty, too long, or unprintable owner
	InvalidID        Code = "invalid_namespace_id" // the namespace id is not a plain name
	NotIdentifier    Code = "not_identifier"       // the global is not a JavaScript identifier
	ReservedGlobal   Code = "reserved_global"      // the global belongs to the guest world
	DuplicateID      Code = "duplicate_id"         // another registration has the id
	DuplicateGlobal  Code = "duplicate_global"     // another registration has the global
	NoRequiredTools  Code = "no_required_tools"    // no tool named: nothing would own the namespace
	InvalidToolName  Code = "invalid_tool_name"    // a required tool or a call target has no usable name
	NoScope          Code = "no_scope"             // CreateScope is missing
	TextTooLong      Code = "text_too_long"        // description or prompt over its limit
	WrongOwner       Code = "wrong_owner"          // a registration names another plugin than the one replacing
	UndeclaredTool   Code = "undeclared_tool"      // a callable targets a tool that is not required
	InvalidMapping   Code = "invalid_mapping"      // the mapping contradicts itself
	MappingMismatch  Code = "mapping_mismatch"     // the mapping does not fit the tool's input schema
	MappingArguments Code = "mapping_arguments"    // the guest's arguments do not fit the mapping
	MappingInPlugin  Code = "mapping_in_plugin"    // only the plugin can apply this mapping
	PathNotCallable  Code = "path_not_callable"    // the path is not a recorded callable
	ScopeNotObject   Code = "scope_not_object"     // the root of a scope is no object
	RawFunction      Code = "raw_function"         // a function that is not a call marker
	Cycle            Code = "cycle"                // a value contains itself
	UnsafeKey        Code = "unsafe_key"           // a key that could reach a prototype, or no key at all
	DuplicateKey     Code = "duplicate_key"        // one object has the same key twice
	UnsupportedKey   Code = "unsupported_key"      // a map key that has no text form
	TooManyNodes     Code = "too_many_nodes"       // over Limits.Nodes
	TooDeep          Code = "too_deep"             // over Limits.Depth
	TooLarge         Code = "too_large"            // over Limits.Bytes
	MarshalFailed    Code = "marshal_failed"       // a value's own marshaler failed
	MalformedScope   Code = "malformed_scope"      // bytes that are no encoded scope
	InvalidClass     Code = "invalid_class"        // a class with results that could not have its methods
)

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Error is every failure this package reports.
type Error struct {
	// Code is what a program decides by.
	Code Code
	// Namespace is the id concerned; empty where it is not known yet.
	Namespace string
	// Path leads to the value concerned inside a scope, written as a guest
	// would write it; empty at the root or outside scopes.
	Path string
	// Message is one sentence for people, and says what to do instead.
	Message string
	// Err is the cause, if another error was one.
	Err error
}

// Error returns the message under the name of the namespace.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Namespace != "" {
		b.WriteString("namespace ")
		b.WriteString(quoteName(e.Namespace))
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Is reports whether target is the same kind of failure: the Code itself, or
// an *Error with the same Code.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Code:
		return t == e.Code
	case *Error:
		return t.Code == e.Code
	}
	return false
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// In returns the error with the namespace id filled in, for callers that know
// the id when this package did not. Errors of other kinds pass unchanged.
func In(id string, err error) error {
	e, ok := err.(*Error)
	if !ok || e.Namespace != "" {
		return err
	}
	named := *e
	named.Namespace = id
	return &named
}
