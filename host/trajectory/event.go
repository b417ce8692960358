package trajectory

import "time"

// Outcome is how a nested call ended.
type Outcome string

// The outcomes of a nested call.
const (
	OutcomeOK      Outcome = "ok"      // it resolved in the guest
	OutcomeError   Outcome = "error"   // the tool failed, or the call never reached it
	OutcomeUnknown Outcome = "unknown" // it was cut off: it may have taken effect
)

// Event is one nested call.
type Event struct {
	RunID       string        `json:"runId"`
	CallID      string        `json:"callId"`
	Method      string        `json:"method"`
	Via         string        `json:"via,omitempty"` // the namespace path the guest used, as in Issues.list
	ToolID      string        `json:"toolId,omitempty"`
	Owner       string        `json:"owner,omitempty"`
	Start       time.Time     `json:"start"`
	Duration    time.Duration `json:"durationNs"`
	Outcome     Outcome       `json:"outcome"`
	Code        string        `json:"code,omitempty"` // of the error
	InputBytes  int           `json:"inputBytes"`
	OutputBytes int           `json:"outputBytes"`
}
