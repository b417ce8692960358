package sdk

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// ToolRef stands for a tool of this plugin. Give it to [Verb].
type ToolRef struct {
	name  string
	owner *Plugin
}

// Name returns the tool's name.
func (t *ToolRef) Name() string { return t.name }

// registeredTool is a tool ready to be called.
type registeredTool struct {
	info  protocol.ToolInfo
	input *inputCheck
	call  func(ctx context.Context, c *Call, input json.RawMessage) (json.RawMessage, error)
}
