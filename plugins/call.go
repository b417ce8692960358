package plugins

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// CallRequest asks for one tool call.
type CallRequest struct {
	Tool string
	// CallID is unique within the run.
	CallID string
	// IdempotencyKey is equal for attempts that must take effect once.
	IdempotencyKey string
	// Epoch is higher in each host that takes the run over; 0 in a run that was never
	// suspended. A service may refuse a call of a lower epoch than it has seen of the run.
	Epoch uint64
	Run   namespaces.RunContext
	// Input is a JSON object.
	Input json.RawMessage
	// Approval is what allowed the call, if the plugin's own hook asked for one.
	Approval *protocol.CallApproval
	// RevertBy, which may be nil, is told how the call is undone, before CallTool returns.
	RevertBy func(protocol.Inverse)
	// Known is the tool as the caller knows it. If the plugin was reloaded
	// since, a supervisor refuses the call with CodeChanged when the tool is not
	// compatible: gone, less harmless, or with another input. Nil: whatever the
	// tool is now.
	Known *OwnedTool
}

// CallTool runs one tool. progress, which may be nil, is called for each
// progress event, in order, before CallTool returns. Every error is a
// *[protocol.Error]: its Kind tells a failure of the tool from trouble with the
// plugin, and after KindTimeout, KindCancelled, KindProcess and KindProtocol it
// is unknown whether the call took effect.
func (p *Process) CallTool(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	var result json.RawMessage
	err := p.do(ctx, "tool "+req.Tool, func(ctx context.Context) (err error) {
		result, err = p.rpc.CallTool(ctx, protocol.CallRequest{
			Tool:           req.Tool,
			CallID:         req.CallID,
			IdempotencyKey: req.IdempotencyKey,
			Epoch:          req.Epoch,
			Run:            protocol.RunContext(req.Run),
			Input:          req.Input,
			Approval:       req.Approval,
			RevertBy:       p.inverse(req.RevertBy),
		}, p.progress(progress))
		return err
	})
	return p.mask.value(result), err
}

// progress is f for what the plugin sends.
func (p *Process) progress(f func(json.RawMessage)) func(json.RawMessage) {
	if f == nil || p.mask == nil {
		return f
	}
	return func(v json.RawMessage) { f(p.mask.value(v)) }
}

// inverse is f for what the plugin sends.
func (p *Process) inverse(f func(protocol.Inverse)) func(protocol.Inverse) {
	if f == nil || p.mask == nil {
		return f
	}
	return func(i protocol.Inverse) {
		i.Input, i.Impossible = p.mask.value(i.Input), p.mask.text(i.Impossible)
		f(i)
	}
}

// CreateScope returns the scope of one of the plugin's namespaces in a run. The
// plugin is asked unless it has described a scope that is the same in every run.
// The scope is checked: it is within limits and leads to required tools only.
func (p *Process) CreateScope(ctx context.Context, namespace string, rc namespaces.RunContext) (*namespaces.Scope, error) {
	what := "the scope of namespace " + namespace
	if scope := p.scopes[namespace]; scope != nil {
		if err := p.checkAlive(what); err != nil {
			return nil, err
		}
		return scope, nil
	}
	var encoded json.RawMessage
	err := p.do(ctx, what, func(ctx context.Context) (err error) {
		encoded, err = p.rpc.CreateScope(ctx, namespace, protocol.RunContext(rc))
		return err
	})
	if err != nil {
		return nil, err
	}
	scope, err := namespaces.Decode(p.mask.value(encoded), namespaces.Limits{})
	if err == nil {
		err = scope.CheckTargets(p.requiredTools(namespace))
	}
	if err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput,
			"plugin %s made an unusable scope: %v", p.candidate.ID(), namespaces.In(namespace, err))
	}
	return scope, nil
}

// requiredTools are the tools a namespace may lead to.
func (p *Process) requiredTools(namespace string) []string {
	i := slices.IndexFunc(p.desc.Namespaces, func(n protocol.NamespaceInfo) bool { return n.ID == namespace })
	if i < 0 {
		return nil
	}
	return p.desc.Namespaces[i].RequiredTools
}

// MapInput has the plugin turn the arguments of a namespace call into a tool's
// input.
func (p *Process) MapInput(ctx context.Context, namespace string, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
	var input json.RawMessage
	err := p.do(ctx, "the argument mapping of namespace "+namespace, func(ctx context.Context) (err error) {
		input, err = p.rpc.MapInput(ctx, namespace, protocol.RunContext(rc), mapper, args)
		return err
	})
	return p.mask.value(input), err
}

// Health asks whether the plugin can take calls. Options.CallTimeout applies
// only if ctx has no deadline.
func (p *Process) Health(ctx context.Context) (protocol.HealthStatus, error) {
	var status protocol.HealthStatus
	err := p.doUntil(ctx, "Health", func(ctx context.Context) (err error) {
		status, err = p.rpc.Health(ctx)
		return err
	})
	return status, err
}

// Drain makes the plugin refuse new calls and waits, at most until ctx ends,
// for the running ones. It returns how many were left. Options.CallTimeout
// applies only if ctx has no deadline.
func (p *Process) Drain(ctx context.Context) (int, error) {
	var left int
	err := p.doUntil(ctx, "Drain", func(ctx context.Context) (err error) {
		left, err = p.rpc.Drain(ctx)
		return err
	})
	return left, err
}

// do runs one request under the call deadline and explains its failure.
func (p *Process) do(ctx context.Context, what string, request func(context.Context) error) error {
	if err := p.checkAlive(what); err != nil {
		return err
	}
	bounded, cancel := awake.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	err := request(bounded)
	if err == nil {
		return nil
	}
	e := p.explain(what, err)
	if e.Kind == protocol.KindTimeout && earlier(bounded, ctx) {
		e.Message = "plugin " + p.candidate.ID() + " did not finish " + what + " within " + p.options.CallTimeout.String()
	}
	return e
}

// earlier reports whether a has a deadline before b's.
func earlier(a, b context.Context) bool {
	da, _ := a.Deadline()
	db, ok := b.Deadline()
	return !ok || da.Before(db)
}

// doUntil is do under the deadline of ctx alone, if it has one.
func (p *Process) doUntil(ctx context.Context, what string, request func(context.Context) error) error {
	if _, ok := ctx.Deadline(); !ok {
		return p.do(ctx, what, request)
	}
	if err := p.checkAlive(what); err != nil {
		return err
	}
	if err := request(ctx); err != nil {
		return p.explain(what, err)
	}
	return nil
}

// checkAlive is the error for a request to a plugin that cannot take it; nil if it
// can.
func (p *Process) checkAlive(what string) error {
	var e *protocol.Error
	if p.stopping() {
		e = protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "plugin %s was stopped before %s", p.candidate.ID(), what)
	} else {
		select {
		case <-p.child.Done():
			e = protocol.NewError(protocol.KindProcess, protocol.CodeCrashed, "plugin %s died before %s (%s)%s", p.candidate.ID(), what, p.exitText(), p.lastOutput())
		default:
			return nil
		}
	}
	e.Effect = protocol.EffectNone
	return e
}

// explain adds to a failure what this side knows: the plugin's name, what it
// was doing, and how the process ended.
func (p *Process) explain(what string, err error) *protocol.Error {
	e := *p.mask.error(protocol.AsError(err))
	id := p.candidate.ID()
	switch e.Kind {
	case protocol.KindProcess:
		if e.Code == protocol.CodeCrashed {
			return p.crashError(what)
		}
	case protocol.KindTimeout:
		e.Message = "plugin " + id + " did not finish " + what + " in time"
	case protocol.KindCancelled:
		e.Message = what + " of plugin " + id + " was cancelled"
	case protocol.KindProtocol:
		e.Message = "plugin " + id + ", " + what + ": " + e.Message
	}
	return &e
}

// crashError returns the error for a request when its connection was lost. The
// connection does not come back, so a process that still lives is killed.
func (p *Process) crashError(what string) *protocol.Error {
	late, stop := p.options.clock.After(p.options.times.exitGrace)
	defer stop()
	select {
	case <-p.child.Done():
	case <-late:
		p.child.Stop()
		<-p.child.Done()
	}
	if p.stopping() {
		return protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "plugin %s was stopped during %s", p.candidate.ID(), what)
	}
	return protocol.NewError(protocol.KindProcess, protocol.CodeCrashed, "plugin %s died during %s (%s)%s", p.candidate.ID(), what, p.exitText(), p.lastOutput())
}
