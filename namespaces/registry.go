package namespaces

import (
	"sync"
)

// Registry holds the namespaces of one process by id. The zero value is not
// usable; call NewRegistry. All methods are safe for concurrent use.
type Registry struct {
	mu       sync.RWMutex
	byID     map[string]*Registration
	byGlobal map[string]string // global name -> id
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	return &Registry{byID: map[string]*Registration{}, byGlobal: map[string]string{}}
}

// Register adds one namespace, or returns an *Error and changes nothing.
func (r *Registry) Register(reg Registration) error {
	return nil
}

// Replace makes regs the namespaces of a plugin in one step: no reader sees a
// mixture of old and new, and on an *Error nothing has changed. Empty regs
// remove all. Every registration must name the plugin.
func (r *Registry) Replace(pluginID string, regs []Registration) error {
	return nil
}

// Clear removes every namespace of a plugin and returns how many there were.
// Runs that were given a scope before keep it; what it calls is still checked
// against the catalog and the plugin when called.
func (r *Registry) Clear(pluginID string) int {
	return 0
}

// All returns every registration, sorted by id.
func (r *Registry) All() []Registration {
	return nil
}
