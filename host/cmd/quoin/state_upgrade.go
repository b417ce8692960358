package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/terminal"
)

// stateUpgraded is what became of one run, as JSON.
type stateUpgraded struct {
	host.UpgradedRun
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func newStateUpgrade() *cobra.Command {
	var o stateOptions
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Replay suspended runs of other guest builds on this one",
		Long: `Run the programs of suspended runs that another build of the guest has suspended again
on the build of this installation, up to where they were, with the answers, files,
times and random values that they got. No tool is called. A run whose program takes
another path, or that cannot be replayed, stays as it was: its own build can go on
with it. Runs that a host is going on with at the moment are left, and said so.
Exit status: 0 all runs of other builds are upgraded, 1 some are left, 2 usage.`,
		Example: `  quoin state upgrade
  quoin state upgrade --state /var/lib/quoin --json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := o.upgrade(cmd)
			if err != nil {
				return err
			}
			if o.json {
				err = output.PrintJSON(cmd.OutOrStdout(), list)
			} else {
				err = printUpgraded(cmd.OutOrStdout(), list)
			}
			if err != nil {
				return err
			}
			return firstLeft(list)
		},
	}
	o.bind(cmd)
	return cmd
}

// upgrade replays the runs of the state directory on a host that has neither plugins nor MCP
// servers.
func (o *stateOptions) upgrade(cmd *cobra.Command) (list []stateUpgraded, err error) {
	f, err := o.load()
	if err != nil {
		return nil, err
	}
	state, err := o.existingState(f)
	if err != nil {
		return nil, err
	}
	full := o.hostConfig(f, logger(f, cmd.ErrOrStderr(), slog.LevelError))
	cfg := host.Config{Guests: full.Guests, Logger: full.Logger, Settings: full.Settings}
	cfg.Guests.Prepared = 1
	if err := o.openState(cmd.Context(), f, state, &cfg); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.closeState()) }()
	h, err := host.New(context.WithoutCancel(cmd.Context()), cfg)
	if err != nil {
		return nil, err
	}
	done, err := h.UpgradeRuns(cmd.Context())
	list = make([]stateUpgraded, len(done))
	for i, u := range done {
		list[i] = stateUpgraded{UpgradedRun: u, OK: u.Err == nil}
		if u.Err != nil {
			list[i].Error = u.Err.Error()
		}
	}
	return list, errors.Join(err, h.Close())
}

func printUpgraded(w io.Writer, list []stateUpgraded) error {
	upgraded := 0
	for _, u := range list {
		what := "upgraded from build " + fmt.Sprintf("%.12s", u.From)
		if u.OK {
			upgraded++
		} else {
			what = "left: " + u.Error
		}
		if _, err := terminal.Fprintf(w, "run %s %s\n", u.ID, what); err != nil {
			return err
		}
	}
	_, err := terminal.Fprintf(w, "%d of %d runs of other builds are upgraded\n", upgraded, len(list))
	return err
}

// firstLeft is the exit status: 1 if a run stays as it was.
func firstLeft(list []stateUpgraded) error {
	for _, u := range list {
		if !u.OK {
			return cli.ExitError{Code: cli.ExitFailed}
		}
	}
	return nil
}
