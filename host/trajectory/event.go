package trajectory

import (
	"encoding/json"
	"time"
)

// Kind says what an Event tells of. The list is append-only.
type Kind string

// The kinds of events. Those of a run tell of the model's own tool calls, exec and
// wait; those of a call tell of what the program called in between.
const (
	RunStarted        Kind = "run_started"        // exec began it
	RunSuspended      Kind = "run_suspended"      // exec or wait returned waiting; Reason says why
	RunResumed        Kind = "run_resumed"        // wait took it up
	RunEnded          Kind = "run_ended"          // completed or failed
	CallStarted       Kind = "call_started"       // the tool is known and about to be called
	CallProgress      Kind = "call_progress"      // the tool says how far it is; some are left out if it says so too often
	CallEnded         Kind = "call_ended"         // it has settled, whether or not a tool was reached
	CallParked        Kind = "call_parked"        // its host stops while it waits for a person or the caller; another host goes on with it
	ApprovalRequested Kind = "approval_requested" // the call waits for a decision
	ApprovalDecided   Kind = "approval_decided"   // Decision and By say which and whose
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

// Session is who a run belongs to.
type Session struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	TurnID     string `json:"runId,omitempty"` // of the agent turn
}

// owns reports whether s may read what belongs to owner. The turn of an agent does
// not count: the next one may look back.
func (s Session) owns(owner Session) bool {
	s.TurnID, owner.TurnID = "", ""
	return s == owner
}

// Event is one thing that happened in a run. Which fields are set depends on Kind.
// It holds sizes in place of inputs and outputs, unless the embedder has asked for
// bodies, which are then redacted and capped.
type Event struct {
	Kind Kind `json:"kind"`
	// Seq counts the events of a host process, of all runs, from 1.
	Seq  uint64    `json:"seq,omitempty"`
	Time time.Time `json:"time"`

	RunID   string  `json:"runId"`
	Session Session `json:"session,omitzero"`
	// ParentCallID is the id under which the model called the exec of this run, as
	// far as the embedder has told (host.WithToolCallID). It stays the same over
	// every wait.
	ParentCallID string `json:"parentCallId,omitempty"`
	// CallID is, of run events, the id of the model's own call of exec or wait, and
	// otherwise the id of the nested call, unique within its run.
	CallID string `json:"callId,omitempty"`

	// Of runs.
	Language      string  `json:"language,omitempty"`
	Status        string  `json:"status,omitempty"`        // completed, waiting or failed
	Reason        string  `json:"reason,omitempty"`        // of the suspension or the failure
	GuestCPUMs    float64 `json:"guestCpuMs,omitempty"`    // so far
	SnapshotBytes int     `json:"snapshotBytes,omitempty"` // of the suspended guest

	// Of calls and approvals.
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
	// Rewritten says that hooks have changed the input: that of run_started and
	// call_ended is then what was run, and what was sent.
	Rewritten bool   `json:"rewritten,omitempty"`
	By        string `json:"by,omitempty"` // who decided
	// Progress is how far a call is, from 0 to 1, if its tool counts steps.
	Progress float64 `json:"progress,omitempty"`

	// Of whatever took time: when it began and how long it took. Of run events that
	// is the one exec or wait.
	Start    time.Time     `json:"start,omitzero"`
	Duration time.Duration `json:"durationNs,omitempty"`
	// Code is that of the failure: of a call's error or of the run's result.
	Code string `json:"code,omitempty"`

	// Message is what a run that has failed said, of run_ended: without the credentials
	// that are recognised, and its beginning alone.
	Message string `json:"message,omitempty"`

	InputBytes  int `json:"inputBytes,omitempty"`  // of run_started: of the program
	OutputBytes int `json:"outputBytes,omitempty"` // of run events: value and output since the last
	// Input and Output are the redacted bodies: JSON.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`

	Missed int `json:"missed,omitempty"` // of gaps
}
