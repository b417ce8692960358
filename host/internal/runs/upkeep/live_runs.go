package upkeep

import (
	"context"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
)

// Runs are the runs of this process, and the runs that it takes from the store.
type Runs interface {
	// ByID returns the run of this process with that id, or nil.
	ByID(id string) *drive.Run
	// OwnedBy returns the runs of the wanted sessions.
	OwnedBy(wanted func(codemode.Session) bool) []*drive.Run
	// Advance resumes a run until it can only wait for more than a moment, or ctx ends. It
	// reports whether the guest ran, or had nothing to run for; if not, the failure may say
	// why.
	Advance(ctx context.Context, s codemode.Session, id string) (advanced bool, _ *codemode.Error)
}
