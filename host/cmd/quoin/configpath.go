package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// envConfig names the configuration file in place of --config.
const envConfig = "QUOIN_CONFIG"

const configUsage = "JSON5 configuration file, or none (default: " + envConfig + ", else the user's own; see quoin config path)"

// noConfig, in place of a file, says that there is to be none.
const noConfig = "none"

// configPath returns the configuration file in force, or "": that of --config, else of
// QUOIN_CONFIG, else the user's own if there is one.
func (o *options) configPath() (string, error) {
	given := o.config
	if given == "" {
		given = os.Getenv(envConfig)
	}
	switch given {
	case noConfig:
		return "", nil
	case "":
	default:
		return given, nil
	}
	path := userConfig()
	if path == "" {
		return "", nil
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	// A file that was not asked for by name decides which programs are started.
	return path, checkOwn(path, st)
}

// userConfig is where the user's own configuration file is looked for, or "" where the
// environment names no home.
func userConfig() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if runtime.GOOS == "windows" {
			dir, err = os.UserConfigDir()
		} else if dir, err = os.UserHomeDir(); err == nil {
			dir = filepath.Join(dir, ".config")
		}
		if err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "quoin", "quoin.json5")
}

func newConfigPath() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print the configuration file that is in force",
		Long: `Print the configuration file that commands read: that of --config, else of
QUOIN_CONFIG, else quoin/quoin.json5 in $XDG_CONFIG_HOME or ~/.config, if it is
there. "none" in place of a file means none.
Exit status: 0 there is one, 1 there is none, 2 usage.`,
		Example: `  quoin config path
  quoin config check "$(quoin config path)"`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := o.configPath()
			if err != nil {
				return err
			}
			if path == "" {
				return fmt.Errorf("no configuration file is in force: %s is read if it is there and neither --config nor %s names another one", userConfig(), envConfig)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", configUsage)
	return cmd
}
