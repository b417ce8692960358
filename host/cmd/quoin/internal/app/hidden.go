package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// completeShell tells the shell plugin, if it is enabled, what of Quoin itself no command
// may see: the program, the configuration, the plugins, and what is in the state directory
// but for the plugin's own data.
func (o *Flags) completeShell(cfg *host.Config, state string) error {
	raw, enabled := cfg.Plugins.Config[settings.PluginID]
	if !enabled {
		return nil
	}
	s, err := settings.Parse(raw)
	if err != nil {
		return err
	}
	hidden, err := o.HiddenPaths(state, "plugins")
	if err != nil {
		return err
	}
	data, err := entriesBut(cfg.Plugins.DataDir, settings.PluginID)
	if err != nil {
		return err
	}
	for _, path := range slices.Concat(hidden, data, []string{cfg.Plugins.Dir}) {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		s.Sandbox.Deny = append(s.Sandbox.Deny, path)
	}
	if raw, err = json.Marshal(s); err != nil {
		return err
	}
	cfg.Plugins.Config[settings.PluginID] = raw
	return nil
}

// StateNames are in the state directory sooner or later.
var StateNames = append([]string{KeyFileName, "guest-builds", "plugins"}, sqlite.Names()...)

// HiddenPaths are what of Quoin itself no command in a sandbox of this machine may see: the
// program, the configuration, and what is in the state directory but for one name.
func (o *Flags) HiddenPaths(state, but string) ([]string, error) {
	config, err := paths.Config(o.Config)
	if err != nil {
		return nil, err
	}
	if config != "" {
		if config, err = filepath.Abs(config); err != nil {
			return nil, err
		}
	}
	hidden, err := entriesBut(state, but)
	if err != nil {
		return nil, err
	}
	for _, name := range StateNames {
		if name != but {
			hidden = append(hidden, filepath.Join(state, name))
		}
	}
	return append(slices.Concat(hidden, ownProgram()), config), nil
}

// ownProgram returns this program and the folder of its bundled plugins, if they are there: a
// command that works around them must not put others in their place.
func ownProgram() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc([]string{self, filepath.Join(filepath.Dir(self), "bundled")}, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// entriesBut are the paths of what is in a directory, without one name. A directory that is
// not there has nothing.
func entriesBut(dir, name string) (list []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what commands of the shell must not see: %w", err)
	}
	for _, e := range entries {
		if e.Name() != name {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}
