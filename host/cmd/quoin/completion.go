package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
)

// What a shell offers are the names that there are now, as far as flags that stand on
// the line already say where to look. Where they cannot be had it offers nothing.

const noFiles = cobra.ShellCompDirectiveNoFileComp

// firstOf completes the first argument with names, and none after it.
func firstOf(names func(*cobra.Command) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return offered(names(cmd))
	}
}

// offered is what a shell is told of names that may not be had.
func offered(names []cobra.Completion, err error) ([]cobra.Completion, cobra.ShellCompDirective) {
	if err != nil {
		return nil, noFiles
	}
	return names, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// runs are recorded runs of the session, the newest first: all, or those that wait.
func (o *options) runs(waiting bool) func(*cobra.Command) ([]cobra.Completion, error) {
	return func(cmd *cobra.Command) ([]cobra.Completion, error) {
		d, done, err := o.trajectories(cmd)
		if err != nil {
			return nil, err
		}
		defer done()
		list, err := d.List(trajectory.Session{SessionID: o.session})
		var names []cobra.Completion
		for _, r := range list {
			if status := strings.TrimSpace(r.Status + " " + r.Reason); !waiting || r.Status == string(host.StatusWaiting) {
				names = append(names, cobra.CompletionWithDesc(r.RunID, status))
			}
		}
		return names, err
	}
}

// names are the runs that have not ended.
func (k *keeper) names(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := k.with(cmd, func(runs suspended) error {
		list, err := runs.Runs(cmd.Context(), k.asker())
		for _, r := range list {
			names = append(names, cobra.CompletionWithDesc(r.ID, strings.TrimSpace(string(r.Status)+" "+string(r.Reason))))
		}
		return err
	})
	return names, err
}

// pending are the approvals that wait for a person.
func (a *approver) pending(cmd *cobra.Command) ([]cobra.Completion, error) {
	d, done, err := a.decisions(cmd)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := d.Approvals(cmd.Context(), a.filter())
	var names []cobra.Completion
	for _, one := range list {
		if one.State == policy.StatePending {
			names = append(names, cobra.CompletionWithDesc(one.ID, terminal.Short(one.ToolID)))
		}
	}
	return names, err
}

// remembered are the approvals that were given for always.
func (a *approver) remembered(cmd *cobra.Command) ([]cobra.Completion, error) {
	d, done, err := a.decisions(cmd)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := d.Grants(cmd.Context())
	var names []cobra.Completion
	for _, one := range list {
		names = append(names, cobra.CompletionWithDesc(one.ID, terminal.Short(one.ToolID)))
	}
	return names, err
}

// installed are the plugins of the plugin directory.
func (i *installing) installed(cmd *cobra.Command) ([]cobra.Completion, error) {
	if _, err := i.where(cmd, false); err != nil {
		return nil, err
	}
	found, err := plugins.Discover(i.Dir)
	var names []cobra.Completion
	for _, f := range found {
		names = append(names, f.ID())
	}
	return names, err
}

// fields are the fields that --set takes.
func fields(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	f, err := host.Load(host.Sources{})
	if err != nil {
		return nil, noFiles
	}
	var names []cobra.Completion
	for _, v := range f.Report.Values {
		if name := v.Field + "="; strings.HasPrefix(name, begun) && !strings.HasPrefix(name, "$") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, noFiles | cobra.ShellCompDirectiveNoSpace
}

// extensions completes an argument with files that end so.
func extensions(ext ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return ext, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completePaths says which flags of a command, as far as it has them, are files of a
// kind or directories.
func completePaths(cmd *cobra.Command) {
	for flag, ext := range map[string][]string{"config": {"json5", "json"}, "token-file": nil, "address-file": nil} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		directive := cobra.ShellCompDirectiveFilterFileExt
		if ext == nil {
			directive = cobra.ShellCompDirectiveDefault
		}
		complete(cmd, flag, cobra.FixedCompletions(ext, directive))
	}
	for _, flag := range []string{"state", "plugins"} {
		if cmd.Flags().Lookup(flag) != nil {
			complete(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
		}
	}
	if cmd.Flags().Lookup("set") != nil {
		complete(cmd, "set", fields)
	}
	for _, sub := range cmd.Commands() {
		completePaths(sub)
	}
}
