package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/modeltools"
)

// The variables that stand in for flags.
const (
	envServer = "QUOIN_SERVER"
	envToken  = "QUOIN_TOKEN"
)

// backend is a host: one that this process makes, or one behind a server.
type backend interface {
	Exec(context.Context, host.Session, host.ExecInput) (*host.Result, error)
	WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error)
	Runs(context.Context, host.Session) ([]host.RunInfo, error)
	Tools(context.Context, host.Session) ([]catalog.Entry, error)
	Namespaces(context.Context, host.Session) ([]host.Namespace, error)
	Plugins(context.Context) ([]gateway.Plugin, error)
	MCPServers(context.Context) ([]gateway.MCPServer, error)
	ModelTools(ctx context.Context, s host.Session, p modeltools.Provider, model string) (*gateway.ModelTools, error)
}

var (
	_ backend = inProcess{}
	_ backend = (*client.Client)(nil)
)

// inProcess is a host of this process. Its methods fail only where the host refuses.
type inProcess struct{ *host.Host }

func (p inProcess) Exec(ctx context.Context, s host.Session, in host.ExecInput) (*host.Result, error) {
	return p.Host.Exec(ctx, s, in), nil
}

func (p inProcess) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	return p.Host.WaitFor(ctx, s, runID, timeout), nil
}

// delivering is an inProcess whose store keeps the result of a run until it has been
// printed.
type delivering struct {
	inProcess
	result *host.Delivery
}

func (d *delivering) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	d.result = d.Deliver(ctx, s, runID, timeout)
	return d.result.Result, nil
}

// printed says what became of the printing of the result.
func (d *delivering) printed(outcome error) {
	var exit cli.ExitError
	switch {
	case d.result == nil:
	case outcome == nil, errors.As(outcome, &exit):
		d.result.Done()
	default:
		d.result.Release()
	}
}

func (p inProcess) Tools(_ context.Context, s host.Session) ([]catalog.Entry, error) {
	return p.Host.Tools(s), nil
}

func (p inProcess) Namespaces(_ context.Context, s host.Session) ([]host.Namespace, error) {
	return p.Host.Namespaces(s), nil
}

func (p inProcess) Plugins(context.Context) ([]gateway.Plugin, error) {
	var list []gateway.Plugin
	for _, s := range p.Host.Plugins() {
		list = append(list, gateway.PluginOf(s))
	}
	return list, nil
}

func (p inProcess) ModelTools(_ context.Context, s host.Session, shape modeltools.Provider, model string) (*gateway.ModelTools, error) {
	return gateway.ModelToolsOf(p.Host, s, shape, model)
}

func (p inProcess) MCPServers(context.Context) ([]gateway.MCPServer, error) {
	return gateway.MCPServersOf(p.Host), nil
}

// remote are the flags that say which server to use instead of a host of this
// process.
type remote struct {
	server, tokenFile string
}

func (r *remote) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.server, "server", "", "URL of a quoin serve to use (default: "+envServer+", else a host of this process)")
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "file with the server's token, readable by its owner alone (default: "+envToken+")")
}

// local are the flags that only a host of this process heeds.
var local = []string{"plugins", "config", "set", "engine", "state", "record-bodies"}

// client returns the client of the server that is asked for, or nil.
func (r *remote) client(cmd *cobra.Command) (*client.Client, error) {
	server := r.server
	if !cmd.Flags().Changed("server") {
		server = os.Getenv(envServer)
	}
	if server == "" {
		if r.tokenFile != "" {
			return nil, cli.Usagef("--token-file is for a server: give its URL with --server or %s", envServer)
		}
		return nil, nil
	}
	for _, name := range local {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return nil, cli.Usagef("--%s is the server's own affair: leave it out, or leave out --server and %s", name, envServer)
		}
	}
	token, err := readToken(r.tokenFile)
	if err != nil {
		return nil, err
	}
	c, err := client.New(server, client.Options{Token: token})
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	return c, nil
}

// readToken returns the token of a file, or of the environment, or "".
func readToken(file string) (string, error) {
	if file != "" {
		return gateway.ReadToken(file)
	}
	return os.Getenv(envToken), nil
}

// forPeople is the error of a server with what a user of the command can do about it,
// where the server can only speak of its protocol.
func forPeople(err error) error {
	var refused *gateway.Problem
	if errors.As(err, &refused) && refused.Code == gateway.ProblemUnauthorized {
		return fmt.Errorf("the server's token is missing or wrong: set %s to it, or give the file that has it with --token-file", envToken)
	}
	return err
}

// failedServer is the result of a cell whose server did not answer with one.
func failedServer(err error) *host.Result {
	res := failedStart(forPeople(err))
	var refused *gateway.Problem
	if errors.As(err, &refused) && refused.Status/100 == 4 {
		res.Code, res.Phase = host.CodeInvalidInput, host.PhaseInput
	}
	// Whether tools were called is not known; to say no would invite a repetition.
	res.Dispatched = client.Sent(err)
	return res
}
