package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// serveDebug serves a plugin that was started by hand, for quoin plugin debug to
// attach to, as often as it likes, until SIGINT or SIGTERM.
func serveDebug(p *Plugin, stderr io.Writer) error {
	l, err := listenDebug(p.info.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s %s listens on %s for quoin plugin debug.\n"+
		"This is for debugging alone: nothing is encrypted, and every process of this user can call the plugin.\n",
		p.info.ID, p.info.Version, l.Addr())
	server := grpc.NewServer(protocol.ServerOptions()...)
	protocol.Register(server, p.Service())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, server.Stop)()
	err = server.Serve(l)
	shutDown(p)
	return err
}

// listenDebug takes the socket of a plugin, unless a process is listening there.
func listenDebug(id string) (net.Listener, error) {
	path, err := protocol.DebugSocket(id)
	if err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("plugin %s is being debugged already, at %s", id, path), c.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}
