package protocol

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// checkedJSON returns b if it is JSON in UTF-8, nil if it is empty, and a protocol
// error that names what otherwise.
func checkedJSON(b []byte, what string) (json.RawMessage, *Error) {
	if len(b) == 0 {
		return nil, nil
	}
	if !json.Valid(b) || !utf8.Valid(b) {
		return nil, NewError(KindProtocol, CodeMalformedReply, "%s is not JSON in UTF-8", what)
	}
	return b, nil
}

// configurationToWire refuses what the plugin's version of the protocol cannot
// carry.
func configurationToWire(c Configuration) (*protocolpb.ConfigureRequest, error) {
	w := &protocolpb.ConfigureRequest{DataDir: validText(c.DataDir), Config: c.JSON}
	if c.Protocol < 2 {
		if len(c.Secrets) > 0 {
			return nil, NewError(KindInput, CodeConfigRefused, "protocol version 1 has no secrets")
		}
		return w, nil
	}
	w.Protocol = int32(c.Protocol)
	w.Secrets = make(map[string]string, len(c.Secrets))
	for name, value := range c.Secrets {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, NewError(KindInput, CodeConfigRefused, "secret %q is not text in UTF-8", name)
		}
		w.Secrets[name] = value
	}
	return w, nil
}

func configurationFromWire(w *protocolpb.ConfigureRequest) Configuration {
	return Configuration{
		DataDir: w.GetDataDir(), JSON: nilIfEmpty(w.GetConfig()),
		Secrets: w.GetSecrets(), Protocol: max(int(w.GetProtocol()), MinVersion),
	}
}

func runToWire(r RunContext) *protocolpb.RunContext {
	return &protocolpb.RunContext{
		AgentId:    validText(r.AgentID),
		SessionKey: validText(r.SessionKey),
		SessionId:  validText(r.SessionID),
		RunId:      validText(r.RunID),
		Config:     r.Config,
		TurnId:     validText(r.TurnID),
	}
}

func runFromWire(w *protocolpb.RunContext) RunContext {
	return RunContext{
		AgentID:    w.GetAgentId(),
		SessionKey: w.GetSessionKey(),
		SessionID:  w.GetSessionId(),
		RunID:      w.GetRunId(),
		Config:     nilIfEmpty(w.GetConfig()),
		TurnID:     w.GetTurnId(),
	}
}

func nilIfEmpty(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return b
}

func callToWire(c CallRequest) *protocolpb.CallToolRequest {
	return &protocolpb.CallToolRequest{
		Tool:           validText(c.Tool),
		CallId:         validText(c.CallID),
		IdempotencyKey: validText(c.IdempotencyKey),
		Run:            runToWire(c.Run),
		Input:          c.Input,
		Approval:       callApprovalToWire(c.Approval),
		Epoch:          c.Epoch,
	}
}

func callApprovalToWire(a *CallApproval) *protocolpb.CallApproval {
	if a == nil {
		return nil
	}
	return &protocolpb.CallApproval{Id: validText(a.ID), Subject: validText(a.Subject), Edited: a.Edited, Remembered: a.Remembered}
}

func callApprovalFromWire(w *protocolpb.CallApproval) *CallApproval {
	if w == nil {
		return nil
	}
	return &CallApproval{ID: w.GetId(), Subject: w.GetSubject(), Edited: w.GetEdited(), Remembered: w.GetRemembered()}
}

func inverseToWire(i *Inverse) *protocolpb.Inverse {
	if i == nil {
		return nil
	}
	return &protocolpb.Inverse{Tool: validText(i.Tool), Input: i.Input, Impossible: validText(i.Impossible)}
}

// inverseFromWire keeps a call that has taken effect from failing because its inverse
// is of no use.
func inverseFromWire(w *protocolpb.Inverse) Inverse {
	if _, err := checkedJSON(w.GetInput(), "the input of the inverse"); err != nil {
		return Inverse{Impossible: err.Message}
	}
	return Inverse{Tool: w.GetTool(), Input: nilIfEmpty(w.GetInput()), Impossible: w.GetImpossible()}
}

func callFromWire(w *protocolpb.CallToolRequest) CallRequest {
	return CallRequest{
		Tool:           w.GetTool(),
		CallID:         w.GetCallId(),
		IdempotencyKey: w.GetIdempotencyKey(),
		Run:            runFromWire(w.GetRun()),
		Input:          nilIfEmpty(w.GetInput()),
		Approval:       callApprovalFromWire(w.GetApproval()),
		Epoch:          w.GetEpoch(),
	}
}

func descriptionToWire(d *Description) *protocolpb.DescribeResponse {
	w := &protocolpb.DescribeResponse{Id: validText(d.ID), Version: validText(d.Version), Description: validText(d.Description), Capabilities: capabilitiesToWire(d.Capabilities)}
	for _, t := range d.Tools {
		w.Tools = append(w.Tools, toolToWire(t))
	}
	for _, n := range d.Namespaces {
		w.Namespaces = append(w.Namespaces, namespaceToWire(n))
	}
	return w
}

func toolToWire(t ToolInfo) *protocolpb.Tool {
	w := &protocolpb.Tool{
		Name:        validText(t.Name),
		Label:       validText(t.Label),
		Description: validText(t.Description),
		Parameters:  t.Parameters,
		Output:      t.Output,
		ReadOnly:    t.ReadOnly,
		Idempotent:  t.Idempotent,
		Revertible:  t.Revertible,
	}
	for _, e := range t.Examples {
		w.Examples = append(w.Examples, &protocolpb.Example{
			Description: validText(e.Description), Input: e.Input, Output: e.Output,
		})
	}
	return w
}

func namespaceToWire(n NamespaceInfo) *protocolpb.Namespace {
	w := &protocolpb.Namespace{
		Id:          validText(n.ID),
		GlobalName:  validText(n.GlobalName),
		Description: validText(n.Description),
		Prompt:      validText(n.Prompt),
		Scope:       n.Scope,
	}
	for _, t := range n.RequiredTools {
		w.RequiredTools = append(w.RequiredTools, validText(t))
	}
	return w
}

func descriptionFromWire(w *protocolpb.DescribeResponse) (*Description, *Error) {
	d := &Description{ID: w.GetId(), Version: w.GetVersion(), Description: w.GetDescription(), Capabilities: capabilitiesFromWire(w.GetCapabilities())}
	for _, wt := range w.GetTools() {
		t, err := toolFromWire(wt)
		if err != nil {
			return nil, err
		}
		d.Tools = append(d.Tools, t)
	}
	for _, n := range w.GetNamespaces() {
		scope, err := checkedJSON(n.GetScope(), "the scope of namespace "+n.GetId())
		if err != nil {
			return nil, err
		}
		d.Namespaces = append(d.Namespaces, NamespaceInfo{
			ID:            n.GetId(),
			GlobalName:    n.GetGlobalName(),
			Description:   n.GetDescription(),
			Prompt:        n.GetPrompt(),
			RequiredTools: n.GetRequiredTools(),
			Scope:         scope,
		})
	}
	return d, nil
}

func toolFromWire(w *protocolpb.Tool) (ToolInfo, *Error) {
	t := ToolInfo{
		Name:        w.GetName(),
		Label:       w.GetLabel(),
		Description: w.GetDescription(),
		ReadOnly:    w.GetReadOnly(),
		Idempotent:  w.GetIdempotent(),
		Revertible:  w.GetRevertible(),
	}
	var err *Error
	if t.Parameters, err = checkedJSON(w.GetParameters(), "the input schema of tool "+t.Name); err != nil {
		return t, err
	}
	if t.Output, err = checkedJSON(w.GetOutput(), "the output schema of tool "+t.Name); err != nil {
		return t, err
	}
	for _, we := range w.GetExamples() {
		e := Example{Description: we.GetDescription()}
		if e.Input, err = checkedJSON(we.GetInput(), "an example input of tool "+t.Name); err != nil {
			return t, err
		}
		if e.Output, err = checkedJSON(we.GetOutput(), "an example output of tool "+t.Name); err != nil {
			return t, err
		}
		t.Examples = append(t.Examples, e)
	}
	return t, nil
}

func capabilitiesFromWire(w *protocolpb.Capabilities) Capabilities {
	return Capabilities{BeforeToolCall: w.GetBeforeToolCall(), AfterToolCall: w.GetAfterToolCall(), HookTools: w.GetHookTools()}
}

func capabilitiesToWire(c Capabilities) *protocolpb.Capabilities {
	if !c.Hooks() && len(c.HookTools) == 0 {
		return nil
	}
	w := &protocolpb.Capabilities{BeforeToolCall: c.BeforeToolCall, AfterToolCall: c.AfterToolCall}
	for _, p := range c.HookTools {
		w.HookTools = append(w.HookTools, validText(p))
	}
	return w
}
