package host

import (
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// UnmarshalJSON reads what MarshalJSON writes. Members it does not know are
// passed over, so that results of a newer host can be read.
func (r *Result) UnmarshalJSON(b []byte) error {
	var in struct {
		Status     Status          `json:"status"`
		Value      json.RawMessage `json:"value"`
		RunID      string          `json:"runId"`
		Pending    []PendingCall   `json:"pendingToolCalls"`
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
		return fmt.Errorf("status is %q, expected %s, %s or %s", text.Cut(string(in.Status), 64), StatusCompleted, StatusWaiting, StatusFailed)
	}
	*r = Result{
		Status: in.Status, Value: in.Value, RunID: in.RunID, PendingToolCalls: in.Pending,
		Error: in.Error, Code: in.Code, Phase: in.Phase, Dispatched: in.Dispatched,
		Reason: in.Reason, Output: in.Output, Telemetry: in.Telemetry,
	}
	return nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Output) UnmarshalJSON(b []byte) error {
	var in struct {
		Type  wire.OutputKind `json:"type"`
		Text  *string         `json:"text"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	switch {
	case in.Type == wire.OutputText && in.Text != nil:
		text, err := jsontext.Marshal(*in.Text)
		*o = Output{Kind: wire.OutputText, Value: text}
		return err
	case in.Type == wire.OutputJSON && in.Value != nil:
		*o = Output{Kind: wire.OutputJSON, Value: in.Value}
		return nil
	}
	return fmt.Errorf("output of type %q is not %s with text, or %s with value", text.Cut(string(in.Type), 64), wire.OutputText, wire.OutputJSON)
}
