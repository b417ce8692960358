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
	codeNestedTool       = "tool_error"             // the tool has failed, and gave no code
	codeReplyTooLarge    = "reply_too_large"        // the answer of the tool is larger than is taken
	codeInvalidReply     = "invalid_reply"          // the answer of the tool is not JSON, or does not fit its schema
	codeUnknownNamespace = "unknown_namespace"      // no namespace of the run has that name
	codeUnknownMCPTool   = "unknown_mcp_tool"       // no MCP server, or no tool of it, has that name
	codeNotCallable      = "not_callable"           // the path of the namespace is no function
	codeCatalogChanged   = "catalog_changed"        // the tools changed while the run was suspended; the call was not made
	codeInterrupted      = "interrupted"            // the host ended during the call, which may have taken effect
	codeAborted          = "aborted"                // the program or its run gave the call up
	codePanic            = "tool_panic"             // the Go function of the tool panicked: the log of the host has the stack
	codeQuota            = "quota_exceeded"         // the session, its agent or the host has its share; the call was not made
	codeBlocked          = "blocked"                // a hook does not allow the call, which has not taken effect
	codeDenied           = "denied"                 // a person has denied the call, or no one decided in time
	codeHookFailed       = "hook_failed"            // a hook failed, so the call was not made
	codeInputExpired     = "input_expired"          // the tool asked a person, and had no answer in time
	codeInputCancelled   = "input_cancelled"        // the question of the tool was cancelled
	codeInputRounds      = "input_rounds"           // the tool asked too often
	codeInvalidQuestion  = "invalid_question"       // the tool asks what no person can be asked
	codeNotAuthorized    = "authorization_declined" // a person declined to sign in
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
