package programs

import "fmt"

// Code tells the errors of this package apart. Match with errors.Is.
type Code string

// The codes of errors.
const (
	NotFound Code = "program_not_found" // there is no such program, or no such run
	Exists   Code = "program_exists"    // the name is taken
	Invalid  Code = "invalid_program"   // what was given cannot be saved
	Full     Code = "too_many_programs" // the store has MaxPrograms
	Changed  Code = "program_changed"   // the program, or a tool of it, is not what a person has seen
)

// Error returns the code, so that it can be matched.
func (c Code) Error() string { return string(c) }

// Error says why a program cannot be had, or cannot be saved.
type Error struct {
	Code    Code
	Message string // for people and models: what was wrong, and the next step
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is the code of e.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

func errorf(code Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}
