package policy

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// ToolKind tells the outer exec call from the calls its program makes.
type ToolKind string

// The kinds of calls that hooks see. Waiting for a run has no kind: it starts
// nothing that a hook has not seen.
const (
	KindTool ToolKind = "tool"           // a tool of the catalog
	KindExec ToolKind = "code_mode_exec" // the program itself, before it runs
)

// ExecTool stands for the program itself where hooks and grants name a tool. A
// pattern of the name alone, exec, also matches a shell tool of that name.
var ExecTool = Tool{Source: "quoin", Owner: "code_mode", Name: "exec"}

// ID returns "<source>:<owner>:<name>".
func (t Tool) ID() string { return t.Source + ":" + t.Owner + ":" + t.Name }

// InputKind is the language of a call of KindExec.
type InputKind string

// The kinds of input.
const (
	InputJavaScript InputKind = "javascript"
	InputTypeScript InputKind = "typescript"
)

// Call is a tool call as a hook sees it. The hook owns its copy.
type Call struct {
	Kind ToolKind
	// InputKind is the language of the program; empty for KindTool.
	InputKind InputKind
	// ToolID, Source, Owner and ToolName are the catalog's. For KindExec they describe
	// ExecTool.
	ToolID, Source, Owner, ToolName string
	// Via is the namespace path the program used, as in Issues.create; empty for
	// calls through tools.
	Via string
	// ReadOnly: the tool promises that a call changes nothing.
	ReadOnly bool
	// Params is the input, a JSON object. Its keys are as the program wrote them: to
	// encoding/json, which does not tell upper from lower case when it decodes into a
	// struct, "CMD" is "cmd" too, to most tools it is not. Decode into a
	// map[string]json.RawMessage where a verdict hangs on a key. For KindExec it has the strings code
	// and command, which are equal, language and, if given, title.
	Params json.RawMessage
	// Session is who the run belongs to.
	Session codemode.Session
	// RunID is the run the call is made by, CallID names the call within it.
	RunID, CallID string
}

// Verdict is what a before-hook says of a call. The zero value has no objection.
type Verdict struct {
	// Params replaces the parameters if it is not nil. It must be a JSON object
	// that fits the tool. For KindExec a change of code or of command alone is
	// taken over into the other.
	Params json.RawMessage
	// Block refuses the call. Reason says why, to the model.
	Block  bool
	Reason string
	// Approval makes the call wait for a person.
	Approval *ApprovalRequest
}

// Status is how a call ended.
type Status string

// The statuses of an Outcome.
const (
	StatusOK      Status = "ok"      // Value is what the program gets
	StatusError   Status = "error"   // the tool failed
	StatusUnknown Status = "unknown" // it was cut off and may have taken effect
)

// Outcome is how a call that reached its tool ended.
type Outcome struct {
	Status Status
	// Value is the result as JSON, when Status is ok.
	Value json.RawMessage
	// Message and Code describe the error otherwise.
	Message, Code string
	// Duration is the time the tool took.
	Duration time.Duration
}

// Hook is a pair of functions around tool calls. Both may be nil.
type Hook struct {
	// Name tells people which hook blocked a call or asks for an approval.
	Name string
	// Tools are patterns as in Rules. A call that matches no pattern passes the
	// hook by. Empty means every call, the program itself included.
	Tools []string
	// Only, if not nil, narrows that further. It is called for every call and must
	// be quick; it must not change the call.
	Only func(c *Call) bool
	// Before is called before the call. An error blocks it.
	Before func(ctx context.Context, c *Call) (Verdict, error)
	// After is called when a tool has been called and has answered. It returns
	// nil, or the value to use in place of Outcome.Value, for example without
	// what a model should not read; it cannot turn a failure into a success. An
	// error withholds the result. Calls that were blocked or denied have no result.
	After func(ctx context.Context, c *Call, o Outcome) (json.RawMessage, error)
	// Timeout bounds one call of either function. Defaults to the Chain's timeout.
	Timeout time.Duration
}
