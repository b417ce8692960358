package sdk

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// CallApproval is the decision of a person that a call is made by.
type CallApproval = protocol.CallApproval

// Call is one tool call in progress. It must not be used after the tool has
// returned, except for Logger.
type Call struct {
	// ID is unique within the run.
	ID string
	// Tool is the name of the tool called.
	Tool string
	// IdempotencyKey is equal for attempts that must take effect only once.
	IdempotencyKey string
	// Epoch is a fencing token: it is higher in each host that takes the run over, and 0
	// in a run that was never suspended. A tool may refuse a call of a lower epoch than it
	// has seen of Run.RunID: its host has lost the run, and does not know it yet.
	Epoch uint64
	// Run is the run that the call is made for.
	Run RunContext
	// Approval is the decision of a person that the call is made by. It is nil unless
	// the plugin's before-hook has asked for one. A tool that must not run without
	// judges its input again and compares [CallApproval.Subject].
	Approval *CallApproval
	// Logger names the tool and the call in every line.
	Logger *slog.Logger

	progress func(json.RawMessage) error
	storage  *Storage
	plugin   *Plugin
	inverse  func(protocol.Inverse) // takes how the call is undone; nil: the caller does not ask
}

// Storage returns the plugin's storage, which is the same for every call.
func (c *Call) Storage() *Storage { return c.storage }

// Steps is progress that can be counted. A host shows it as a share of the whole.
type Steps struct {
	// Done of Total units are done, whatever the unit.
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
	// Message says what is being done. Optional.
	Message string `json:"message,omitempty"`
}

// Progress tells the host how far the call is: [Steps], or any value with a JSON
// form. It is for those who watch the run; programs and models do not get it. Values
// arrive in order and before the result. If many come in a short time, a host shows
// some of them. An error means that the host no longer listens or that v has no JSON
// form; a tool may ignore it. Progress is safe for concurrent use.
func (c *Call) Progress(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("progress of %s: %w", c.Tool, err)
	}
	return c.progress(b)
}
