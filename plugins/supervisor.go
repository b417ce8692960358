package plugins

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Supervisor runs the plugins of a directory, brings back those that die, and
// leads every call to the live process. It is safe for concurrent use.
type Supervisor struct {
	options SupervisorOptions
	run     *runDir
	dir     string
	life    context.Context // ends when Close starts
	stop    context.CancelFunc
	watch   sync.WaitGroup // the watcher
	jobs    sync.WaitGroup // reloads that the watcher has started
	leaving sync.WaitGroup // plugins that were removed

	notify sync.Mutex // held while OnChange runs
	names  sync.Mutex // held while names are checked and taken

	mu      sync.Mutex
	plugins []*supervised // sorted by id; replaced as a whole

	closeOnce sync.Once
	closeErr  error
}

// changed tells the owner, one call at a time.
func (s *Supervisor) changed() {
	if s.options.OnChange == nil {
		return
	}
	s.notify.Lock()
	defer s.notify.Unlock()
	s.options.OnChange()
}

// present are the plugins there are now. The slice must not be changed.
func (s *Supervisor) present() []*supervised {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plugins
}

// plugin finds a plugin by its id.
func (s *Supervisor) plugin(id string) (*supervised, error) {
	present := s.present()
	i, ok := slices.BinarySearchFunc(present, id, compareID)
	if !ok {
		return nil, unknownPluginError(id)
	}
	return present[i], nil
}

func compareID(p *supervised, id string) int { return cmp.Compare(p.id, id) }
