package host

import (
	"context"
	"iter"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs"
)

// Runs are the runs that have not ended, of this process and of its store. A run that another
// process drives is as the store knows it. Any session's runs are shown and upgraded: the embedder
// decides who may call its methods.
type Runs struct{ engine *runs.Engine }

// Runs returns the runs that have not ended.
func (h *Host) Runs() Runs { return Runs{h.engine} }

// List returns the runs of a session, oldest first. If s names no agent turn, it lists the runs of every turn.
func (r Runs) List(ctx context.Context, s Session) ([]codemode.RunInfo, error) {
	return r.engine.Runs(ctx, s)
}

// Upgrade replays suspended runs that another build of the guest has suspended on the
// build of this host, whether the host has the other build or not, and reports the outcome of
// each once it is known. It calls no tool. A run with a non-nil Err stays as it was. The end
// of ctx, or of the loop, ends it early, and what it has done stays. The error is not nil once
// at most, at the end: the runs cannot be listed, or ctx has ended.
func (r Runs) Upgrade(ctx context.Context, o codemode.UpgradeOptions) iter.Seq2[codemode.UpgradedRun, error] {
	return r.engine.Upgrade(ctx, o)
}

// All is List of every session.
func (r Runs) All(ctx context.Context) ([]codemode.RunInfo, error) {
	return r.engine.AllRuns(ctx)
}

// Get describes a run of any session; RunInfo.Session says which session it
// belongs to. The error for a run that is not there is an *Error.
func (r Runs) Get(ctx context.Context, runID string) (codemode.RunInfo, error) {
	return r.engine.Run(ctx, runID)
}
