package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// Source tells where a tool comes from.
type Source string

// The sources a tool can have.
const (
	SourceQuoin  Source = "quoin"  // the host itself (owner "core") and its plugins (owner = plugin id)
	SourceMCP    Source = "mcp"    // an upstream MCP server (owner = server name)
	SourceClient Source = "client" // the caller of the run, for this run
)

// The owners assumed when a Tool does not name its owner.
const (
	OwnerCore   = "core"   // SourceQuoin
	OwnerClient = "client" // SourceClient
)

// Tool is one tool as its provider describes it. A Catalog keeps a copy of the
// struct, but not of the bytes its fields point to: do not change those.
type Tool struct {
	// Name is what the provider calls the tool; 1 to 256 printable bytes.
	Name string
	// Label is a short title for people. Optional.
	Label string
	// Description says what the tool does and when to use it.
	Description string
	// Source defaults to SourceQuoin.
	Source Source
	// Owner is the plugin id, MCP server or client that owns the tool, without
	// ':'. Defaults to OwnerCore or OwnerClient; required for SourceMCP.
	Owner string
	// Parameters is the JSON Schema of the input. Empty means any object.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result. Optional.
	Output json.RawMessage
	// ReadOnly promises that a call changes nothing, Idempotent that making it again
	// with the same input and the same idempotency key changes nothing more.
	ReadOnly, Idempotent bool
	// Revertible promises that Invoke says how each call is undone, by
	// Invocation.RevertBy. Calls of such a tool are kept in the journal of their run.
	Revertible bool
	// DirectOnly says that programs cannot call the tool, because its results, such
	// as images, do not fit into JSON. A Catalog leaves it out; a model that has
	// code mode sees it next to exec and wait.
	DirectOnly bool
	// Examples are calls that work, for the model.
	Examples []Example
	// Invoke runs the tool. The input has passed ValidateInput. Progress may
	// be nil. A Catalog never calls Invoke, and allows it to be nil.
	Invoke func(ctx context.Context, c Invocation) (json.RawMessage, error)
}

// ID returns "<source>:<owner>:<name>", unique in a Catalog.
func (t *Tool) ID() string {
	return string(t.Source) + ":" + t.Owner + ":" + t.Name
}

// Example is one call of a tool that works.
type Example struct {
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// Steps is progress that can be counted: see Invocation.Progress.
type Steps struct {
	// Done of Total units are done, whatever the unit.
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
	// Message says what is being done. Events have it. Optional.
	Message string `json:"message,omitempty"`
}

// Invocation is one call of one tool.
type Invocation struct {
	// ID is unique within the run and names the call in logs.
	ID string
	// RunID is the run that makes the call, not the agent turn's run.
	RunID string
	// ToolID is the tool's id in the catalog.
	ToolID string
	// IdempotencyKey stays the same when the call is driven again.
	IdempotencyKey string
	// Epoch counts the hosts that have had the run, and this one's turns; 0 in a run that
	// was never suspended. A call of a lower epoch than another of the run is of a host
	// that has lost the run and does not know it yet.
	Epoch uint64
	// Session is who the run belongs to.
	Session codemode.Session
	// Deadline is when the caller of the Exec or Wait that drives the run gives up; zero
	// if it does not, or if no request is there. The run is suspended before, and the call
	// continues: so the context of a call has no deadline itself.
	Deadline time.Time
	// Input is the input object as JSON.
	Input json.RawMessage
	// Approvals are the decisions of people that the call is made by, one for each hook
	// that asked about this very input.
	Approvals []Approval
	// Progress, if not nil, receives interim results as JSON: Steps, or any value.
	Progress func(json.RawMessage)
	// Resumption is set when the tool is invoked again because it returned a
	// *codemode.InputRequired, and a person has answered.
	Resumption *codemode.Resumption
	// Ask puts a question to a person and waits for the answer, for tools that cannot
	// return and be invoked again. While it waits, the call does not survive the process. It
	// is nil where no person can be asked.
	Ask func(context.Context, codemode.Question) (codemode.QuestionAnswer, error)
	// RevertBy takes how the call is undone. A tool calls it before it returns without
	// an error, unless it has changed nothing. It is nil where the tool is not
	// Revertible. The last of several calls counts.
	RevertBy func(Inverse)
}

// Inverse says how one call of a tool is undone: by a call of another tool of the same
// source and owner, or not at all.
type Inverse struct {
	// Tool is the name of the tool that undoes the call. It should be Idempotent: after
	// a crash it is called again, with the same idempotency key.
	Tool string
	// Input is what Tool gets, a JSON object of at most 64 KiB.
	Input json.RawMessage
	// Impossible says why the call cannot be undone. Then there is no Tool.
	Impossible string
}

// Approval is the part of a person's decision that answers one hook.
type Approval struct {
	// Hook is the name of the hook that asked, Subject what it asked about.
	Hook    string `json:"hook"`
	Subject string `json:"subject,omitempty"`
	// ID is the id of the approval that was decided, for this call or, with allow-always, for
	// an earlier one.
	ID string `json:"id"`
	// Edited reports that a person has written the input.
	Edited bool `json:"edited,omitempty"`
	// Remembered reports that the approval was decided for an earlier call.
	Remembered bool `json:"remembered,omitempty"`
}

// Entry is the compact description of a tool: everything but its schemas.
type Entry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description"`
	Source      Source `json:"source"`
	// SourceName is the tool's owner; empty for the host's own tools.
	SourceName string `json:"sourceName,omitempty"`
	// Call is how a program calls the tool, with what it takes. A catalog leaves it
	// empty; hosts set it for what is not reached through tools.
	Call string `json:"call,omitempty"`
}

// Description is an Entry with all that is loaded on demand.
type Description struct {
	Entry
	// Parameters is {} when the tool has no schema of its input.
	Parameters json.RawMessage `json:"parameters"`
	Output     json.RawMessage `json:"output,omitempty"`
	Examples   []Example       `json:"examples,omitempty"`
}

// core reports whether the tool is the host's own.
func (t *Tool) core() bool { return t.Source == SourceQuoin && t.Owner == OwnerCore }
