package sessions

import "fmt"

// Error is a failure with a code that programs can compare.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Message }

// The codes of errors.
const (
	CodeUnknown   = "unknown_session"    // there is no such session, or it is another owner's
	CodeTooMany   = "too_many_processes" // a bound is reached
	CodeEnded     = "process_ended"      // the process reads no input any more
	CodeRunning   = "process_running"    // the process must end before
	CodeInput     = "input_not_read"     // the process does not read what was written before
	CodeNoConsole = "no_terminal"        // the process has no terminal
	CodeInvalid   = "invalid_input"      // the options of the call are wrong
)

func errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
