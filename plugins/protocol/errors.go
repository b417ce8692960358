package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// Kind says who is to blame for an [Error]. Kinds are append-only.
type Kind uint8

const (
	// KindUnknown is a kind this build does not know, or a forgotten one.
	KindUnknown Kind = iota
	// KindTool: the tool ran and says it failed. The message is for the model.
	KindTool
	// KindInput: the input does not fit the tool. The message is for the model.
	KindInput
	// KindPlugin: a fault inside the plugin, such as a panic.
	KindPlugin
	// KindProcess: the plugin process died, never came up or is disabled.
	KindProcess
	// KindProtocol: a reply that breaks the protocol or its limits.
	KindProtocol
	// KindTimeout: no answer in time. Whether the call took effect is unknown.
	KindTimeout
	// KindCancelled: the caller gave up. Whether the call took effect is unknown.
	KindCancelled
)

var kindNames = [...]string{"unknown", "tool", "input", "plugin", "process", "protocol", "timeout", "cancelled"}

// String returns the lower-case word for k.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[KindUnknown]
}

// Codes given by the host and the SDK. A tool may use any other word of its
// own with KindTool. Codes are append-only.
const (
	CodeToolError        = "tool_error"          // KindTool: the tool gave no code
	CodeInvalidInput     = "invalid_input"       // KindInput: the input does not fit the schema of the tool
	CodeUnknownTool      = "unknown_tool"        // KindInput: the plugin has no such tool
	CodeUnknownNamespace = "unknown_namespace"   // KindInput: the plugin has no such namespace
	CodeUnknownMapper    = "unknown_mapper"      // KindInput: the plugin has no such mapper
	CodeUnknownHook      = "unknown_hook"        // KindInput: the plugin has no such hook
	CodePanic            = "plugin_panic"        // KindPlugin: the plugin panicked
	CodeInvalidOutput    = "invalid_output"      // KindPlugin: a result or scope that is not valid
	CodeConfigRefused    = "config_refused"      // KindPlugin: Configure failed
	CodeDraining         = "plugin_draining"     // KindProcess: no new calls
	CodeCrashed          = "plugin_crashed"      // KindProcess: died while or before the call ran
	CodeStopped          = "plugin_stopped"      // KindProcess: stopped on purpose
	CodeDisabled         = "plugin_disabled"     // KindProcess: too many crashes or a refused load
	CodeRestarting       = "plugin_restarting"   // KindProcess: crashed, coming back
	CodeStartFailed      = "plugin_start_failed" // KindProcess: the plugin did not start
	CodeReplyTooLarge    = "reply_too_large"     // KindProtocol: the answer is larger than is taken
	CodeRequestTooLarge  = "request_too_large"   // KindInput: the arguments are larger than is taken
	CodeChanged          = "catalog_changed"     // KindInput: the plugin was reloaded and the call no longer fits; it was not made
	CodeMalformedReply   = "malformed_reply"     // KindProtocol: the answer is not one
	CodeTimeout          = "timeout"             // KindTimeout: the plugin took too long
	CodeCancelled        = "cancelled"           // KindCancelled: the call was given up
	CodeStorageInvalid   = "storage_invalid"     // KindInput: a key or value that cannot be stored
	CodeStorageConflict  = "storage_conflict"    // KindInput: the key has another revision
	CodeStorageFull      = "storage_full"        // KindInput: a limit of the plugin's storage
	CodeStorageFailed    = "storage_failed"      // KindProcess: the host cannot read or write it
	CodeNoHostService    = "no_host_service"     // KindProcess: the host does not have what was asked for
)

// Effect says what a call that failed has changed. Effects are append-only.
type Effect uint8

const (
	// EffectUnspecified: the plugin does not say; the Kind suggests an answer.
	EffectUnspecified Effect = iota
	// EffectNone: nothing has changed.
	EffectNone
	// EffectUnknown: something may have changed.
	EffectUnknown
	// EffectDone: what was asked for has happened all the same.
	EffectDone
)

var effectNames = [...]string{"", "none", "unknown", "done"}

// String returns the word for e that programs see as effectStatus; "" when it is
// unspecified.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return ""
}

// Error is a failure that crossed, or may cross, the plugin boundary. Errors
// are compared by Kind and Code, never by Message.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Details json.RawMessage // valid JSON or nil
	// Retryable: the same call may succeed later.
	Retryable bool
	Effect    Effect
}

// NewError returns an Error with a formatted message.
func NewError(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an *Error with the same Code and, unless target
// leaves it unknown, the same Kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok {
		return false
	}
	return t.Code == e.Code && (t.Kind == KindUnknown || t.Kind == e.Kind)
}

// FromTool reports whether the failure is an answer of the tool or its schema
// (data for the caller) rather than trouble with the plugin.
func (e *Error) FromTool() bool { return e.Kind == KindTool || e.Kind == KindInput }

// AsError returns err as an *Error: the one in its chain, or one of KindTool
// and CodeToolError with err's text. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: KindTool, Code: CodeToolError, Message: err.Error()}
}

// errorToWire converts err for sending; nil stays nil. Details that are not
// JSON are dropped rather than sent.
func errorToWire(err error) *protocolpb.Error {
	e := AsError(err)
	if e == nil {
		return nil
	}
	w := &protocolpb.Error{
		Kind: protocolpb.ErrorKind(e.Kind), Code: validText(e.Code), Message: validText(e.Message),
		Retryable: e.Retryable, Effect: protocolpb.Effect(e.Effect),
	}
	if json.Valid(e.Details) && utf8.Valid(e.Details) {
		w.Details = e.Details
	}
	return w
}

// errorFromWire converts a received error. A plugin speaks for its tools and
// itself: of the kinds that describe the host's view it may only say that it
// drains, that a result was too large and that the deadline it was given has
// passed; others become KindPlugin.
func errorFromWire(w *protocolpb.Error) *Error {
	if w == nil {
		return nil
	}
	e := contentFromWire(w)
	e.Kind = KindPlugin
	switch k := Kind(w.GetKind()); {
	case k == KindTool, k == KindInput,
		k == KindProcess && e.Code == CodeDraining,
		k == KindProtocol && e.Code == CodeReplyTooLarge,
		k == KindTimeout && e.Code == CodeTimeout:
		e.Kind = k
	}
	if e.Code == "" {
		e.Code = CodeToolError
	}
	return e
}

// errorFromHost converts an error that a plugin has received from its host, which
// it trusts.
func errorFromHost(w *protocolpb.Error) *Error {
	e := contentFromWire(w)
	if k := Kind(w.GetKind()); int(k) < len(kindNames) {
		e.Kind = k
	}
	return e
}

// contentFromWire is a received error without its kind. An effect that this build
// does not know is one that no caller should rely on: unknown.
func contentFromWire(w *protocolpb.Error) *Error {
	e := &Error{Code: w.GetCode(), Message: w.GetMessage(), Retryable: w.GetRetryable(), Effect: EffectUnknown}
	if n := w.GetEffect(); n >= 0 && int(n) < len(effectNames) {
		e.Effect = Effect(n)
	}
	if d := w.GetDetails(); len(d) > 0 && json.Valid(d) && utf8.Valid(d) {
		e.Details = d
	}
	return e
}

// validText makes s fit a protobuf string, which must be UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
