package servecmd

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/process"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcpserver"
)

// mcpServing are the flags of mcp serve.
type mcpServing struct {
	app.Flags
	expose []string
}

// bindExpose adds the flag that says which tools MCP clients see directly.
func bindExpose(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVar(names, "expose", nil, "id or name of a tool that MCP clients see next to exec and wait; may be given again (default: mcp.server.direct)")
}

func NewMCP() *cobra.Command {
	var v mcpServing
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be an MCP server over standard input and output",
		Long: `Run a host and answer one MCP client over standard input and output, until the input
ends or a signal comes. The client sees the tools exec and wait. Logs go to standard
error. quoin serve answers MCP clients over HTTP, at /mcp.

All requests act for one session. Without --session it is a new one, so that another
process cannot go on with the runs of this one: quoin mcp snippet names one.
The first list of tools names the MCP servers that are still being connected, and the
client is told when they are there. A program that names one of them waits for it.
Guests are isolated as the configuration file says, by default as far as "required"
goes: see quoin doctor.
Exit status: 0 when the input has ended or after a signal, 1 failed, 2 usage.`,
		Example: `  quoin mcp serve
  quoin mcp serve --config quoin.json5 --state /var/lib/quoin --session desk`,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	v.BindHost(cmd, true)
	cmd.Flags().StringVar(&v.Session, "session", "", "session that all requests act for (default: a new one)")
	v.BindCaller(cmd)
	bindExpose(cmd, &v.expose)
	return cmd
}

func (v *mcpServing) run(cmd *cobra.Command) error {
	soon, now, release := process.Signals(cmd.Context())
	defer release()
	f, err := v.Load()
	if err != nil {
		return err
	}
	log := app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)
	cfg := v.HostConfig(f, log)
	cfg.MCP.Wait = -1 // the client has its first answer at once; see package mcpserver
	cfg.Plugins.Watch = f.WatchPlugins || !f.Given("plugins.watch")
	if err := v.AddDirectories(soon, f, &cfg); err != nil {
		return err
	}
	if dir := cfg.Plugins.Dir; v.Plugins == "" && f.PluginDir == "" && dir != "" && dir == paths.NextToExecutable() {
		log.Warn("the client gets the plugins next to this program, because no others are installed; --plugins none leaves them out", "dir", dir)
	}
	rec, err := v.OpenRecorders(soon, f, &cfg)
	if err != nil {
		return err
	}
	return errors.Join(v.serve(soon, now, cmd, f, cfg), rec.Close())
}

// serve runs the host of cfg and answers the client until it has gone or soon has
// ended.
func (v *mcpServing) serve(soon, now context.Context, cmd *cobra.Command, f *configfile.File, cfg host.Config) error {
	h, err := host.New(soon, cfg)
	if err != nil {
		return err
	}
	s, err := newMCPServer(h, f, cfg, v.expose)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	defer s.Close()
	if v.Session == "" {
		v.Session = "mcp-" + rand.Text()
	}
	serving, stop := context.WithCancel(context.WithoutCancel(soon))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving, v.Caller(), cmd.InOrStdin(), cmd.OutOrStdout()) }()
	select {
	case err := <-ended:
		return errors.Join(err, h.Shutdown(now))
	case <-soon.Done():
	}
	// What is running is parked, and the client has its results, before the stream ends.
	bounded, cancel := context.WithTimeout(now, ShutdownBound)
	defer cancel()
	err = h.Shutdown(bounded)
	stop()
	select {
	case failed := <-ended:
		return errors.Join(err, failed)
	case <-bounded.Done():
		return errors.Join(err, context.Cause(bounded))
	}
}

// newMCPServer is the MCP server of a host that was made of f and cfg. The processes that
// share its runs take the answers to each other's questions, and answer for each other's
// tasks.
func newMCPServer(h *host.Host, f *configfile.File, cfg host.Config, expose []string) (_ *mcpserver.Server, err error) {
	o := mcpserver.Options{MaxBody: f.Server.MaxBodyBytes, MaxCalls: f.Server.MaxCalls, MaxStreams: f.Server.MaxStreams, Direct: f.MCPServer.Direct, OthersDecide: f.MCPServer.OthersDecide, Wait: f.MCPServer.Wait, Logger: cfg.Logger}
	if len(expose) > 0 {
		o.Direct = expose
	}
	if dir, ok := cfg.Store.(interface {
		Cipher(purpose string) (cipher.AEAD, error)
	}); ok {
		if o.Cipher, err = dir.Cipher("MCP request state"); err != nil {
			return nil, err
		}
	}
	if d, ok := cfg.Store.(app.Database); ok {
		docs, err := d.Tasks()
		if err != nil {
			return nil, err
		}
		o.Tasks = mcpserver.NewTasks(docs)
	}
	return mcpserver.New(h, o)
}
