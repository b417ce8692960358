package trajectory

import (
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// Kind says what an Event is about. The list is append-only.
type Kind string

// The kinds of events. Events of a run are about the model's own tool calls, exec and
// wait. Events of a call are about the calls that the program made.
const (
	RunStarted        Kind = "run_started"        // exec started it
	RunSuspended      Kind = "run_suspended"      // exec or wait returned waiting; Reason says why
	RunResumed        Kind = "run_resumed"        // wait continued it
	RunEnded          Kind = "run_ended"          // completed or failed
	ServerAwaited     Kind = "server_awaited"     // the run waits for the MCP server Owner, which is being connected for the first time
	CallStarted       Kind = "call_started"       // the tool is known and about to be called
	CallProgress      Kind = "call_progress"      // the tool reported progress; a host leaves out some of many
	CallEnded         Kind = "call_ended"         // it has settled, whether or not a tool was reached
	CallParked        Kind = "call_parked"        // its host stops while it waits for a person or the caller; another host continues it
	ApprovalRequested Kind = "approval_requested" // the call waits for a decision
	ApprovalDecided   Kind = "approval_decided"   // Decision and By say which, and who decided
	OutputMade        Kind = "output"             // the program has put Output out; only readers who ask for it get it, and it has no Seq
	Gap               Kind = "gap"                // Missed events are not here
)

// Outcome is how a nested call ended.
type Outcome string

// The outcomes of a nested call.
const (
	OutcomeOK      Outcome = "ok"      // it resolved in the guest
	OutcomeError   Outcome = "error"   // the tool failed, or the call never reached it
	OutcomeUnknown Outcome = "unknown" // it was cut off: it may have taken effect
)

// Event is one thing that happened in a run. Which fields are set depends on Kind.
// It holds the sizes of inputs and outputs. It also holds the bodies, redacted and
// capped, if the embedder has asked for them.
type Event struct {
	Kind Kind `json:"kind"`
	// Seq counts the events of a host process, of all runs, from 1.
	Seq  uint64    `json:"seq,omitempty"`
	Time time.Time `json:"time"`

	RunID   string           `json:"runId"`
	Session codemode.Session `json:"session,omitzero"`
	// ParentCallID is the id under which the model called the exec of this run, if the
	// embedder has passed it (host.WithToolCallID). It stays the same over
	// every wait.
	ParentCallID string `json:"parentCallId,omitempty"`
	// CallID is the id of the nested call, unique within its run. In a run event it
	// is the id of the model's own call of exec or wait.
	CallID string `json:"callId,omitempty"`

	// Fields of run events.
	Language      string  `json:"language,omitempty"`
	Status        string  `json:"status,omitempty"`        // completed, waiting or failed
	Reason        string  `json:"reason,omitempty"`        // of the suspension or the failure
	GuestCPUMs    float64 `json:"guestCpuMs,omitempty"`    // so far
	SnapshotBytes int     `json:"snapshotBytes,omitempty"` // of the suspended guest
	Engine        string  `json:"engine,omitempty"`        // default or native, in run_suspended and run_ended
	EngineID      string  `json:"engineId,omitempty"`      // as in the telemetry of results

	// Fields of call and approval events.
	Method       string  `json:"method,omitempty"` // call, namespace, mcp, search or describe
	Via          string  `json:"via,omitempty"`    // the namespace path the guest used, as in Issues.list
	ToolID       string  `json:"toolId,omitempty"`
	ToolName     string  `json:"toolName,omitempty"`
	Source       string  `json:"source,omitempty"` // of the tool: quoin, mcp or client
	Owner        string  `json:"owner,omitempty"`
	Outcome      Outcome `json:"outcome,omitempty"`
	EffectStatus string  `json:"effectStatus,omitempty"` // "unknown": it may have taken effect
	ApprovalID   string  `json:"approvalId,omitempty"`
	Decision     string  `json:"decision,omitempty"`
	// Rewritten says that hooks have changed the input. The input of run_started and
	// of call_ended is the changed one.
	Rewritten bool   `json:"rewritten,omitempty"`
	By        string `json:"by,omitempty"` // who decided
	// Progress is how far a call is, from 0 to 1, if its tool counts steps.
	Progress float64 `json:"progress,omitempty"`

	// Start is when the call, exec or wait started, and Duration how long it took.
	Start    time.Time     `json:"start,omitzero"`
	Duration time.Duration `json:"durationNs,omitempty"`
	// Code is the code of the failure: of a call's error or of the run's result. It is
	// program_error for an exception of the program. The program's result says internal_error
	// then.
	Code string `json:"code,omitempty"`

	// Message is the error of a failed run, in run_ended, and what a tool says that it
	// does, in call_progress: without recognised credentials, and cut to its first
	// characters.
	Message string `json:"message,omitempty"`

	InputBytes  int `json:"inputBytes,omitempty"`  // of run_started: of the program
	OutputBytes int `json:"outputBytes,omitempty"` // of run events: value and output since the last
	// Input and Output are the redacted bodies: JSON.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`

	Missed int `json:"missed,omitempty"` // of gaps
}
