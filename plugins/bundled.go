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
	// CallTimeout is the timeout of its calls, if it differs from the timeout of all plugins.
	CallTimeout time.Duration
}

func (b Bundled) id() string { return filepath.Base(b.Dir) }

// errBundled refuses to put another plugin in the place of a bundled one.
func errBundled(id string) error {
	return &StartError{PluginID: id, Refused: true, Err: fmt.Errorf("%s is a bundled plugin, whose place no other plugin takes: give yours another id", id)}
}
