package fault

import (
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Rejection rejects a bridge call in the guest.
type Rejection struct {
	wire.CallError
	Unknown bool // the tool may have taken effect
}

func (e *Rejection) Error() string { return e.Message }

func Reject(code, format string, args ...any) *Rejection {
	return &Rejection{CallError: wire.CallError{Message: fmt.Sprintf(format, args...), Code: code}}
}

// Codes of rejections that the host itself makes.
const (
	CodeNestedTool       = "tool_error"             // the tool has failed, and gave no code
	CodeReplyTooLarge    = "reply_too_large"        // the answer of the tool is larger than is taken
	CodeInvalidReply     = "invalid_reply"          // the answer of the tool is not JSON, or does not fit its schema
	CodeUnknownNamespace = "unknown_namespace"      // no namespace of the run has that name
	CodeUnknownMCPTool   = "unknown_mcp_tool"       // no MCP server, or no tool of it, has that name
	CodeNotCallable      = "not_callable"           // the path of the namespace is no function
	CodeCatalogChanged   = "catalog_changed"        // the tools changed while the run was suspended; the call was not made
	CodeInterrupted      = "interrupted"            // the host ended during the call, which may have taken effect
	CodeAborted          = "aborted"                // the program or its run gave the call up
	CodePanic            = "tool_panic"             // the Go function of the tool panicked: the log of the host has the stack
	CodeQuota            = "quota_exceeded"         // the session, its agent or the host has its share; the call was not made
	CodeBlocked          = "blocked"                // a hook does not allow the call, which has not taken effect
	CodeDenied           = "denied"                 // a person has denied the call, or no one decided in time
	CodeHookFailed       = "hook_failed"            // a hook failed, so the call was not made
	CodeInputExpired     = "input_expired"          // the tool asked a person, and had no answer in time
	CodeInputCancelled   = "input_cancelled"        // the question of the tool was cancelled
	CodeInputRounds      = "input_rounds"           // the tool asked too often
	CodeInvalidQuestion  = "invalid_question"       // the tool asks what no person can be asked
	CodeNotAuthorized    = "authorization_declined" // a person declined to sign in
)

// What a rejected call has changed.
const (
	EffectNone    = "none"
	EffectDone    = "done" // its tool has answered
	EffectUnknown = "unknown"
)

// NotDispatched rejects a call that was cancelled before its tool was called.
func NotDispatched() *Rejection {
	return Reject(CodeAborted, "The call was given up before it was made.")
}

// Answered marks a rejection of a call that its tool has run and answered. It proposes, as
// again says, to repeat the call only if the tool just reads.
func Answered(tool *catalog.Tool, e *Rejection, again string) *Rejection {
	e.ToolID = tool.ID()
	if tool.ReadOnly {
		e.EffectStatus = EffectNone
		if again != "" {
			e.Message += " " + again
		}
		return e
	}
	e.EffectStatus = EffectDone
	e.Message += " The call was made and may have changed something: do not repeat it to get its reply."
	return e
}

// RejectionFromCatalog translates a refusal of the catalog, which has messages that are made
// for the model.
func RejectionFromCatalog(err error) *Rejection {
	var e *catalog.Error
	if errors.As(err, &e) {
		return &Rejection{CallError: wire.CallError{Message: e.Message, Code: string(e.Code), ToolID: e.ToolID}}
	}
	return Reject(CodeNestedTool, "%v", err)
}

// RejectionFromNamespace translates a refusal on the way from a namespace to its tool.
func RejectionFromNamespace(err error) *Rejection {
	var ce *Rejection
	var ne *namespaces.Error
	var pe *protocol.Error
	switch {
	case errors.As(err, &ce):
		return ce
	case errors.As(err, &ne):
		return Reject(string(ne.Code), "%s", ne.Error())
	case errors.As(err, &pe):
		return Reject(pe.Code, "%s", pe.Message)
	default:
		return Reject(CodeNestedTool, "%v", err)
	}
}

// MaxDetails bounds the details of an error in the guest, in bytes. More are left
// out.
const MaxDetails = 16 << 10

// OfPlugin takes over what an error of a plugin says. Where the plugin does not say
// what the call has changed, the kind of the error does: a tool that ran and failed
// has said what there is to say, and whatever else went wrong may have gone wrong
// halfway.
func (e *Rejection) OfPlugin(tool *catalog.Tool, pe *protocol.Error) {
	e.Message, e.Code, e.Retryable = pe.Message, pe.Code, pe.Retryable
	if len(pe.Details) <= MaxDetails {
		e.Details = pe.Details
	}
	switch pe.Effect {
	case protocol.EffectNone, protocol.EffectDone:
		e.EffectStatus = pe.Effect.String()
		return
	case protocol.EffectUnknown:
		e.Unknown = true
		return
	}
	switch pe.Code {
	case protocol.CodeDraining, protocol.CodeRestarting: // the call has not started
		e.EffectStatus, e.Retryable = EffectNone, true
		return
	case protocol.CodeDisabled:
		e.EffectStatus = EffectNone
		return
	}
	switch pe.Kind {
	case protocol.KindTool, protocol.KindInput:
	default:
		e.Unknown = !tool.ReadOnly
	}
}
