package child

import (
	"context"
	"crypto/tls"
	"fmt"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Options say how a plugin is started. Each is required, but Offer.
type Options struct {
	// Version of the protocol is what both sides are to speak. Offer are the versions that the
	// plugin is told of; empty for that one.
	Version int
	Offer   string
	// Dir is where the folder of the plugin's socket is made.
	Dir    string
	Output Output
	Logger hclog.Logger
	// Timeout bounds the start, where the context does not.
	Timeout time.Duration
	// PipeGrace is how long output is read once the process has ended, for descendants that
	// hold its pipes.
	PipeGrace time.Duration
}

// Connection is a process, and go-plugin's connection to it.
type Connection struct {
	*Child // nil if it did not get that far
	Conn   *grpc.ClientConn
	// TLS is the configuration of the connection, and SocketDir where the plugin must listen.
	TLS       *tls.Config
	SocketDir string

	client *goplugin.Client
	unbind func() bool
}

// Launch starts a command and connects to what it serves. It returns a connection to Close
// with an error, too. Until Release the end of ctx ends the process, and with it every wait in
// go-plugin.
func Launch(ctx context.Context, cmd *exec.Cmd, o Options) (*Connection, error) {
	c := &Connection{unbind: func() bool { return true }}
	config := &goplugin.ClientConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: protocol.Spoken(o.Version),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     o.Timeout,
		GRPCDialOptions:  protocol.DialOptions(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: o.Dir},
		Logger:           o.Logger,
		SyncStdout:       &childprocess.LineWriter{Each: o.Output.Stdout},
		SyncStderr:       &childprocess.LineWriter{Each: o.Output.Stderr},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, dir string) (runner.Runner, error) {
			cmd.Env = append(cmd.Env, spec.Env...)
			if o.Offer != "" {
				cmd.Env = append(cmd.Env, "PLUGIN_PROTOCOL_VERSIONS="+o.Offer)
			}
			c.SocketDir, c.Child = dir, New(cmd, dir, o.Output, o.PipeGrace)
			c.unbind = context.AfterFunc(ctx, c.Stop)
			return c.Child, nil
		},
	}
	c.client = goplugin.NewClient(config)
	if _, err := c.client.Start(); err != nil {
		return c, err
	}
	c.TLS = config.TLSConfig
	connected, err := c.client.Client()
	if err != nil {
		return c, err
	}
	library, ok := connected.(*goplugin.GRPCClient)
	if !ok {
		return c, fmt.Errorf("go-plugin made a %T instead of a gRPC client", connected)
	}
	c.Conn = library.Conn
	return c, nil
}

// Ran reports whether there is a process, or was one.
func (c *Connection) Ran() bool { return c.Child != nil && c.ID() != "" }

// Release leaves the process alone when the context of Launch ends.
func (c *Connection) Release() { c.unbind() }

// Close kills the process, if it still lives, waits for its end and closes the connection.
func (c *Connection) Close() {
	c.unbind()
	if c.Child != nil {
		c.Stop()
	}
	if c.Ran() {
		<-c.Done()
	}
	c.client.Kill() // the process is gone: this only closes the connection
}
