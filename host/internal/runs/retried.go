package runs

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/journal"
)

// untilDone tries a step again and again, until it is done or the host ends. Then it is
// tried for the last time, under a context that has ended.
func (e *Engine) untilDone(step journal.Step) {
	e.background.Go(func() {
		for pause := e.Times.FirstRetry; ; pause = min(2*pause, e.Times.LongestRetry) {
			select {
			case <-time.After(pause):
			case <-e.life.Done():
			}
			done := true // a step that panics is not tried again
			e.guard(func() { done = step(e.life) })
			if done || e.life.Err() != nil {
				return
			}
		}
	})
}
