package wire

import "encoding/json"

// Method names what a guest asks of the host in one bridge call.
type Method string

// The bridge methods of protocol version 1. The list is append-only.
const (
	MethodCall      Method = "call"      // call a catalog tool by id or unique name
	MethodSearch    Method = "search"    // search the catalog
	MethodDescribe  Method = "describe"  // describe one catalog tool
	MethodNamespace Method = "namespace" // call a path of a namespace
	MethodYield     Method = "yield"     // hand control back to the caller of exec
	MethodMCP       Method = "mcp"       // call a tool or an operation of an MCP server
	MethodCancel    Method = "cancel"    // give calls up; this one is not answered
	MethodProgram   Method = "program"   // start a saved program
	MethodSave      Method = "save"      // save the program of a run under a name
)

// OutputKind tells text the guest emitted from structured values.
type OutputKind string

// The output kinds of protocol version 1.
const (
	OutputText OutputKind = "text" // Output.JSON is a JSON string
	OutputJSON OutputKind = "json" // Output.JSON is any JSON value
)

// Status is where a guest program stands at the end of a turn.
type Status uint8

// The states a turn can end in.
const (
	StatusIdle   Status = iota // the program waits for the host or a timer
	StatusDone                 // the program returned; Report.Value is set
	StatusFailed               // the program failed; Report.Err is set
)

// Settlement answers one bridge call. JSON is the value when OK, else a CallError.
type Settlement struct {
	ID   uint64
	OK   bool
	JSON []byte
}

// CallError is what a rejected bridge call looks like in the guest: a plain
// Error with Message, and the other fields as data properties where not empty.
type CallError struct {
	Message      string `json:"message"`
	Code         string `json:"code,omitempty"`
	ToolID       string `json:"toolId,omitempty"`
	EffectStatus string `json:"effectStatus,omitempty"`
	// Retryable is a property where it is true, Details where they are not empty.
	Retryable bool            `json:"retryable,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// Request is one bridge call that left the guest. Its contents are guest data.
type Request struct {
	// ID is unique and ascending within a run; the guest assigns it.
	ID     uint64
	Method Method
	// Target is the tool id or name (call, describe), the namespace id
	// (namespace), the name of the server (mcp), the query (search), the reason
	// (yield) or the name of a saved program (program, save).
	Target string
	// Path is the callable's path inside its namespace, or the name of a tool of
	// an MCP server or the two words of an operation such as resources, list; nil
	// for other methods.
	Path []string
	// Args is JSON: the input object (call), the array of arguments (namespace,
	// mcp), the options object (search, save), the array of the ids of calls (cancel),
	// the array of the depth and the input (program), else nil.
	Args []byte
}

// Output is one item emitted with text, json or console, in guest call order.
type Output struct {
	Kind OutputKind
	JSON []byte
}

// GuestError says why a program failed, in the words of the result contract.
// Stack holds frames of the submitted source only.
type GuestError struct {
	Name, Message, Stack string
	Code, Reason, Phase  string
}

// Report is the worker's account of one turn.
type Report struct {
	Status   Status
	Value    []byte // JSON, when Status is StatusDone
	Err      *GuestError
	Requests []Request
	Output   []Output
	// Pending counts bridge calls issued and not yet settled, yields included,
	// timers not.
	Pending int
	// TimerMillis is -1 without a timer, else the milliseconds until the next
	// one is due; the host then starts a turn without settlements.
	TimerMillis   int64
	CPUMicros     uint64 // CPU time of this turn
	HeapBytes     uint64 // live bytes of the guest heap after the turn
	HeapPeakBytes uint64 // highest live bytes since the guest was created
	// Trace is what a replay of this turn needs besides the settlements and the files:
	// the engine writes and reads it. It is empty from a worker of version 3, and when it would
	// be longer than MaxTrace.
	Trace []byte
}

// Limits bound one guest. Zero means the default named at each field.
type Limits struct {
	MemoryBytes    uint64 // guest heap; default 64 MiB
	MaxValueBytes  uint32 // JSON bytes of one converted value or argument list; default 8 MiB
	MaxNodes       uint32 // values in one converted value; default 1,000,000
	MaxDepth       uint32 // nesting of one converted value; default 200
	MaxOutputItems uint32 // output items in one turn; default 10,000
}

// NamespaceRef binds a guest global to a namespace id.
type NamespaceRef struct {
	Global, ID string
}

// Cell is one program with what it needs to start.
type Cell struct {
	Language   string // "javascript" or "typescript"
	Source     string
	Namespaces []NamespaceRef
	Limits     Limits
}
