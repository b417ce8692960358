package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/internal/shell/node"
)

// newNode is what has to do with other machines that run shell commands, on both sides.
func newNode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run shell commands on other machines, and be one",
		Long: `A node is a machine that runs shell commands for a gateway, which is another Quoin.
On the node, serve runs it, and invite lets one gateway enrol. On the gateway, add takes
what invite has printed. Both sides then know the key of the other, and no one else's.
Without a command, it is quoin node list.`,
		Example: `  quoin node serve --listen 192.0.2.7:8788
  quoin node invite --address build.example.com:8788
  quoin node add builder --address build.example.com:8788 --token-file token`,
		Args: cli.Args(cobra.NoArgs),
	}
	list := newNodeList()
	cmd.RunE = list.RunE
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(newNodeServe(), newNodeInvite(), newNodeGateways(), newNodeAdd(), newNodeList(), newNodeTest(), newNodeRemove())
	return cmd
}

// nodeOptions are the flags of the commands about nodes.
type nodeOptions struct {
	app.Flags
	json bool
}

func (o *nodeOptions) bind(cmd *cobra.Command, json bool) {
	o.BindConfig(cmd)
	cmd.Flags().StringVar(&o.State, "state", "", "state directory (default: in the user's state home)")
	if json {
		cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	}
}

// directory is one in the state directory, which no other user may change.
func (o *nodeOptions) directory(of func(string) string) (string, error) {
	f, err := o.Load()
	if err != nil {
		return "", err
	}
	state, err := o.StateDir(f)
	if err != nil {
		return "", err
	}
	return of(state), paths.CheckState(state)
}

// nodesDir is where a gateway keeps the nodes that it is enrolled at.
func nodesDir(state string) string { return filepath.Join(state, "nodes") }

// nodeHome is where a node keeps its key and the gateways that are enrolled at it.
func nodeHome(state string) string { return filepath.Join(state, "node") }

// nodes are those that this gateway is enrolled at.
func (o *nodeOptions) nodes() (*node.Nodes, error) {
	dir, err := o.directory(nodesDir)
	if err != nil {
		return nil, err
	}
	return node.Open(dir), nil
}

// home is that of this node.
func (o *nodeOptions) home() (*node.Home, error) {
	dir, err := o.directory(nodeHome)
	if err != nil {
		return nil, err
	}
	return node.OpenHome(dir), nil
}

// completeNodes offers the names of the enrolled nodes.
func (o *nodeOptions) completeNodes(cmd *cobra.Command) {
	cmd.ValidArgsFunction = cli.CompleteFirst(func(*cobra.Command) ([]cobra.Completion, error) {
		nodes, err := o.nodes()
		if err != nil {
			return nil, err
		}
		list, err := nodes.List()
		var names []cobra.Completion
		for _, e := range list {
			names = append(names, e.Name)
		}
		return names, err
	})
}

const nodeHint = "which quoin node list shows"
