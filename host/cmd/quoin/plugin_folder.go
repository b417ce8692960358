package main

import (
	"encoding/json"
	"maps"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/plugins"
)

// openBuilt opens the folder of a plugin for a command that reads it as a host does,
// and builds what the manifest names as the command if that is missing, as plugin dev
// and plugin test build it. It returns nil for what is no such folder.
func openBuilt(cmd *cobra.Command, dir string) (*pluginbuild.Folder, error) {
	if found := plugins.Find(dir); found.Manifest.Command == "" {
		return nil, nil // what reads it says what is wrong
	}
	folder, err := pluginbuild.Open(dir)
	if err != nil {
		return nil, err
	}
	built, err := folder.BuildMissing(cmd.Context())
	if built {
		cmd.PrintErrf("built %s\n", filepath.Join(dir, filepath.FromSlash(folder.Manifest.Command)))
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
