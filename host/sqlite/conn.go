package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// conn is what all parts of a DB have of the state.
type conn struct {
	*file
	dir        string
	times      times
	log        *slog.Logger
	key        *runstore.Key
	seal       sealedrow.Sealer
	identity   string
	process    *process
	changes    changes
	unreleased unreleased
	locks      string // the folder of the locks of documents

	ctx   context.Context // ends with Close
	close context.CancelFunc
	done  sync.WaitGroup
}

// openFile opens a file of the directory. One that its last process has not closed, because it was
// killed or the machine has failed, is checked.
func (c *conn) openFile(name, set string, o Options) (*file, error) {
	path := filepath.Join(c.dir, name)
	check := hasLog(path)
	if check {
		others, err := c.process.others()
		if err != nil {
			return nil, err
		}
		check = len(others) == 0
	}
	f, err := openFile(path, set, o)
	if err != nil || !check {
		return f, err
	}
	if err := f.check(c.ctx); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// micros is a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull is a time as it is stored, NULL if it is zero.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
