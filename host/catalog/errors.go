package catalog

// Code names a kind of failure. The list is append-only. A Code is itself an
// error, to be used as the target of errors.Is.
type Code string

// The kinds of failure.
const (
	UnknownTool   Code = "unknown_tool"   // no visible tool has that id or name
	AmbiguousTool Code = "ambiguous_tool" // several visible tools have that name
	NotCallable   Code = "not_callable"   // the tool is reached in another way (MCP)
	InvalidInput  Code = "invalid_input"  // the input does not fit the tool's schema
	InvalidSchema Code = "invalid_schema" // the tool's own schema is unusable
	InvalidLimit  Code = "invalid_limit"  // a search limit that is no positive integer
	InvalidTool   Code = "invalid_tool"   // a tool that cannot be cataloged
	DuplicateID   Code = "duplicate_id"   // two tools with one id
	InvalidOutput Code = "invalid_output" // the result does not fit the tool's output schema
)

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Error is every failure this package reports. Its message may be shown to
// the model: it quotes tool names, schemas and the guest's own input, bounded.
type Error struct {
	Code    Code
	ToolID  string // the tool concerned, if known
	Message string
	Err     error // the cause, if another error was one
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

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
