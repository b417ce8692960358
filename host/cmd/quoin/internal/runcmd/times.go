package runcmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
)

// bindTimes adds --timeout and --wait.
func bindTimes(cmd *cobra.Command, timeout, wait *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", 0, "shorten how long the program may compute in one go, for example 2s")
	bindWait(cmd, wait)
}

// bindWait adds --wait.
func bindWait(cmd *cobra.Command, wait *time.Duration) {
	cmd.Flags().DurationVar(wait, "wait", 0, "how long to wait for a result, for example 2s (default: as long as the configuration allows, with --server 45s)")
}

// givenTime checks a flag of that name, which may be left out.
func givenTime(cmd *cobra.Command, name string, d time.Duration) (time.Duration, error) {
	if cmd.Flags().Changed(name) && d <= 0 {
		return 0, cli.Usagef("--%s is %s, expected a time above zero such as 2s", name, d)
	}
	return d, nil
}
