package sdk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Error is a failure the model may read: a tool returns it to say what went
// wrong and what to do instead. It travels as it is. Any other Go error becomes
// an Error with its text and the code "tool_error".
type Error struct {
	// Code is a short word programs can compare, such as "not_found".
	Code string
	// Message is for the model.
	Message string
	// Details is any value with a JSON form, or nil. Programs read it as the
	// error's details; more than 16 KiB are left out.
	Details any
	// Retryable says that the same call may succeed later, with nothing changed:
	// the service was busy. Programs read it as the error's retryable.
	Retryable bool
	// Effect says what the call has changed although it failed. Programs read it as
	// the error's effectStatus. Leave it out if that goes without saying.
	Effect Effect
}

// Effect says what a call that failed has changed.
type Effect = protocol.Effect

// What a call that failed has changed.
const (
	// EffectNone: nothing. The call may be repeated.
	EffectNone = protocol.EffectNone
	// EffectUnknown: perhaps something. Look before you repeat it.
	EffectUnknown = protocol.EffectUnknown
	// EffectDone: what was asked for has happened all the same.
	EffectDone = protocol.EffectDone
)

// Errorf returns an [Error]. A %w in the format is formatted but not wrapped:
// causes stay in the process.
func Errorf(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Errorf(format, args...).Error()}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// toolFailure is err as the protocol carries it.
func toolFailure(err error) *protocol.Error {
	var sent *protocol.Error
	if errors.As(err, &sent) {
		return sent
	}
	var own *Error
	if !errors.As(err, &own) {
		return protocol.NewError(protocol.KindTool, protocol.CodeToolError, "%s", err)
	}
	e := protocol.NewError(protocol.KindTool, own.Code, "%s", own.Message)
	if e.Code == "" {
		e.Code = protocol.CodeToolError
	}
	e.Retryable, e.Effect = own.Retryable, own.Effect
	if own.Details != nil {
		if details, err := json.Marshal(own.Details); err == nil {
			e.Details = details
		} else {
			e.Message += fmt.Sprintf(" (details left out: %v)", err)
		}
	}
	return e
}

// Errors of [Storage], for errors.Is.
var (
	// ErrStorageFull: a limit of the storage is reached. Nothing was stored.
	ErrStorageFull = &Error{Code: protocol.CodeStorageFull, Message: "the plugin's storage is full"}
	// ErrNoStorage: the host has no storage, or is too old for it, or has gone.
	ErrNoStorage = &Error{Code: protocol.CodeNoHostService, Message: "the host has no storage"}
)
