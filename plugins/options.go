package plugins

import (
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Options say how a plugin process is started and treated. Only DataDir is
// required.
type Options struct {
	// DataDir is the plugin's own folder: its HOME and working directory. It
	// is created if it does not exist.
	DataDir string
	// Config is the plugin's configuration; nil without one. It is checked against
	// the manifest's configSchema.
	Config json.RawMessage
	// Secrets are the plugin's secrets by name: the plugin gets them by Configure,
	// and they are kept out of everything that comes from it.
	Secrets map[string]SecretSource
	// StorageDir is where the host keeps the plugin's key-value storage, in a file
	// named by its id. Processes of a plugin that have the same see the same. It is
	// created when something is stored. Empty means that the plugin has no storage.
	StorageDir string
	// OpenStorage opens the storage of a plugin elsewhere, such as in a database that
	// several hosts share. StorageDir then does not count. The storage calls fail with the
	// reason when it cannot be read or written. Defaults to nil.
	OpenStorage OpenStorage
	// RunDir is where sockets and temporary files of running plugins live.
	// Defaults to a folder of this user in the system's temporary directory.
	RunDir string
	// Logger receives what the plugin logs and prints. Defaults to
	// slog.Default().
	Logger *slog.Logger
	// StartTimeout bounds the start, from exec to the first healthy answer.
	// Defaults to 15 s. Time in which this process stands still does not count,
	// here and in CallTimeout.
	StartTimeout time.Duration
	// CallTimeout bounds each call; a caller's earlier deadline counts.
	// Defaults to 2 min.
	CallTimeout time.Duration
	// CloseTimeout is how long Close lets the plugin end by itself. Defaults
	// to 5 s.
	CloseTimeout time.Duration

	clock       clock // nil: the system's
	times       times // zero outside of tests
	development bool  // the process is told that it is in development
}

// OpenStorage opens the key-value storage of a plugin, by the plugin's id.
type OpenStorage func(id string, fail func(error)) protocol.Storage

// withDefaults returns o with absolute paths and every default filled in.
func (o Options) withDefaults() (Options, error) {
	if o.DataDir == "" {
		return o, errors.New("plugins: Options.DataDir is required")
	}
	var err error
	if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return o, err
	}
	if o.StorageDir != "" {
		if o.StorageDir, err = filepath.Abs(o.StorageDir); err != nil {
			return o, err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	o.StartTimeout = orDefault(o.StartTimeout, o.times.start)
	o.CallTimeout = orDefault(o.CallTimeout, o.times.call)
	o.CloseTimeout = orDefault(o.CloseTimeout, o.times.close)
	if o.clock == nil {
		o.clock = systemClock{}
	}
	return o, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
