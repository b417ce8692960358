package client

import (
	"context"
	"net/url"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/runstore"
)

// undoBody is the body of POST /v1/undo.
type undoBody struct {
	RunID string   `json:"runId"`
	Skip  []string `json:"skip,omitempty"`
}

// ListEffects lists the runs that can be undone, as host.Effects.List does: the session's
// runs, or the runs of all sessions if s is empty.
func (c *Client) ListEffects(ctx context.Context, s host.Session) ([]*runstore.Effects, error) {
	var list gateway.EffectList
	err := c.get(ctx, s, "/v1/effects", &list)
	return list.Runs, err
}

// Effects returns what the calls of a run have changed, as host.Host.Effects does. An
// empty session stands for any.
func (c *Client) Effects(ctx context.Context, s host.Session, runID string) (*host.RunEffects, error) {
	out := &host.RunEffects{}
	if err := c.get(ctx, s, "/v1/effects/"+url.PathEscape(runID), out); err != nil {
		return nil, err
	}
	return out, nil
}

// Undo undoes the effects of a run, as host.Effects.Undo does. An empty session stands for the
// session of the run. When ctx ends, the server continues.
func (c *Client) Undo(ctx context.Context, s host.Session, runID string, o host.UndoOptions) (*host.RunEffects, error) {
	out := &host.RunEffects{}
	if err := c.post(ctx, s, "/v1/undo", undoBody{runID, o.Skip}, out); err != nil {
		return nil, err
	}
	return out, nil
}
