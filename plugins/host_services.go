package plugins

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// storageFolder is where a supervisor keeps the storages of its plugins, inside of
// its data directory. No plugin has an id that starts with a dot.
const storageFolder = ".storage"

// storageFile is the name of a plugin's storage.
func storageFile(id string) string { return id + ".kv" }

// DataPaths are where a supervisor of that data directory keeps what a plugin has
// stored: its own folder, and the file of its key-value storage.
func DataPaths(dataDir, id string) []string {
	return []string{filepath.Join(dataDir, id), filepath.Join(dataDir, storageFolder, storageFile(id))}
}

// startHostServices answers what the plugin asks of its host, as long as the connection
// lives. A plugin of version 1 cannot ask.
func (p *Process) startHostServices() {
	if p.candidate.Manifest.Protocol < 2 {
		return
	}
	var kept protocol.Storage = noStorage{}
	fail := func(err error) {
		p.log.logger.Error("the plugin's storage cannot be read or written", "error", err)
	}
	if dir, open := p.options.StorageDir, p.options.OpenStorage; open != nil {
		kept = open(p.candidate.ID(), fail)
	} else if dir != "" {
		p.storage = pluginstorage.Open(filepath.Join(dir, storageFile(p.candidate.ID())), fail)
		kept = p.storage
	}
	p.hostRequests.Go(func() {
		err := p.rpc.ServeHost(context.Background(), kept)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			p.log.logger.Error("the plugin's requests to its host are not answered any more", "error", err)
		}
	})
}

// stopHostServices ends what serveHost started. The connection has been closed.
func (p *Process) stopHostServices() error {
	p.hostRequests.Wait()
	if p.storage == nil {
		return nil
	}
	return p.storage.Close()
}

// configure hands the plugin its configuration.
func (p *Process) configure(ctx context.Context) error {
	return p.rpc.Configure(ctx, protocol.Configuration{
		DataDir: p.options.DataDir, JSON: p.options.Config, Secrets: p.secrets, Protocol: p.candidate.Manifest.Protocol,
	})
}

// noStorage stands in on a host without storage.
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
