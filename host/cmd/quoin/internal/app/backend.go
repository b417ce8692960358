package app

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

// Backend is a host: one that this process makes, or one behind a server.
type Backend interface {
	Exec(context.Context, host.Session, host.ExecInput) (*host.Result, error)
	WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error)
	Runs(context.Context, host.Session) ([]codemode.RunInfo, error)
	Approvals(context.Context, policy.Filter) ([]*policy.Approval, error)
	Tools(context.Context, host.Session) ([]catalog.Entry, error)
	Namespaces(context.Context, host.Session) ([]host.Namespace, error)
	Plugins(context.Context) ([]gateway.Plugin, error)
	MCPServers(context.Context) ([]gateway.MCPServer, error)
	ModelTools(ctx context.Context, s host.Session, p modeltools.Provider, model string) (*gateway.ModelTools, error)
}

var (
	_ Backend = Local{}
	_ Backend = (*client.Client)(nil)
)

// Local is a host of this process. Its methods fail only where the host refuses.
type Local struct{ *host.Host }

func (p Local) Exec(ctx context.Context, s host.Session, in host.ExecInput) (*host.Result, error) {
	return p.Host.Exec(ctx, s, in), nil
}

func (p Local) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	return p.Host.WaitFor(ctx, s, runID, timeout), nil
}

func (p Local) Runs(ctx context.Context, s host.Session) ([]codemode.RunInfo, error) {
	return p.Host.Runs().List(ctx, s)
}

func (p Local) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return p.Host.Approvals().List(ctx, f)
}

func (p Local) Tools(_ context.Context, s host.Session) ([]catalog.Entry, error) {
	return p.Host.Catalog(s).Tools(), nil
}

func (p Local) Namespaces(_ context.Context, s host.Session) ([]host.Namespace, error) {
	return p.Host.Catalog(s).Namespaces(), nil
}

func (p Local) Plugins(context.Context) ([]gateway.Plugin, error) {
	var list []gateway.Plugin
	for _, s := range p.Host.Plugins() {
		list = append(list, gateway.PluginOf(s))
	}
	return list, nil
}

func (p Local) ModelTools(_ context.Context, s host.Session, shape modeltools.Provider, model string) (*gateway.ModelTools, error) {
	return gateway.ModelToolsOf(p.Host, s, shape, model)
}

func (p Local) MCPServers(context.Context) ([]gateway.MCPServer, error) {
	return gateway.MCPServersOf(p.Host), nil
}
