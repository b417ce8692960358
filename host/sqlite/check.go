package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/quoinhq/quoin/host/runstore"
)

// hasLog reports whether a database was not closed by the last process that had it open.
func hasLog(path string) bool {
	st, err := os.Stat(path + "-wal")
	return err == nil && st.Size() > 0
}

// check reads the structure of the whole file. The error is runstore.ErrCorrupt.
func (f *file) check(ctx context.Context) error {
	var says string
	err := f.read(ctx, func(q querier) error { return q.row(`PRAGMA quick_check(1)`, nil, &says) })
	if err == nil && says != "ok" {
		err = fmt.Errorf("%w: %s: %s: %s", runstore.ErrCorrupt, f.path, says, advice[codeCorrupt].says)
	}
	return err
}
