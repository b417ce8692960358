package plugincmd

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// openBuilt opens the folder of a plugin for a command that reads it as a host does, and
// builds the command of this platform if it is missing, as plugin dev builds it. It returns
// nil for what is no such folder.
func openBuilt(cmd *cobra.Command, dir string) (*pluginbuild.Folder, error) {
	return openWith(cmd, dir, (*pluginbuild.Folder).BuildMissing)
}

// openFresh is openBuilt for what the author of the plugin does: the command is built from the
// sources as they are, and with every also the commands of other platforms.
func openFresh(cmd *cobra.Command, dir string, every bool) (*pluginbuild.Folder, error) {
	return openWith(cmd, dir, func(f *pluginbuild.Folder, ctx context.Context) ([]string, error) {
		platforms := []string{manifest.HostPlatform()}
		if every {
			platforms = slices.Sorted(maps.Keys(f.Manifest.Binaries()))
		}
		return f.BuildHere(ctx, platforms...)
	})
}

func openWith(cmd *cobra.Command, dir string, build func(*pluginbuild.Folder, context.Context) ([]string, error)) (*pluginbuild.Folder, error) {
	if m := plugins.Find(dir).Manifest; m.Command == "" && m.Commands == nil {
		return nil, nil // what reads it says what is wrong
	}
	folder, err := pluginbuild.Open(dir)
	if err != nil {
		return nil, err
	}
	built, err := build(folder, cmd.Context())
	for _, command := range built {
		cmd.PrintErrf("built %s\n", filepath.Join(dir, filepath.FromSlash(command)))
	}
	return folder, err
}

// inDevelopment are the configurations and the secrets of plugins, with those that
// dev.json5 has for the plugin in folder, unless the configuration says something of
// it. A nil folder adds nothing.
func inDevelopment(f *configfile.File, folder *pluginbuild.Folder) (map[string]json.RawMessage, map[string]map[string]plugins.SecretSource) {
	configs, secrets := maps.Clone(f.PluginConfig), maps.Clone(f.PluginSecrets)
	if folder == nil {
		return configs, secrets
	}
	if id := folder.ID(); folder.Config != nil && configs[id] == nil {
		if configs == nil {
			configs = map[string]json.RawMessage{}
		}
		configs[id] = folder.Config
	}
	if id := folder.ID(); folder.Secrets != nil && secrets[id] == nil {
		if secrets == nil {
			secrets = map[string]map[string]plugins.SecretSource{}
		}
		secrets[id] = folder.Secrets
	}
	return configs, secrets
}
