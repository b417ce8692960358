package mcp

import (
	"encoding/json"
	"errors"
)

// Code names a kind of failure of a call. The list is append-only.
type Code string

// The kinds of failure.
const (
	CodeUnavailable   Code = "mcp_unavailable"     // the server is not connected, or is not known
	CodeClosed        Code = "mcp_closed"          // the connection ended before the answer
	CodeTimeout       Code = "mcp_timeout"         // no answer within CallTimeout
	CodeCancelled     Code = "mcp_cancelled"       // the caller gave up
	CodeRefused       Code = "mcp_error"           // the server answered with a protocol error
	CodeReplyTooLarge Code = "mcp_reply_too_large" // the answer is larger than an answer may be
	CodeInvalidReply  Code = "mcp_invalid_reply"   // the answer is not one
	CodeUnauthorized  Code = "mcp_unauthorized"    // a sign-in is wanted, and failed or did not help
	CodeNeedsInput    Code = "mcp_input_required"  // the server asks for what the host does not offer, such as a model
	CodeDeclined      Code = "mcp_declined"        // a person did not agree to what the server asks
	CodeBusy          Code = "mcp_busy"            // the limits of the server held the call back for too long
	CodeInvalidInput  Code = "mcp_invalid_input"   // the input cannot be sent, and was not
	CodeStatus        Code = "mcp_http_status"     // a server on the network did not answer 2xx
	CodeQuarantined   Code = "mcp_quarantined"     // the tool is not what was pinned, and was not accepted
)

// Error is why a call has no answer. Its message is written for the model; what
// a server said in it is bounded.
type Error struct {
	Code    Code
	Server  string
	Message string
	// Unknown is set when the call may have taken effect.
	Unknown bool
	// Retryable is set when the call had no effect, and may succeed later.
	Retryable bool
	// Details are for programs: an object, or nil.
	Details json.RawMessage
	Err     error // the cause, if another error was one

	status int // of HTTP, with CodeStatus; 0 otherwise
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// known returns e as an error of a call that was never made.
func (e *Error) known() *Error {
	e.Unknown = false
	return e
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// codeTransport is the code by which the SDK says that a request was not carried.
const codeTransport = -32005

// maxErrorText is how much of a server's own words an error repeats.
const maxErrorText = 2000

var (
	errCallTimeout = errors.New("the call ran out of time")
	errEnded       = errors.New("the connection has ended")
)
