package view

import (
	"slices"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// maxDerived bounds the views that are kept of one base view.
const maxDerived = 64

// derivation says how a view differs from its base. Equal derivations make
// equal views for every caller: they hold rules and definitions, but nothing of a run.
type derivation struct {
	rules  string // policy.Layers.Key
	client string // digest of the caller's definitions
}

// viewCache keeps the newest views derived from one base view. It goes with the
// base, so that no view outlives the tools it was made of.
type viewCache struct {
	mu    sync.Mutex
	made  map[derivation]func() (*View, error)
	order []derivation // oldest first
}

// get returns the view of a derivation. If several callers ask at once, one makes it.
func (c *viewCache) get(d derivation, make func() (*View, error)) (*View, error) {
	c.mu.Lock()
	v, ok := c.made[d]
	if !ok {
		if len(c.order) == maxDerived {
			delete(c.made, c.order[0])
			c.order = slices.Delete(c.order, 0, 1)
		}
		v = sync.OnceValues(make)
		if c.made == nil {
			c.made = map[derivation]func() (*View, error){}
		}
		c.made[d] = v
		c.order = append(c.order, d)
	}
	c.mu.Unlock()
	return v()
}

// Derive returns the view that the layers leave of base, with the caller's tools.
// Without either it is base itself.
func (base *View) Derive(layers policy.Layers, client *ClientTools) (*View, error) {
	d := derivation{rules: layers.Key(), client: client.key()}
	if d == (derivation{}) {
		return base, nil
	}
	return base.derived.get(d, func() (*View, error) {
		c := base.Catalog
		var err error
		if client != nil {
			if c, err = c.Filter(client.keeps).With(client.definitions); err != nil {
				return nil, err
			}
		}
		if len(layers) > 0 {
			c = c.Filter(func(t *catalog.Tool) bool { return layers.Allows(Subject(t)) })
		}
		v := New(c, base.Registry, base.mcpNames)
		for _, name := range base.Connecting {
			if MayUse(layers, name) {
				v.Connecting = append(v.Connecting, name)
			}
		}
		return v, nil
	})
}

// MayUse reports whether rules leave anything of an MCP server, by what is known without its
// tools.
func MayUse(layers policy.Layers, server string) bool {
	return layers.Allows(policy.Tool{Source: string(catalog.SourceMCP), Owner: server, Name: "tool"})
}

// Subject is what rules know of t.
func Subject(t *catalog.Tool) policy.Tool {
	return policy.Tool{Source: string(t.Source), Owner: t.Owner, Name: t.Name}
}
