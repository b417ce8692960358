package runcmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
)

// times are --timeout and --wait.
type times struct{ timeout, wait time.Duration }

func (t *times) bind(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&t.timeout, "timeout", 0, "shorten how long the program may compute in one go, for example 2s")
	bindWait(cmd, &t.wait)
}

// into checks the times and puts them into the input of a run.
func (t *times) into(cmd *cobra.Command, in *host.ExecInput) (err error) {
	if in.Timeout, err = givenTime(cmd, "timeout", t.timeout); err == nil {
		in.Wait, err = givenTime(cmd, "wait", t.wait)
	}
	return err
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
