package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

const (
	// maxQueued bounds the events that wait for the database, in bytes.
	maxQueued = 16 << 20
	// maxBatch is the size from which a batch takes no more events, in bytes.
	maxBatch = 1 << 20
	// maxRecordedRuns bounds the runs that a host remembers. Sizes are learned again.
	maxRecordedRuns = 10_000
)

var _ trajectory.Sink = (*Trajectory)(nil)

// Trajectory is a trajectory.Sink that appends the events of one host to the trajectories
// in the database, which every host reads. Record does not wait for the database: events
// are appended in batches. Events that come while 16 MiB of them wait are refused, and
// the trajectory says how many are missing. Rows are sealed: one that was altered is left
// out, and counted as missing. It is safe for concurrent use.
type Trajectory struct {
	db     *conn
	opt    trajectory.DirOptions
	seal   *runstore.Sealer
	writer string // of the rows of this one, which numbers them
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // there are events
	now    chan struct{} // which are not to wait for more
	done   chan struct{}
	rows   int64 // numbers of the rows; of the writing goroutine

	mu      sync.Mutex
	queue   []queuedEvent
	bytes   int // of queue
	runs    map[string]*recordedRun
	refused map[string]trajectory.Event // the last event of each run that the full queue did not take, without bodies
	// recorded counts events that were queued, settled the queued events that were appended or
	// given up.
	recorded, settled uint64
	progress          chan struct{} // closed when settled has changed
	closed            bool
	failure           error // of the last batch
}

// queuedEvent is an event that waits for the database.
type queuedEvent struct {
	run     string
	session codemode.Session
	line    []byte
	at      time.Time // with the monotonic clock
}

// recordedRun is what a host knows of the trajectory of a run that executes on it.
type recordedRun struct {
	size   int64 // of its events, and of events of other hosts that are known
	missed int   // events that no Gap counts yet
	full   bool
}

// Trajectory returns what records the trajectories of this host's runs in the database, and
// reads the trajectories of all hosts. The bounds of o are for all of them together. Close it
// after the host, and before the DB.
func (d *DB) Trajectory(o trajectory.DirOptions) *Trajectory {
	t := &Trajectory{
		db: d.conn, opt: o.WithDefaults(), seal: d.Sealer("trajectories"), writer: rand.Text(),
		wake: make(chan struct{}, 1), now: make(chan struct{}, 1), done: make(chan struct{}),
		runs: make(map[string]*recordedRun), refused: make(map[string]trajectory.Event), progress: make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(d.ctx)
	d.done.Go(t.appendAll)
	return t
}

// Close appends what is left, for at most 5 s. The error says how many events the
// database has not taken.
func (t *Trajectory) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	signal(t.now)
	signal(t.wake)
	select {
	case <-t.done:
	case <-time.After(t.db.options.eventTimes.close):
	}
	t.cancel()
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.recorded - t.settled; left > 0 {
		return fmt.Errorf("%d events of runs were not recorded: %w", left, cmp.Or(t.failure, errClosed))
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Record implements trajectory.Sink.
func (t *Trajectory) Record(e trajectory.Event) error {
	if !sealedrow.IDs.MatchString(e.RunID) {
		return fmt.Errorf("%w: run id %.80q, expected letters, digits, '_' and '-'", trajectory.ErrUnknownRun, e.RunID)
	}
	line, err := trajectory.Encode(e)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	r := t.known(e.RunID)
	switch {
	case t.bytes+len(line) > maxQueued:
		r.missed++
		t.refused[e.RunID] = trajectory.Event{Kind: e.Kind, Time: e.Time, RunID: e.RunID, Session: e.Session, ParentCallID: e.ParentCallID}
		return fmt.Errorf("%d bytes of events wait for the database: %w", t.bytes, cmp.Or(t.failure, errors.New("it is slow")))
	case r.size+int64(len(line)) > t.opt.Limit(e.Kind):
		// The first is told at once, because the run may write no further event.
		if r.missed++; !r.full {
			r.full = true
			t.gap(e, r)
		}
	default:
		t.gap(e, r)
		t.put(e, line, r)
	}
	if e.Kind == trajectory.RunSuspended || e.Kind == trajectory.RunEnded {
		delete(t.runs, e.RunID)
		signal(t.now)
	}
	return nil
}

// known returns what is known of a run. The caller holds mu.
func (t *Trajectory) known(runID string) *recordedRun {
	r := t.runs[runID]
	if r == nil {
		if len(t.runs) >= maxRecordedRuns {
			clear(t.runs)
			clear(t.refused)
		}
		r = &recordedRun{}
		t.runs[runID] = r
	}
	return r
}

// gap says at this place how many events are missing. The caller holds mu.
func (t *Trajectory) gap(e trajectory.Event, r *recordedRun) {
	if r.missed == 0 {
		return
	}
	g := gapOf(e, r.missed)
	line, err := trajectory.Encode(g)
	if err != nil {
		return // a later event of the run tells
	}
	r.missed = 0
	delete(t.refused, e.RunID)
	t.put(g, line, r)
}

func gapOf(e trajectory.Event, missed int) trajectory.Event {
	return trajectory.Event{Kind: trajectory.Gap, Time: e.Time, RunID: e.RunID, Session: e.Session, ParentCallID: e.ParentCallID, Missed: missed}
}

func (t *Trajectory) put(e trajectory.Event, line []byte, r *recordedRun) {
	t.queue = append(t.queue, queuedEvent{e.RunID, e.Session, line, time.Now()})
	t.bytes += len(line)
	t.recorded++
	r.size += int64(len(line))
	signal(t.wake)
	if t.bytes >= maxBatch {
		signal(t.now)
	}
}

// appendAll appends events until the end.
func (t *Trajectory) appendAll() {
	defer close(t.done)
	var swept time.Time
	for {
		select {
		case <-t.wake:
		case <-t.ctx.Done():
			t.giveUp()
			return
		}
		select {
		case <-t.now:
		case <-time.After(t.db.options.eventTimes.linger):
		case <-t.ctx.Done():
		}
		for batch := t.take(); len(batch) > 0; batch = t.take() {
			if !t.append(batch) {
				t.giveUp()
				return
			}
		}
		if t.isClosed() {
			return
		}
		if time.Since(swept) >= t.db.options.eventTimes.sweep && !t.sweepOnce() { // else the next events are appended first
			swept = time.Now()
		}
	}
}

func (t *Trajectory) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed && len(t.queue) == 0
}

// giveUp logs what was not appended, because a DB that is closed tells it in no other way.
func (t *Trajectory) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if left := t.recorded - t.settled; left > 0 {
		t.db.log.Error("events of runs were not recorded", "events", left, "error", cmp.Or(t.failure, errClosed))
	}
}

// take takes a batch off the queue. What an event is missing after is told by the next
// event of its run, or here when no event follows.
func (t *Trajectory) take() []queuedEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, size := 0, 0
	for n < len(t.queue) && size < maxBatch {
		size += len(t.queue[n].line)
		n++
	}
	batch := t.queue[:n:n]
	t.queue, t.bytes = t.queue[n:], t.bytes-size
	if len(t.queue) > 0 {
		return batch
	}
	t.queue = nil
	for id, e := range t.refused {
		if r := t.runs[id]; r != nil {
			t.gap(e, r)
			if e.Kind == trajectory.RunEnded || e.Kind == trajectory.RunSuspended {
				delete(t.runs, id)
			}
		}
		delete(t.refused, id)
	}
	return batch
}

// sweepOnce makes one statement of a sweep, and reports whether there is more to remove.
func (t *Trajectory) sweepOnce() (more bool) {
	more, err := t.sweepBatch(t.ctx)
	if err != nil && t.ctx.Err() == nil {
		t.db.log.Warn("trajectories that are over were not removed", "error", err) // the next sweep tries again
	}
	return more
}

// Sweep removes the trajectories beyond the bounds, the ones with the oldest last event first.
// A Trajectory does so by itself from time to time.
func (t *Trajectory) Sweep(ctx context.Context) error {
	for {
		more, err := t.sweepBatch(ctx)
		if err != nil {
			return fmt.Errorf("database: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// sweepBatch removes some of them, and reports whether there are more. With an error there are
// not.
func (t *Trajectory) sweepBatch(ctx context.Context) (more bool, err error) {
	return t.db.batch(ctx, `
		WITH kept AS (
			SELECT run, last, bytes, sum(bytes) OVER newest AS total, row_number() OVER newest AS place
			FROM quoin.trajectories WINDOW newest AS (ORDER BY last DESC, run)
		), old AS (
			SELECT run, bytes, sum(bytes) OVER (ORDER BY last, run DESC) AS total FROM kept
			WHERE last < statement_timestamp() - $1::bigint * interval '1 second' OR total > $2 OR place > $3
			ORDER BY last, run DESC LIMIT $5
		), gone AS (
			DELETE FROM quoin.trajectories WHERE run IN (SELECT run FROM old WHERE total - bytes < $4) RETURNING run
		)
		SELECT (SELECT count(*) FROM old) = $5 OR (SELECT count(*) FROM gone) < (SELECT count(*) FROM old)`,
		int64(t.opt.MaxAge.Seconds()), t.opt.MaxTotalBytes, t.opt.MaxRuns, cmp.Or(t.db.options.sweepBytes, sweepBytes))
}
