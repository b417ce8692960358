package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Choice is a flag that takes one of a few words. "" means that it is not given.
type Choice struct {
	Value string
	words []string
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value. It lists the words.
func (c *Choice) Type() string { return strings.Join(c.words, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return Usagef("expected one of %s", strings.Join(c.words, ", "))
	}
	c.Value = s
	return nil
}

// BindChoice adds a flag that takes one of the words, with completion.
func BindChoice(cmd *cobra.Command, c *Choice, name, usage string, words ...string) {
	c.words = words
	cmd.Flags().Var(c, name, usage)
	CompleteFlag(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFlag registers the completion of a flag. It panics if the command has no such
// flag or the flag has a completion already.
func CompleteFlag(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// NoFiles tells the shell to offer no file names.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// CompleteFirst completes the first argument with names, and no later argument.
func CompleteFirst(names func(*cobra.Command) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, NoFiles
		}
		return offered(names(cmd))
	}
}

// offered returns what a shell is to offer: nothing if there is an error.
func offered(names []cobra.Completion, err error) ([]cobra.Completion, cobra.ShellCompDirective) {
	if err != nil {
		return nil, NoFiles
	}
	return names, NoFiles | cobra.ShellCompDirectiveKeepOrder
}

// CompleteFiles completes the first argument with files of these extensions.
func CompleteFiles(ext ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, NoFiles
		}
		return ext, cobra.ShellCompDirectiveFilterFileExt
	}
}
