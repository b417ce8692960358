package sqlite

import (
	"log/slog"
	"time"

	"github.com/quoinhq/quoin/host/internal/takeover"
	"github.com/quoinhq/quoin/host/runstore"
)

// KeyFile is the key of a state, in its directory.
const KeyFile = "state.key"

// FileName is the database in a state directory.
const FileName = "state.db"

// The other files and folders there.
const (
	eventsName    = "trajectory.db"
	processFolder = "processes"
	lockFolder    = "locks"
	migrateLock   = "migrate.lock"
	takeOverLock  = "takeover.lock"
)

// Names returns the names of the files and folders that a state directory has of this package:
// what programs that must not see the state are kept from.
func Names() []string {
	return []string{
		FileName, FileName + "-shm", FileName + "-wal", eventsName, eventsName + "-shm", eventsName + "-wal",
		KeyFile, processFolder, lockFolder, migrateLock, takeOverLock, takeover.Folder,
	}
}

// times are what a process waits for, at most or in between.
type times struct {
	busy time.Duration // for another process that writes
	// told and untold are how often changes are looked for although nothing was heard of them,
	// where the system tells of changes and where it does not.
	told, untold time.Duration
}

var defaultTimes = times{busy: 10 * time.Second, told: 2 * time.Second, untold: 200 * time.Millisecond}

// Options say how a process uses a state.
type Options struct {
	// Key seals what is stored. Nil: the key in the file state.key of the directory, which is
	// made if there is no such file.
	Key    *runstore.Key
	Logger *slog.Logger // nil: slog.Default()
	Moving bool         // open the state also while it is being moved, to complete that

	// These are for tests.
	times times                       // zero means defaultTimes
	fault func(do func() error) error // makes one step

	networkOf func(dir string) (name string, err error) // nil: networkOf
}
