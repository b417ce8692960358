package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
)

// version is what is known of the build of this command.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // of the checkout it was built from
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, and with --json also the commit that the command was built from,
as far as the build has recorded it, and what it was built with.`,
		Example: `  quoin version
  quoin version --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisVersion())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "quoin "+host.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func thisVersion() version {
	v := version{Version: host.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
