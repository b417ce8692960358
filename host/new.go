package host

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/quoinhq/quoin/guestrt"
)

// newEngine makes an engine. start starts its workers.
func newEngine(ctx context.Context, settings Settings) *engine {
	e := &engine{
		settings:     settings,
		runs:         make(map[string]*run),
		parking:      make(chan struct{}),
		maxDelivered: maxDelivered,
		maxQueryTime: maxQueryTime,
		pipelines:    pipelines{call: callStages, query: queryStages, program: programStages},
	}
	e.life, e.end = context.WithCancel(context.WithoutCancel(ctx))
	e.callWorkers = newCallWorkers(e.life.Done(), func(j callJob) { j.run.perform(j.call, j.lost) })
	return e
}

// configure says what the engine is made of. It comes before start.
func (e *engine) configure(c engineConfig) {
	e.engineConfig = c
	e.meters = newMeters(c.quotas, c.maxWorkers, e.settings)
	e.approvalWatcher.approvals, e.approvalWatcher.log, e.approvalWatcher.guard = c.approvals, c.log, e.guard
}

// start starts the guest workers.
func (e *engine) start(ctx context.Context, guestPath string, prepared int) (err error) {
	e.pool, err = guestrt.NewPool(ctx, guestrt.Config{
		GuestPath: guestPath,
		Prepared:  prepared,
		Isolation: guestrt.Isolation(e.settings.Isolation),
		Logger:    e.log,
	})
	if err != nil {
		return err
	}
	return e.startPrevious()
}

// startPrevious finds the builds of Config.PreviousGuests.
func (e *engine) startPrevious() error {
	e.previous = map[string]*previousGuest{}
	for i, path := range e.previousGuests {
		id, err := guestrt.BuildOf(path)
		if err != nil {
			return fmt.Errorf("guest.previous[%d]: %w: name the quoin-guest of an earlier installation, or leave it out", i, err)
		}
		e.previous[hex.EncodeToString(id[:])] = &previousGuest{path: path, build: id}
	}
	return nil
}
