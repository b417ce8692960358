package codemode

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// Status says how an Exec or Wait ended.
type Status string

// The statuses of a Result.
const (
	StatusCompleted Status = "completed" // the program returned; Value holds what
	StatusWaiting   Status = "waiting"   // suspended; call Wait with RunID
	StatusFailed    Status = "failed"    // Error, Code, Reason and Phase say why
)

// Result is what the model gets of one Exec or Wait. Which fields are set
// depends on Status; MarshalJSON writes exactly those.
type Result struct {
	Status Status

	Value json.RawMessage // completed: compact JSON, null when the program returned nothing

	RunID            string // waiting
	PendingToolCalls []PendingCall
	// RetryAfter is set of a run that waits for others: a caller that does not want to hold a
	// Wait open comes back after that long. A Wait before returns as soon as there is news.
	RetryAfter time.Duration
	// PendingApprovals are what people are asked about these calls. They are for the
	// embedder, and in no JSON: what they hold, a model must not read.
	PendingApprovals []PendingApproval

	Error      string // failed: at most 8 KiB
	Code       Code
	Phase      Phase
	Dispatched bool // a tool had been called: repeating the cell may repeat its effect
	// Unchanged says of a failed result that no tool which was called can have changed
	// anything: each is read-only, or has said so. It is in no JSON.
	Unchanged bool

	Reason    Reason // waiting: always; failed: where there is one
	Output    []Output
	Telemetry Telemetry
}

// PendingCall is a bridge call. A waiting run needs its answer.
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
			Retry     int64         `json:"retryAfterMs,omitempty"`
			Output    []Output      `json:"output"`
			Telemetry *Telemetry    `json:"telemetry"`
		}{r.Status, r.RunID, r.Reason, pending, r.RetryAfter.Milliseconds(), output, &r.Telemetry})
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

// UnmarshalJSON reads what MarshalJSON writes. Members it does not know are
// passed over, so that results of a newer host can be read.
func (r *Result) UnmarshalJSON(b []byte) error {
	var in struct {
		Status     Status          `json:"status"`
		Value      json.RawMessage `json:"value"`
		RunID      string          `json:"runId"`
		Pending    []PendingCall   `json:"pendingToolCalls"`
		Retry      int64           `json:"retryAfterMs"`
		Error      string          `json:"error"`
		Code       Code            `json:"code"`
		Reason     Reason          `json:"reason"`
		Phase      Phase           `json:"phase"`
		Dispatched bool            `json:"dispatched"`
		Output     []Output        `json:"output"`
		Telemetry  Telemetry       `json:"telemetry"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	switch in.Status {
	case StatusCompleted, StatusWaiting, StatusFailed:
	default:
		return fmt.Errorf("status is %.64q, expected %s, %s or %s", string(in.Status), StatusCompleted, StatusWaiting, StatusFailed)
	}
	*r = Result{
		Status: in.Status, Value: in.Value, RunID: in.RunID, PendingToolCalls: in.Pending,
		RetryAfter: time.Duration(in.Retry) * time.Millisecond,
		Error:      in.Error, Code: in.Code, Phase: in.Phase, Dispatched: in.Dispatched,
		Reason: in.Reason, Output: in.Output, Telemetry: in.Telemetry,
	}
	return nil
}
