package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newNodeRemove() *cobra.Command {
	var o nodeOptions
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget a node",
		Long: `Forget a node and the key that this gateway has for it. The node goes on to list the
gateway until quoin node gateways --remove takes it out there; without its key, it cannot
connect.
Exit status: 0 removed, 1 not, 2 usage.`,
		Example: `  quoin node remove builder`,
		Args:    cli.OneArg("NAME", nodeHint),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, err := o.nodes()
			if err != nil {
				return err
			}
			defer nodes.Close()
			if err := nodes.Remove(args[0]); err != nil {
				return err
			}
			_, err = terminal.Fprintf(cmd.OutOrStdout(), "removed %s\n", args[0])
			return err
		},
	}
	o.bind(cmd, false)
	o.completeNodes(cmd)
	return cmd
}

func newNodeGateways() *cobra.Command {
	var o nodeOptions
	var remove string
	cmd := &cobra.Command{
		Use:   "gateways",
		Short: "List the gateways that may run commands on this node",
		Long: `List the gateways that are enrolled at this node. --remove ends the enrolment of one:
the node refuses its next request, and ends its processes.
Exit status: 0 done, 1 not, 2 usage.`,
		Example: `  quoin node gateways
  quoin node gateways --remove FINGERPRINT`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			if remove != "" {
				if err := home.RemoveGateway(remove); err != nil {
					return err
				}
				_, err := terminal.Fprintf(cmd.OutOrStdout(), "removed %s\n", remove)
				return err
			}
			list, err := home.Gateways()
			if err != nil {
				return err
			}
			if o.json {
				return output.PrintJSON(cmd.OutOrStdout(), list)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(tw, "GATEWAY\tENROLLED\tFINGERPRINT")
			for _, g := range list {
				terminal.Fprintf(tw, "%s\t%s\t%s\n", terminal.Short(g.Name), g.Enrolled.Local().Format(time.DateTime), g.Fingerprint)
			}
			return tw.Flush()
		},
	}
	o.bind(cmd, true)
	cmd.Flags().StringVar(&remove, "remove", "", "fingerprint of the gateway whose enrolment ends")
	return cmd
}
