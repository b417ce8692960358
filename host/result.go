package host

import (
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/wire"
)

// Status says how an Exec or Wait ended.
type Status string

// The statuses of a Result.
const (
	StatusCompleted Status = "completed" // the program returned; Value holds what
	StatusWaiting   Status = "waiting"   // suspended; call Wait with RunID
	StatusFailed    Status = "failed"    // Error, Code, Reason and Phase say why
)

// Code classifies a failure. The list is append-only.
type Code string

// The codes of a failed Result.
const (
	CodeInvalidInput  Code = "invalid_input"
	CodeUnavailable   Code = "runtime_unavailable"
	CodeTimeout       Code = "timeout"
	CodeOutputLimit   Code = "output_limit_exceeded"
	CodeSnapshotLimit Code = "snapshot_limit_exceeded"
	CodeMemoryLimit   Code = "memory_limit_exceeded"
	CodeAborted       Code = "aborted"
	CodeInternal      Code = "internal_error"
)

// Reason refines a Code, or says why a Result is waiting. The list is
// append-only.
type Reason string

// The reasons of failed results.
const (
	ReasonInvalidConfig       Reason = "invalid_config"
	ReasonUnsupportedLanguage Reason = "unsupported_language"
	ReasonTypeScript          Reason = "typescript_transform_failed"
	ReasonModuleAccess        Reason = "module_access_denied"
	ReasonSyntax              Reason = "syntax_error"
	ReasonShell               Reason = "shell_command"
	ReasonRunUnavailable      Reason = "run_unavailable"
	ReasonRunExpired          Reason = "run_expired"
	ReasonRunBusy             Reason = "run_busy"
	ReasonWrongSession        Reason = "wrong_session"
	ReasonWrongRun            Reason = "wrong_run"
	ReasonTooManySuspended    Reason = "too_many_suspended_runs"
	ReasonTooManyPending      Reason = "too_many_pending_tool_calls"
	ReasonRestoreFailed       Reason = "snapshot_restore_failed"
	ReasonStoreFailed         Reason = "store_failed"
	ReasonToolsMissing        Reason = "tools_missing" // the run is kept: another host can go on with it
	ReasonNestedTool          Reason = "nested_tool_failed"
	ReasonGuestException      Reason = "guest_exception"
	ReasonSandboxViolation    Reason = "sandbox_violation"
	ReasonWorkerCrashed       Reason = "worker_crashed"
	ReasonQuota               Reason = "quota_exceeded" // of the session, its agent or the host
)

// The reasons of waiting results.
const (
	ReasonPendingTools Reason = "pending_tools"
	ReasonTimer        Reason = "timer" // the program waits for its own timers alone
	ReasonYield        Reason = "yield"
	ReasonApproval     Reason = "approval" // a person has to decide about a call
)

// Phase says whose fault a failure is.
type Phase string

// The phases of a failed Result.
const (
	PhaseInput  Phase = "input"  // the caller's: nothing ran
	PhaseGuest  Phase = "guest"  // the program's
	PhaseBridge Phase = "bridge" // between program and tools
	PhaseHost   Phase = "host"   // ours, or the machine's
)

// Result is what the model gets of one Exec or Wait. Which fields are set
// depends on Status; MarshalJSON writes exactly those.
type Result struct {
	Status Status

	Value json.RawMessage // completed: compact JSON, null when the program returned nothing

	RunID            string // waiting
	PendingToolCalls []PendingCall

	Error      string // failed: at most 8 KiB
	Code       Code
	Phase      Phase
	Dispatched bool // a tool had been called: repeating the cell may repeat its effect

	Reason    Reason // waiting: always; failed: where there is one
	Output    []Output
	Telemetry Telemetry
}

// PendingCall is a bridge call whose answer a waiting run needs.
type PendingCall struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Tool   string `json:"tool,omitempty"`
	// Input is set of calls that the run's caller is to answer: see Host.Answer.
	Input json.RawMessage `json:"input,omitempty"`
	// InputBytes is set in place of Input where the inputs of a result together are
	// larger than Settings.MaxOutput: see Host.PendingInput.
	InputBytes int64 `json:"inputBytes,omitempty"`
}

// Output is one item the program emitted since the previous result of its run.
type Output struct {
	Kind  wire.OutputKind
	Value json.RawMessage // of kind text: a JSON string
}

// MarshalJSON writes {"type":"text","text":…} or {"type":"json","value":…}.
func (o Output) MarshalJSON() ([]byte, error) {
	if o.Kind == wire.OutputText {
		return jsontext.Marshal(struct {
			Type string          `json:"type"`
			Text json.RawMessage `json:"text"`
		}{"text", o.Value})
	}
	return jsontext.Marshal(struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}{"json", o.Value})
}

// Text returns the text of an item of kind text, and "" for any other.
func (o Output) Text() string {
	var s string
	if o.Kind != wire.OutputText || json.Unmarshal(o.Value, &s) != nil {
		return ""
	}
	return s
}

// Telemetry counts what a run has done so far, over all its results. It holds no
// inputs, outputs or secrets.
type Telemetry struct {
	// CatalogSize is how many tools the run could reach, Sources how many of
	// them come from where: quoin, mcp, client.
	CatalogSize int            `json:"catalogSize"`
	Sources     map[string]int `json:"sources"`
	// Counts of tools.search, tools.describe, calls through tools, and calls
	// through namespaces.
	SearchCount    int `json:"searchCount"`
	DescribeCount  int `json:"describeCount"`
	CallCount      int `json:"callCount"`
	NamespaceCount int `json:"namespaceCount"`
	// VisibleTools are what the model itself is shown.
	VisibleTools []string `json:"visibleTools"`
	// GuestCPUMillis is processor time of the worker while it served the run, as the
	// host measured it; WallMillis is the time spent
	// inside Exec and Wait. Both in milliseconds.
	GuestCPUMillis float64 `json:"guestCpuMs"`
	WallMillis     float64 `json:"wallMs"`
	// ApprovalCount is how many calls a person was asked about;
	// ApprovalWaitMillis how long decisions were waited for, during which the
	// deadline was paused. In milliseconds.
	ApprovalCount      int     `json:"approvalCount"`
	ApprovalWaitMillis float64 `json:"approvalWaitMs"`
	// PeakHeapBytes is the most the guest's heap held; SnapshotBytes the size of
	// the newest image, 0 before the first.
	PeakHeapBytes uint64    `json:"peakHeapBytes"`
	SnapshotBytes int       `json:"snapshotBytes"`
	Isolation     Isolation `json:"isolation"`
}

// Isolation is how the worker that ran the guest was confined, as the worker
// reported it before it read the program.
type Isolation struct {
	Tier   string            `json:"tier"`
	Layers map[string]string `json:"layers"`
}

// MarshalJSON writes the fields of r's status and no others.
func (r *Result) MarshalJSON() ([]byte, error) {
	output := r.Output
	if output == nil {
		output = []Output{}
	}
	switch r.Status {
	case StatusCompleted:
		return jsontext.Marshal(struct {
			Status    Status          `json:"status"`
			Value     json.RawMessage `json:"value"`
			Output    []Output        `json:"output"`
			Telemetry *Telemetry      `json:"telemetry"`
		}{r.Status, r.Value, output, &r.Telemetry})
	case StatusWaiting:
		pending := r.PendingToolCalls
		if pending == nil {
			pending = []PendingCall{}
		}
		return jsontext.Marshal(struct {
			Status    Status        `json:"status"`
			RunID     string        `json:"runId"`
			Reason    Reason        `json:"reason"`
			Pending   []PendingCall `json:"pendingToolCalls"`
			Output    []Output      `json:"output"`
			Telemetry *Telemetry    `json:"telemetry"`
		}{r.Status, r.RunID, r.Reason, pending, output, &r.Telemetry})
	default:
		return jsontext.Marshal(struct {
			Status     Status     `json:"status"`
			Error      string     `json:"error"`
			Code       Code       `json:"code"`
			Reason     Reason     `json:"reason,omitempty"`
			Phase      Phase      `json:"phase"`
			Dispatched bool       `json:"dispatched"`
			Output     []Output   `json:"output"`
			Telemetry  *Telemetry `json:"telemetry"`
		}{r.Status, r.Error, r.Code, r.Reason, r.Phase, r.Dispatched, output, &r.Telemetry})
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
