package namespaces

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Registry holds the namespaces of one process by id. The zero value is not
// usable; call NewRegistry. All methods are safe for concurrent use.
type Registry struct {
	mu sync.RWMutex
	// claims is never changed once it is here: writers replace it as a whole,
	// so a reader's copy of it is one consistent state.
	claims claims
}

// claims are who has which id and which global.
type claims struct {
	byID     map[string]*Registration
	byGlobal map[string]string // global name -> id
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	return &Registry{claims: claims{byID: map[string]*Registration{}, byGlobal: map[string]string{}}}
}

// Register adds one namespace, or returns an *Error and changes nothing.
func (r *Registry) Register(reg Registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.claims.clone()
	if err := next.add(&reg); err != nil {
		return err
	}
	r.claims = next
	return nil
}

// Replace makes regs the namespaces of a plugin in one step: no reader sees a
// mixture of old and new, and on an *Error nothing has changed. Empty regs
// remove all. Every registration must name the plugin.
func (r *Registry) Replace(pluginID string, regs []Registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.claims.clone()
	next.drop(pluginID)
	for i := range regs {
		if regs[i].PluginID != pluginID {
			return regs[i].refuse(WrongOwner, "it belongs to plugin %s and cannot be registered by plugin %s",
				quoteName(regs[i].PluginID), quoteName(pluginID))
		}
		if err := next.add(&regs[i]); err != nil {
			return err
		}
	}
	r.claims = next
	return nil
}

// Clear removes every namespace of a plugin and returns how many there were.
// Runs that were given a scope before keep it; what it calls is still checked
// against the catalog and the plugin when called.
func (r *Registry) Clear(pluginID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.claims.clone()
	n := next.drop(pluginID)
	r.claims = next
	return n
}

// All returns every registration, sorted by id.
func (r *Registry) All() []Registration {
	return r.snapshot().list(func(*Registration) bool { return true })
}

// snapshot returns the present state.
func (r *Registry) snapshot() claims {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.claims
}

func (c claims) clone() claims {
	return claims{byID: maps.Clone(c.byID), byGlobal: maps.Clone(c.byGlobal)}
}

// add claims the id and global of a registration, or refuses it.
func (c claims) add(reg *Registration) error {
	if err := reg.validate(); err != nil {
		return err
	}
	if other, taken := c.byID[reg.ID]; taken {
		return reg.refuse(DuplicateID, "the id is already registered by plugin %s", quoteName(other.PluginID))
	}
	if id, taken := c.byGlobal[reg.GlobalName]; taken {
		return reg.refuse(DuplicateGlobal, "globalName %q is already registered by %s", reg.GlobalName,
			fmt.Sprintf("namespace %q of plugin %s", id, quoteName(c.byID[id].PluginID)))
	}
	c.byID[reg.ID] = reg.clone()
	c.byGlobal[reg.GlobalName] = reg.ID
	return nil
}

// drop gives up the claims of a plugin and returns how many there were.
func (c claims) drop(pluginID string) int {
	n := 0
	for id, reg := range c.byID {
		if reg.PluginID == pluginID {
			delete(c.byID, id)
			delete(c.byGlobal, reg.GlobalName)
			n++
		}
	}
	return n
}

// list returns copies of the registrations that keep says yes to, by id.
func (c claims) list(keep func(*Registration) bool) []Registration {
	var regs []Registration
	for _, reg := range c.byID {
		if keep(reg) {
			regs = append(regs, *reg.clone())
		}
	}
	slices.SortFunc(regs, func(a, b Registration) int { return cmp.Compare(a.ID, b.ID) })
	return regs
}
