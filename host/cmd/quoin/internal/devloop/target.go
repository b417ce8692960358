package devloop

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/plugins"
)

// Host is where the plugin goes: Local or Remote.
type Host interface {
	Exec(context.Context, host.Session, host.ExecInput) (*host.Result, error)
	WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error)
	Tools(context.Context, host.Session) ([]catalog.Entry, error)
	Tool(ctx context.Context, s host.Session, id string) (*catalog.Description, error)
	Namespaces(context.Context, host.Session) ([]host.Namespace, error)
	// Develop puts a generation into service, in the place of the one before. On an error the
	// one before stays; an *[UnfitError] ends the loop.
	Develop(context.Context, plugins.Candidate) error
	// Lost is closed when the host has taken the plugin out of service by itself,
	// or has gone. Nil means never.
	Lost() <-chan struct{}
	// Undo takes the last generation out of service. What was there before Develop
	// is back when it returns.
	Undo(context.Context) error
}

var (
	_ Host = (*Local)(nil)
	_ Host = (*Remote)(nil)
)

// Local is a host of this process, which the caller closes.
type Local struct {
	*host.Host
	undo func(context.Context) error
}

// Exec runs a cell.
func (l *Local) Exec(ctx context.Context, s host.Session, in host.ExecInput) (*host.Result, error) {
	return l.Host.Exec(ctx, s, in), nil
}

// WaitFor continues a cell.
func (l *Local) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	return l.Host.WaitFor(ctx, s, runID, timeout), nil
}

// Tools lists the tools.
func (l *Local) Tools(_ context.Context, s host.Session) ([]catalog.Entry, error) {
	return l.Host.Catalog(s).Tools(), nil
}

// Tool describes one.
func (l *Local) Tool(_ context.Context, s host.Session, id string) (*catalog.Description, error) {
	return l.Catalog(s).Tool(id)
}

// Namespaces lists the namespaces.
func (l *Local) Namespaces(_ context.Context, s host.Session) ([]host.Namespace, error) {
	return l.Host.Catalog(s).Namespaces(), nil
}

// Develop puts a generation into service.
func (l *Local) Develop(ctx context.Context, f plugins.Candidate) error {
	undo, err := l.Host.Develop(ctx, f)
	if err == nil {
		l.undo = undo // the undo of the one before has nothing to undo any more
	}
	return err
}

// Lost never happens: the host is ours.
func (l *Local) Lost() <-chan struct{} { return nil }

// Undo takes it out of service.
func (l *Local) Undo(ctx context.Context) error {
	if l.undo == nil {
		return nil
	}
	return l.undo(ctx)
}

// Remote is a host behind a server of this machine.
type Remote struct {
	*client.Client
	current *client.Development
}

// Develop puts a generation into service.
func (r *Remote) Develop(ctx context.Context, f plugins.Candidate) error {
	next, err := r.Client.Develop(ctx, f.ID(), f.Dir)
	if unfit(err) {
		return &UnfitError{err}
	}
	if err != nil {
		return err
	}
	if r.current != nil {
		r.current.Close() // the server has replaced it already
	}
	r.current = next
	return nil
}

// unfit reports whether a server was not reached, or refuses whatever plugin we have.
func unfit(err error) bool {
	var p *gateway.Problem
	if !errors.As(err, &p) {
		return err != nil && !client.Sent(err)
	}
	switch p.Code {
	case gateway.ProblemUnauthorized, gateway.ProblemForbiddenAddress, gateway.ProblemForbiddenHost, gateway.ProblemDevelopment:
		return true
	}
	return false
}

// Lost is closed when the server has ended the development.
func (r *Remote) Lost() <-chan struct{} {
	if r.current == nil {
		return nil
	}
	return r.current.Done()
}

// Undo takes the plugin out of service: the server does when the request ends.
func (r *Remote) Undo(context.Context) error {
	if r.current != nil {
		r.current.Close()
	}
	return nil
}
