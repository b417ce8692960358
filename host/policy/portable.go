package policy

import (
	"context"

	"github.com/quoinhq/quoin/internal/documents"
)

// Portable returns what is carried when a state is moved, apart from the approvals of
// runs. It is for commands of this module.
func (s *StoredApprovals) Portable() []documents.Portable {
	return []documents.Portable{{Store: s.docs, Kind: "grant", Ext: grantExt, Locked: true}}
}

// Discard removes the approvals of runs that have moved to another state: if a run comes back,
// its approvals come with it. It is for commands of this module.
func (s *StoredApprovals) Discard(ctx context.Context, ids ...string) error {
	return s.forget(ctx, ids...)
}
