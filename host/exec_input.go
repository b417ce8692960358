package host

import (
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
)

// ExecInput is what a model gives to exec.
type ExecInput struct {
	// Code is the program. Command is an alias of it for hook policies; when
	// both are given they must be equal, and a blank alias is ignored.
	Code, Command string
	// Language is "javascript" (the default) or "typescript".
	Language string
	// Title says in a few words what the program is for. It is not interpreted.
	Title string
	// Tools are the caller's own, for this run alone; Source is left out and Owner
	// defaults to "client". Calls of a tool with Invoke are answered by it, as long
	// as this process lives. Calls of a tool without Invoke are answered by Answer:
	// once the program waits for nothing else, the run is waiting, with these calls
	// and their inputs in PendingToolCalls.
	Tools []catalog.Tool
	// Rules narrow what the run reaches beyond Config.Rules, its own Tools included.
	Rules policy.Rules
	// Timeout shortens Settings.Timeout for this call: how long the program may compute
	// in one go. Zero means no change.
	Timeout time.Duration
	// Wait is how long the caller is willing to wait for a result, at most Settings.Wait,
	// which zero stands for. Then the result says that the program is waiting.
	Wait time.Duration

	request *view.ClientTools // of the ModelTools that the call came through
}

// forEngine returns the input as the engine takes it.
func (in ExecInput) forEngine() run.Input {
	return run.Input{Code: in.Code, Command: in.Command, Language: in.Language, Title: in.Title,
		Tools: in.Tools, Rules: in.Rules, Timeout: in.Timeout, Wait: in.Wait, Request: in.request}
}
