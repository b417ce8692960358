package plugins

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// do runs one request under a lease.
func (p *supervised) do(ctx context.Context, request func(l lease) error) error {
	l, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer l.g.release()
	err = request(l)
	l.g.checkResponsive(l.live, err)
	return err
}

func (p *supervised) callTool(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (result json.RawMessage, err error) {
	err = p.do(ctx, func(l lease) error {
		if err := req.compatible(p.id, l.desc); err != nil {
			return err
		}
		result, err = l.live.CallTool(ctx, req, progress)
		return err
	})
	return result, err
}

// registration returns a namespace with functions that call the generation on duty.
func (p *supervised) registration(of *protocol.Description, n protocol.NamespaceInfo) namespaces.Registration {
	create := func(ctx context.Context, rc namespaces.RunContext) (scope any, err error) {
		err = p.doRestarted(ctx, func(l lease) error {
			if err := sameNamespace(p.id, n.ID, of, l.desc); err != nil {
				return err
			}
			s, err := l.live.CreateScope(ctx, n.ID, rc)
			if err != nil {
				return err
			}
			scope = s
			return nil
		})
		return scope, err
	}
	mapper := func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (input json.RawMessage, err error) {
		err = p.do(ctx, func(l lease) error {
			if err := sameNamespace(p.id, n.ID, of, l.desc); err != nil {
				return err
			}
			input, err = l.live.MapInput(ctx, n.ID, rc, mapper, args)
			return err
		})
		return input, err
	}
	return registration(p.id, n, create, mapper)
}
