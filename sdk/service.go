package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Service returns the plugin as the protocol sees it. [Serve] and the test kit
// use it; plugins need not.
func (p *Plugin) Service() protocol.Service {
	return &service{p: p, development: inDevelopment(), after: time.After}
}

var _ protocol.Service = (*service)(nil)

func (s *service) Describe(context.Context) (*protocol.Description, error) {
	d := &protocol.Description{ID: s.p.info.ID, Version: s.p.info.Version, Description: s.p.info.Description, Capabilities: s.p.capabilities()}
	for _, name := range s.p.toolOrder {
		d.Tools = append(d.Tools, s.p.tools[name].info)
	}
	for _, id := range s.p.spaceOrder {
		n := s.p.namespaces[id]
		d.Namespaces = append(d.Namespaces, protocol.NamespaceInfo{
			ID: n.ID, GlobalName: n.Global, Description: n.Description, Prompt: n.Prompt, RequiredTools: n.required, Scope: n.described(),
		})
	}
	return d, nil
}

func (s *service) Configure(ctx context.Context, c protocol.Configuration) (err error) {
	defer s.recovered("Configure", &err)
	if c.Protocol < 2 {
		s.p.host.unavailable()
	}
	for _, f := range s.p.onConfigure {
		if err := f(ctx, newConfig(s.p.info.ID, c)); err != nil {
			return protocol.NewError(protocol.KindPlugin, protocol.CodeConfigRefused, "plugin %s refuses its configuration: %v", s.p.info.ID, err)
		}
	}
	return nil
}

func (s *service) CreateScope(ctx context.Context, namespace string, run RunContext) (scope json.RawMessage, err error) {
	defer s.recovered("the scope of namespace "+namespace, &err)
	n, err := s.namespace(namespace)
	if err != nil {
		return nil, err
	}
	scope, err = s.p.scopeFor(ctx, n, run)
	if err != nil {
		return nil, toolFailure(err)
	}
	return scope, nil
}

func (s *service) MapInput(ctx context.Context, namespace string, run RunContext, mapper string, args []json.RawMessage) (input json.RawMessage, err error) {
	defer s.recovered("the argument mapping of namespace "+namespace, &err)
	n, err := s.namespace(namespace)
	if err != nil {
		return nil, err
	}
	input, err = s.p.mapInput(ctx, n, run, mapper, args)
	if err != nil {
		return nil, toolFailure(err)
	}
	return input, nil
}

func (s *service) namespace(id string) (*registeredNamespace, error) {
	if n := s.p.namespaces[id]; n != nil {
		return n, nil
	}
	return nil, protocol.NewError(protocol.KindInput, protocol.CodeUnknownNamespace, "plugin %s has no namespace %q", s.p.info.ID, id)
}

func (s *service) CallTool(ctx context.Context, req protocol.CallRequest, progress func(json.RawMessage) error) (result json.RawMessage, err error) {
	if !s.p.calls.start() {
		return nil, protocol.NewError(protocol.KindProcess, protocol.CodeDraining, "plugin %s is stopping and takes no new calls", s.p.info.ID)
	}
	defer s.p.calls.end()
	defer s.recovered("tool "+req.Tool, &err)
	t := s.p.tools[req.Tool]
	if t == nil {
		return nil, protocol.NewError(protocol.KindInput, protocol.CodeUnknownTool, "plugin %s has no tool %q", s.p.info.ID, req.Tool)
	}
	input, err := t.input.prepare(req.Input)
	if err != nil {
		return nil, err
	}
	call := &Call{
		ID: req.CallID, Tool: req.Tool, IdempotencyKey: req.IdempotencyKey, Epoch: req.Epoch, Run: req.Run, Approval: req.Approval,
		Logger: s.p.logger.With("tool", req.Tool, "call", req.CallID), progress: progress, storage: s.p.Storage(),
		plugin: s.p, inverse: req.RevertBy,
	}
	s.watched(ctx, req, func(ctx context.Context) { result, err = t.call(ctx, call, input) })
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return nil, protocol.NewError(protocol.KindTimeout, protocol.CodeTimeout, "tool %s ran out of time", req.Tool)
	}
	if err != nil {
		return nil, toolFailure(err)
	}
	return result, nil
}

func (s *service) Health(context.Context) (protocol.HealthStatus, error) {
	return protocol.HealthStatus{RunningCalls: s.p.calls.count()}, nil
}

func (s *service) Drain(ctx context.Context) (int, error) {
	return s.p.drain(ctx), nil
}

// UseHost implements protocol.HostUser.
func (s *service) UseHost(l *protocol.HostLink) {
	h := s.p.host
	h.mu.Lock()
	h.cur = l
	h.mu.Unlock()
	h.decided()
}

var _ protocol.HostUser = (*service)(nil)
