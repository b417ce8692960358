package app

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
)

// Printer writes a list of what a backend has, as JSON or for people.
type Printer func(ctx context.Context, w io.Writer, b Backend, s host.Session, asJSON bool) error

func NewList(name, short, example string, print Printer) *cobra.Command {
	var o Flags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: example,
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.List(cmd, func(b Backend) error {
				return print(cmd.Context(), cmd.OutOrStdout(), b, o.Caller(), asJSON)
			})
		},
	}
	o.saysWhy = name == "list" || name == "plugins"
	o.Bind(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
