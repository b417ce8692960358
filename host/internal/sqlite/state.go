package sqlite

import (
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/internal/documents"
)

// Documents are the approvals, programs, pins, sign-ins and tasks of the state.
func (d *DB) Documents() statedocs.Driver {
	return statedocs.Driver{Key: d.key, Open: func(of statedocs.Purpose, o documents.DirOptions) documents.Store { return d.documents(of, o) }}
}
