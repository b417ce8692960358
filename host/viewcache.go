package host

import (
	"slices"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// maxDerived bounds the views that are kept of one base view.
const maxDerived = 64

// derivation says how a view differs from its base. Equal ones make equal views,
// for every caller: they hold rules and definitions, and nothing of any run.
type derivation struct {
	rules  string // policy.Layers.Key
	client string // digest of the caller's definitions
}

// viewCache keeps the newest views derived from one base view. It goes with the
// base, so that no view outlives the tools it was made of.
type viewCache struct {
	mu    sync.Mutex
	made  map[derivation]func() (*view, error)
	order []derivation // oldest first
}

// get returns the view of a derivation. If several callers ask at once, one makes it.
func (c *viewCache) get(d derivation, make func() (*view, error)) (*view, error) {
	c.mu.Lock()
	v, ok := c.made[d]
	if !ok {
		if len(c.order) == maxDerived {
			delete(c.made, c.order[0])
			c.order = slices.Delete(c.order, 0, 1)
		}
		v = sync.OnceValues(make)
		if c.made == nil {
			c.made = map[derivation]func() (*view, error){}
		}
		c.made[d] = v
		c.order = append(c.order, d)
	}
	c.mu.Unlock()
	return v()
}

// sessionView returns what the rules leave to a session.
func (h *Host) sessionView(s Session) *view {
	v, err := h.deriveView(h.policy.For(s.AgentID, s.SessionKey), nil)
	if err != nil { // only tools of a caller can be refused
		h.log.Error("a session's tools could not be listed", "error", err)
		base := h.view.Load()
		return h.newView(base.catalog.Filter(func(*catalog.Tool) bool { return false }), base.registry)
	}
	return v
}

// deriveView returns the view of the present base that the layers leave, with the
// caller's tools. Without either it is the base itself.
func (h *Host) deriveView(layers policy.Layers, client *clientTools) (*view, error) {
	base := h.view.Load()
	d := derivation{rules: layers.Key(), client: client.key()}
	if d == (derivation{}) {
		return base, nil
	}
	return base.derived.get(d, func() (*view, error) {
		c := base.catalog
		var err error
		if client != nil {
			if c, err = c.Filter(client.keeps).With(client.definitions); err != nil {
				return nil, err
			}
		}
		if len(layers) > 0 {
			c = c.Filter(func(t *catalog.Tool) bool { return layers.Allows(subject(t)) })
		}
		return h.newView(c, base.registry), nil
	})
}

// subject is what rules know of t.
func subject(t *catalog.Tool) policy.Tool {
	return policy.Tool{Source: string(t.Source), Owner: t.Owner, Name: t.Name}
}
