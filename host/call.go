package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// call is one bridge call between its request and its delivery.
type call struct {
	// These fields are guarded by the mu of the table. The goroutine that performs the
	// call may read those that it alone changes.
	runstore.Call
	changed uint64 // callTable.changes when the call last changed
	charged int64  // bytes
	imaged  bool   // the newest image waits for it
	cancel  context.CancelCauseFunc
	program *program // of the call that stands for a held program

	// These fields belong to the goroutine that performs the call: its stages.
	run       *run
	tool      *catalog.Tool
	via       string          // how the guest writes the tool
	given     json.RawMessage // the input as resolved
	input     json.RawMessage // the input to use: hooks may have changed it
	subject   policy.Call     // the call as hooks and people see it
	progress  func(json.RawMessage)
	budget    queryBudget
	asking    bool             // it is one of the session's questions to people
	question  *policy.Approval // newly put to people
	decision  *policy.Approval // what people have decided
	invoked   bool             // its tool may have taken effect
	took      time.Duration    // by the tool
	value     json.RawMessage  // what the guest gets
	replied   bool             // the tool has returned reply
	reply     json.RawMessage  // before any hook
	rejection *callError       // what the guest gets instead
	next      []*call          // calls that have got a slot since the call has none
	lost      error            // why the store does not know of next
}

// publicID names the call in results and events.
func (c *call) publicID() string {
	return "bridge:" + c.Method + ":" + strconv.FormatUint(c.ID, 10)
}

// isTool reports whether the call runs a tool.
func (c *call) isTool() bool {
	switch wire.Method(c.Method) {
	case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP:
		return true
	}
	return false
}

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

// notMade marks a rejection of a call that never reached its tool.
func (c *call) notMade(e *callError) *callError {
	e.ToolID, e.EffectStatus = c.subject.ToolID, effectNone
	return e
}

// interrupted rejects a call that was in flight when a host stopped.
func interrupted(c *call) *callError {
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

// ofCatalog translates a refusal of the catalog, whose messages are made for
// the model.
func ofCatalog(err error) *callError {
	var e *catalog.Error
	if errors.As(err, &e) {
		return &callError{CallError: wire.CallError{Message: e.Message, Code: string(e.Code), ToolID: e.ToolID}}
	}
	return rejectf(codeNestedTool, "%v", err)
}
