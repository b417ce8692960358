package plugins

import (
	"fmt"
	"path/filepath"
	"time"
)

// Bundled is a plugin that belongs to the host's program, and is trusted as that is: no
// lock and no signature counts, and no plugin of the directory takes its place.
type Bundled struct {
	// Dir is its folder, named by its id.
	Dir string
	// CallTimeout is that of its calls, if it is not that of all plugins.
	CallTimeout time.Duration
}

func (b Bundled) id() string { return filepath.Base(b.Dir) }

// bundled returns the bundled plugin of that id, or nil.
func (o *SupervisorOptions) bundled(id string) *Bundled {
	for i := range o.Bundled {
		if o.Bundled[i].id() == id {
			return &o.Bundled[i]
		}
	}
	return nil
}

// discoverAll finds the plugins to load: those that are bundled, and those of the
// directory, if there is one, that have no id of a bundled one.
func (s *Supervisor) discoverAll() ([]*supervised, error) {
	var out []*supervised
	for _, b := range s.options.Bundled {
		out = append(out, s.newSupervised(b.id(), b.Dir))
	}
	if s.dir == "" {
		return out, nil
	}
	found, err := Discover(s.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if s.options.bundled(f.ID()) != nil {
			s.options.Logger.Error("a plugin has the id of a bundled one and is left out: remove it, or name it otherwise", "plugin", f.ID(), "dir", f.Dir)
			continue
		}
		out = append(out, s.newSupervised(f.ID(), f.Dir))
	}
	return out, nil
}

// errBundled refuses to put another plugin in the place of a bundled one.
func errBundled(id string) error {
	return &StartError{PluginID: id, Refused: true, Err: fmt.Errorf("%s is a bundled plugin, whose place no other plugin takes: give yours another id", id)}
}
