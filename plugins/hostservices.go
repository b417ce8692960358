package plugins

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// serveHost answers what the plugin asks of its host, as long as it lives. A plugin
// of version 1 cannot ask.
func (p *Process) serveHost() {
	if p.found.Manifest.Protocol < 2 {
		return
	}
	p.asked.Go(func() {
		err := p.rpc.ServeHost(context.Background(), noStorage{})
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			p.log.logger.Error("the plugin's requests to its host are not answered any more", "error", err)
		}
	})
}

// configure hands the plugin its configuration.
func (p *Process) configure(ctx context.Context) error {
	return p.rpc.Configure(ctx, protocol.Configuration{
		DataDir: p.options.DataDir, JSON: p.options.Config, Protocol: p.found.Manifest.Protocol,
	})
}

// noStorage is the storage of a host that has none.
type noStorage struct{}

var errNoStorage = protocol.NewError(protocol.KindProcess, protocol.CodeNoHostService, "the host keeps no storage for plugins")

func (noStorage) Get(context.Context, string) (protocol.StorageEntry, error) {
	return protocol.StorageEntry{}, errNoStorage
}

func (noStorage) Set(context.Context, string, []byte, *uint64) (uint64, error) {
	return 0, errNoStorage
}

func (noStorage) Delete(context.Context, string, *uint64) error { return errNoStorage }

func (noStorage) List(context.Context, string, string, int) ([]string, bool, error) {
	return nil, false, errNoStorage
}
