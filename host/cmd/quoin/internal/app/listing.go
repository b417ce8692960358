package app

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
)

// Printer asks a backend for a list, and returns it with what it is for people.
type Printer func(ctx context.Context, b Backend, s host.Session) (list any, text func(*strings.Builder), err error)

// NewList is a command that prints such a list.
func NewList(name, short, example string, print Printer) *cobra.Command {
	var o Flags
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: example,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.List(cmd, func(b Backend) error {
				list, text, err := print(cmd.Context(), b, o.Caller())
				if err != nil {
					return err
				}
				return o.Print(cmd, list, text)
			})
		},
	}
	o.saysWhy = name == "list" || name == "plugins"
	o.Bind(cmd, false)
	o.BindJSON(cmd)
	return cmd
}
