package drive

import (
	"context"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// Run is one cell from Exec to its end, across any number of Waits, with what drives its
// guest. The driver belongs to the goroutine that has made the run active.
type Run struct {
	*pipeline.Run
	env  *Env
	pool guests.Pool // of the build of the guest that its images belong to
	// idleSince is when the guest has run last, or the run has arrived in this process; the
	// driver's own.
	idleSince time.Time

	replay *replay.Log // the driver's own; nil: the run needs no log
	driver *driver

	handover
}

// Env is what the drivers of all runs of a host share.
type Env struct {
	*pipeline.Env
	Home        Home
	callWorkers *callWorkers[callJob]
	lostWorkers lostWorkers
	replayRoom  atomic.Int64  // bytes that logs of runs may still take
	Parking     chan struct{} // closed when runs are to be parked as soon as they can
}

// Home is what a driver asks of the engine that the run belongs to.
type Home interface {
	// IsClosing reports whether the host lets nothing new in.
	IsClosing() bool
	// Remove forgets a run of this process.
	Remove(*Run)
	// Remember notes what a wait for a run is told that has ended.
	Remember(id string, s codemode.Session, why *codemode.Error)
	// LeftDue tells other hosts of a run that can continue and that this one is about to
	// release.
	LeftDue(id string)
	// MakeRoom releases runs that other processes have, and reports whether it did since
	// a moment.
	MakeRoom(ctx context.Context, since time.Time) (moved bool, err error)
	// KeepBuild keeps the build of a guest that a stored run needs.
	KeepBuild(ctx context.Context, pool guests.Pool)
}

// callJob is a call that has a slot of its run.
type callJob struct {
	run  *Run
	call *calls.Entry
	lost error // why the store does not know of the call, which is then not made
}

// HoldsImage reports whether the run has its image in memory, apart from its store. It is for
// tests.
func (r *Run) HoldsImage() bool { return r.driver.image != nil }

// Info describes the run, unless it has ended.
func (r *Run) Info() (info codemode.RunInfo, ok bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	info = codemode.RunInfo{ID: r.ID, Session: r.Session, Language: r.Language, Status: codemode.RunRunning, Created: r.Created, Origin: r.env.Origin}
	info.PendingToolCalls, info.Reason = r.Calls.Describe(r.Settings.MaxOutput)
	state := r.Now()
	if state != run.Parked {
		info.Reason = ""
	} else {
		id := r.pool.BuildID()
		info.Status, info.Expires, info.ImageBytes, info.GuestBuild = codemode.RunWaiting, r.Expires, r.ImageBytes, hex.EncodeToString(id[:])
		_, info.GuestEngine = r.pool.Engine()
	}
	return info, state < run.Ending
}
