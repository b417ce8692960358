package runs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// callError rejects a bridge call in the guest.
type callError struct {
	wire.CallError
	unknown bool // the tool may have taken effect
}

func (e *callError) Error() string { return e.Message }

func rejectf(code, format string, args ...any) *callError {
	return &callError{CallError: wire.CallError{Message: fmt.Sprintf(format, args...), Code: code}}
}

// Codes of rejections that the host itself makes.
const (
	codeNestedTool       = "tool_error"
	codeReplyTooLarge    = "reply_too_large"
	codeInvalidReply     = "invalid_reply"
	codeUnknownNamespace = "unknown_namespace"
	codeUnknownMCPTool   = "unknown_mcp_tool"
	codeNotCallable      = "not_callable"
	codeCatalogChanged   = "catalog_changed" // the tools changed while the run was suspended
	codeInterrupted      = "interrupted"
	codeAborted          = "aborted"
	codePanic            = "tool_panic"
	codeQuota            = "quota_exceeded"
	codeBlocked          = "blocked" // this and the next two have not taken effect
	codeDenied           = "denied"
	codeHookFailed       = "hook_failed"
	codeInputExpired     = "input_expired" // the tool asked, and has no answer: this and the next four have not taken effect
	codeInputCancelled   = "input_cancelled"
	codeInputRounds      = "input_rounds"
	codeInvalidQuestion  = "invalid_question"
	codeNotAuthorized    = "authorization_declined"
)

// What a rejected call has changed.
const (
	effectNone    = "none"
	effectDone    = "done" // its tool has answered
	effectUnknown = "unknown"
)

// notDispatched rejects a call that was cancelled before its tool was called.
func notDispatched() *callError {
	return rejectf(codeAborted, "The call was given up before it was made.")
}

// interrupted rejects a call that was in flight when a host stopped.
func interrupted(c *entry) *callError {
	e := rejectf(codeInterrupted, "The host stopped while %q was running, so whether it took effect is unknown. Check before you call it again.", cmp.Or(c.Tool, c.Target))
	e.ToolID, e.EffectStatus, e.unknown = c.Tool, effectUnknown, true
	return e
}

// answered marks a rejection of a call whose tool has run and answered. It proposes, as
// again says, to repeat the call only if the tool just reads.
func answered(tool *catalog.Tool, e *callError, again string) *callError {
	e.ToolID = tool.ID()
	if tool.ReadOnly {
		e.EffectStatus = effectNone
		if again != "" {
			e.Message += " " + again
		}
		return e
	}
	e.EffectStatus = effectDone
	e.Message += " The call was made and may have changed something: do not repeat it to get its reply."
	return e
}

// failureFromCatalog translates a refusal of the catalog, whose messages are made for
// the model.
func failureFromCatalog(err error) *callError {
	var e *catalog.Error
	if errors.As(err, &e) {
		return &callError{CallError: wire.CallError{Message: e.Message, Code: string(e.Code), ToolID: e.ToolID}}
	}
	return rejectf(codeNestedTool, "%v", err)
}

// failureFromNamespace translates a refusal on the way from a namespace to its tool.
func failureFromNamespace(err error) *callError {
	var ce *callError
	var ne *namespaces.Error
	var pe *protocol.Error
	switch {
	case errors.As(err, &ce):
		return ce
	case errors.As(err, &ne):
		return rejectf(string(ne.Code), "%s", ne.Error())
	case errors.As(err, &pe):
		return rejectf(pe.Code, "%s", pe.Message)
	default:
		return rejectf(codeNestedTool, "%v", err)
	}
}
