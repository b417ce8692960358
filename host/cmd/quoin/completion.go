package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// What a shell offers are the names that there are now, if the flags on the line already say
// where to look. Where they cannot be had it offers nothing.

// fields are the fields that --set takes.
func fields(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	f, err := configfile.Load(configfile.Sources{})
	if err != nil {
		return nil, cli.NoFiles
	}
	var names []cobra.Completion
	for _, v := range f.Report.Values {
		if name := v.Field + "="; strings.HasPrefix(name, typed) && !strings.HasPrefix(name, "$") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, cli.NoFiles | cobra.ShellCompDirectiveNoSpace
}

// finish gives commands what they do not say: one takes no arguments, and a group shows its help.
func finish(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = cli.Args(cobra.NoArgs)
	}
	if cmd.RunE == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	completePaths(cmd)
	for _, sub := range cmd.Commands() {
		finish(sub)
	}
}

// completePaths says which flags of a command, if it has them, are files of a kind or
// directories.
func completePaths(cmd *cobra.Command) {
	for flag, ext := range map[string][]string{"config": {"json5", "json"}, "token-file": nil, "address-file": nil} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		directive := cobra.ShellCompDirectiveFilterFileExt
		if ext == nil {
			directive = cobra.ShellCompDirectiveDefault
		}
		cli.CompleteFlag(cmd, flag, cobra.FixedCompletions(ext, directive))
	}
	for _, flag := range []string{"state", "plugins"} {
		if cmd.Flags().Lookup(flag) != nil {
			cli.CompleteFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
		}
	}
	if cmd.Flags().Lookup("set") != nil {
		cli.CompleteFlag(cmd, "set", fields)
	}
}
