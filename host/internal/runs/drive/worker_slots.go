package drive

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// AwaitSlot waits for one of the host's worker slots, which sessions get in turns, until a
// time of the engine's clock or until leaves is closed. Why is what a session was refused a
// slot for.
func (e *Env) AwaitSlot(ctx context.Context, s codemode.Session, until time.Time, leaves <-chan struct{}) (why *quota.Denied, err error) {
	ticket := e.Meters.Workers.Queue(quota.OwnerOf(s))
	select {
	case <-ticket.Ready():
		return nil, nil
	default:
	}
	t := e.Clock.NewTimer(e.Clock.Until(until))
	defer t.Stop()
	select {
	case <-ticket.Ready():
		return nil, nil
	case <-t.C():
		err = ErrBusy
	case <-e.Parking:
		err = fault.ErrClosing
	case <-ctx.Done():
		err = ctx.Err()
	case <-leaves:
		err = ErrBusy
	}
	canceled, why := ticket.Cancel()
	if !canceled { // it came at the last moment
		e.Meters.Workers.Give(quota.OwnerOf(s), 1)
	}
	if why == nil || err != ErrBusy {
		return nil, err
	}
	e.ReportDenied(s, why)
	return why, err
}

// ErrBusy means that no worker came free in time.
var ErrBusy = errors.New("every guest worker is busy")
