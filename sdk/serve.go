package sdk

import (
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Serve hands the process over to the host: it returns when the host stops the
// plugin or goes away, after the OnClose functions have run. Call it last in
// main. Run by hand, the binary explains itself and exits with status 1; with
// QUOIN_PLUGIN_DEBUG set it serves quoin plugin debug, mostly under a debugger.
//
// Standard output belongs to the handshake with the host. Print to the log
// instead; what is printed all the same is shown in the host's log.
func Serve(p *Plugin) {
	if os.Getenv(protocol.CookieKey) != protocol.CookieValue {
		if os.Getenv(protocol.EnvDebug) != "" {
			if err := serveDebug(p, os.Stderr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
		fmt.Fprintf(os.Stderr, "%s %s is a plugin for Quoin and is started by a Quoin host.\n"+
			"Put this binary and its plugin.json in a folder of the host's plugin directory.\n", p.info.ID, p.info.Version)
		os.Exit(1)
	}
	go stopWithHost(os.Stdin, p)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: protocol.Served(p.Service()),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, protocol.ServerOptions()...)...)
		},
		Logger: newLibraryLogger(os.Stderr, hclog.Warn),
	})
	shutDown(p)
}

// stopWithHost ends the process when the host is gone. The host holds the other
// end of standard input and never writes to it, so its end is the host's.
func stopWithHost(stdin io.Reader, p *Plugin) {
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		p.logger.Warn("reading standard input", "error", err)
	}
	shutDown(p)
	os.Exit(0)
}
