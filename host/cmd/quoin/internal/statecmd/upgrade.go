package statecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/terminal"
)

// Upgraded is what became of one run, as JSON.
type Upgraded struct {
	codemode.UpgradedRun
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func newUpgrade() *cobra.Command {
	var o options
	var u codemode.UpgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Replay suspended runs of other guest builds on this one",
		Long: `Run again, on the build of this installation, the programs of runs that another build
of the guest has suspended, up to where they were, with the answers, files, times and
random values that they got. No tool is called. A run whose program takes
another path, or that cannot be replayed, stays as it was: its own build can go on
with it. Runs that a host has at work at the moment are left, and printed as such.
With --dry-run nothing is stored: it says which runs can be upgraded. The command
prints each run when it is done. You may interrupt the command and repeat it.
Exit status: 0 all runs of other builds are upgraded, 1 some are left, 2 usage.`,
		Example: `  quoin state upgrade --dry-run
  quoin state upgrade --state /var/lib/quoin --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := func(r Upgraded) error { return printUpgraded(cmd.OutOrStdout(), r, u.DryRun) }
			if o.JSON {
				tell = func(Upgraded) error { return nil }
			}
			list, err := o.upgrade(cmd, u, tell)
			if o.JSON && list != nil {
				err = cmp.Or(output.PrintJSON(cmd.OutOrStdout(), list), err)
			} else if err == nil {
				err = printUpgrades(cmd.OutOrStdout(), list, u.DryRun)
			}
			if err != nil {
				return err
			}
			return firstLeft(list)
		},
	}
	o.bind(cmd)
	cmd.Flags().BoolVar(&u.DryRun, "dry-run", false, "replay and store nothing")
	return cmd
}

// upgrade replays the runs of the state directory on a host that has neither plugins nor MCP
// servers, and tells of each.
func (o *options) upgrade(cmd *cobra.Command, u codemode.UpgradeOptions, tell func(Upgraded) error) (list []Upgraded, err error) {
	f, state, err := o.Existing()
	if err != nil {
		return nil, err
	}
	full := o.HostConfig(f, app.Logger(f, cmd.ErrOrStderr(), slog.LevelError))
	cfg := host.Config{Guests: full.Guests, Logger: full.Logger, Settings: full.Settings}
	cfg.Guests.Prepared = 1
	if err := o.OpenState(cmd.Context(), f, state, &cfg); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.CloseState()) }()
	h, err := host.New(context.WithoutCancel(cmd.Context()), cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	list = []Upgraded{}
	for run, err := range h.Runs().Upgrade(cmd.Context(), u) {
		if errors.Is(err, context.Canceled) {
			return list, fmt.Errorf("interrupted after %d runs, which stay as they are now: repeat the command for the others", len(list))
		}
		if err != nil {
			return list, err
		}
		r := Upgraded{UpgradedRun: run, OK: run.Err == nil}
		if run.Err != nil {
			r.Error = run.Err.Error()
		}
		list = append(list, r)
		if err := tell(r); err != nil {
			return list, err
		}
	}
	return list, nil
}

func printUpgraded(w io.Writer, r Upgraded, dry bool) error {
	what := "upgraded"
	switch {
	case !r.OK && dry:
		what = "would be left: " + r.Error
	case !r.OK:
		what = "left: " + r.Error
	case dry:
		what = "can be upgraded"
	}
	if r.OK {
		what += fmt.Sprintf(" from build %.12s", r.From)
	}
	_, err := terminal.Fprintf(w, "run %s %s\n", r.ID, what)
	return err
}

func printUpgrades(w io.Writer, list []Upgraded, dry bool) error {
	upgraded := 0
	for _, r := range list {
		if r.OK {
			upgraded++
		}
	}
	are := "are"
	if dry {
		are = "can be"
	}
	_, err := terminal.Fprintf(w, "%d of %d runs of other builds %s upgraded\n", upgraded, len(list), are)
	return err
}

// firstLeft is the exit status: 1 if a run stays as it was.
func firstLeft(list []Upgraded) error {
	for _, u := range list {
		if !u.OK {
			return cli.ExitError{Code: cli.ExitFailed}
		}
	}
	return nil
}
