package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newNodeList() *cobra.Command {
	var o nodeOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the nodes that this gateway is enrolled at",
		Example: `  quoin node list
  quoin node list --json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			nodes, err := o.nodes()
			if err != nil {
				return err
			}
			list, err := nodes.List()
			if err != nil {
				return err
			}
			if o.json {
				return output.PrintJSON(cmd.OutOrStdout(), list)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(tw, "NODE\tADDRESS\tENROLLED\tFINGERPRINT")
			for _, e := range list {
				terminal.Fprintf(tw, "%s\t%s\t%s\t%s\n", e.Name, e.Address, e.Enrolled.Local().Format(time.DateTime), e.Fingerprint)
			}
			return tw.Flush()
		},
	}
	o.bind(cmd, true)
	return cmd
}

// testedNode is what node test says, as JSON.
type testedNode struct {
	Node string `json:"node"`
	*node.Description
	Command *judgedCommand `json:"command,omitempty"`
}

// judgedCommand is what the node would do with a command.
type judgedCommand struct {
	Outcome string   `json:"outcome"` // runs, asks or refused
	Reasons []string `json:"reasons,omitempty"`
	Dir     string   `json:"dir"`
}

func newNodeTest() *cobra.Command {
	var o nodeOptions
	cmd := &cobra.Command{
		Use:   "test NAME [COMMAND]",
		Short: "Ask a node what it is, and what it would do with a command",
		Long: `Connect to a node and say how its commands run. With COMMAND, say what the node's own
policy makes of that command line, without running it: it runs, or a person at this
gateway is asked, or it is refused. The configuration of this gateway comes on top.
Exit status: 0 the node has answered, 1 it has not, 2 usage.`,
		Example: `  quoin node test builder
  quoin node test builder 'go test ./...'`,
		Args: cli.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, err := o.nodes()
			if err != nil {
				return err
			}
			defer nodes.Close()
			n, err := nodes.Node(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), nodeTime)
			defer cancel()
			out, err := askNode(ctx, n, args[1:])
			if err != nil {
				return err
			}
			if o.json {
				return output.PrintJSON(cmd.OutOrStdout(), out)
			}
			return printTested(cmd, out)
		},
	}
	o.bind(cmd, true)
	o.completeNodes(cmd)
	return cmd
}

// askNode asks a node what it is, and about the command, if one is given.
func askNode(ctx context.Context, n *node.Node, commands []string) (*testedNode, error) {
	d, err := n.Describe(ctx)
	if err != nil {
		return nil, err
	}
	out := &testedNode{Node: n.Name(), Description: d}
	if len(commands) == 0 {
		return out, nil
	}
	v, err := n.Judge(ctx, node.Job{Line: commands[0]})
	if errors.Is(err, node.ErrRefused) {
		out.Command = &judgedCommand{Outcome: "refused", Reasons: []string{err.Error()}}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Command = &judgedCommand{Outcome: v.Outcome(), Reasons: v.Reasons, Dir: v.Dir}
	return out, nil
}

func printTested(cmd *cobra.Command, t *testedNode) error {
	where := "host " + t.Host
	if t.Tier != "" {
		where += " (tier " + t.Tier + ")"
	}
	if _, err := terminal.Fprintf(cmd.OutOrStdout(), "%s answers: quoin %s, %s, %s, security %s, ask %s\n", t.Node, terminal.Short(t.Version), terminal.Short(t.System), terminal.Line(where), terminal.Short(t.Security), terminal.Short(t.Ask)); err != nil || t.Command == nil {
		return err
	}
	line := "the command " + map[string]string{node.Runs: "runs", node.Asks: "needs the approval of a person", node.Refused: "is refused"}[t.Command.Outcome]
	if len(t.Command.Reasons) > 0 {
		line += ": " + strings.Join(t.Command.Reasons, "; ")
	}
	_, err := terminal.Fprintln(cmd.OutOrStdout(), terminal.Line(line))
	return err
}
