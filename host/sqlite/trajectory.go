package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/trajectory"
)

const (
	// sweepEvery and sweepAfter are after how much time, or how many new runs, trajectories are
	// swept.
	sweepEvery = 10 * time.Minute
	sweepAfter = 1000
	// maxRecorded bounds the runs that a process remembers. Sizes are read again.
	maxRecorded = 10_000
	// maxTrajectory bounds the events of a run that are read, in bytes.
	maxTrajectory = 64 << 20
	// maxListed bounds the runs that List returns.
	maxListed = 100
)

// Trajectory is a trajectory.Sink with a file of its own, which harms no run when it is full:
// trajectory.db. What was recorded is there when the process dies. It is safe for concurrent
// use, by several processes too.
type Trajectory struct {
	*file
	opt trajectory.DirOptions

	mu       sync.Mutex
	runs     map[string]*recorded
	created  int // runs since the last sweep
	swept    time.Time
	sweeping bool
	unswept  error // why the last sweep has left something
	done     sync.WaitGroup
}

var _ trajectory.Sink = (*Trajectory)(nil)

// recorded is what a process knows of the trajectory of a run.
type recorded struct {
	n      int64
	size   int64 // of its lines
	missed int   // events that no Gap counts yet
	full   bool
}

// Trajectory opens the trajectories next to the state. The caller closes it after the host that
// uses it.
func (d *DB) Trajectory(o trajectory.DirOptions) (*Trajectory, error) {
	f, err := d.openFile(eventsName, "trajectory", Options{times: d.times})
	if err != nil {
		return nil, fmt.Errorf("trajectories in %s: %w", d.dir, err)
	}
	return &Trajectory{file: f, opt: o.WithDefaults(), runs: map[string]*recorded{}}, nil
}

// Close waits for a sweep that is being made, and closes the file. The error says, too, why the last
// sweep has failed.
func (t *Trajectory) Close() error {
	t.done.Wait()
	return errors.Join(t.unswept, t.close())
}

// Record implements trajectory.Sink.
func (t *Trajectory) Record(e trajectory.Event) error {
	if err := checkID(e.RunID); err != nil {
		return err
	}
	line, err := trajectory.Encode(e)
	if err != nil {
		return err
	}
	lines, r, err := t.place(e, line)
	if err != nil || len(lines) == 0 {
		return err
	}
	size := 0
	for _, l := range lines {
		size += len(l)
	}
	return t.writeLazily(context.Background(), size, func(x *tx) error {
		for _, l := range lines {
			if _, err := x.exec(`INSERT INTO events (run, line) VALUES (?, ?)`, r.n, string(l)); err != nil {
				return err
			}
		}
		_, err := x.exec(`UPDATE runs SET bytes = bytes + ?, last = ? WHERE n = ?`, size, now(), r.n)
		return err
	})
}

// checkID refuses what is not the id of a run.
func checkID(runID string) error {
	if !sealedrow.IDs.MatchString(runID) {
		return fmt.Errorf("%w: run id %.80q, expected letters, digits, '_' and '-'", trajectory.ErrUnknownRun, runID)
	}
	return nil
}

// place returns the lines that are to be written for an event, with one before it that says how
// many events are missing. The event of a run that is full has no line.
func (t *Trajectory) place(e trajectory.Event, line []byte) (lines [][]byte, r *recorded, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, err = t.known(e); err != nil {
		return nil, nil, err
	}
	fits := r.size+int64(len(line)) <= t.opt.Limit(e.Kind)
	if !fits {
		r.missed++
	}
	// The first event that is missing is told at once, because the run may write no further
	// event. The others are told before the next event of the run itself.
	if r.missed > 0 && (fits && t.opt.Limit(e.Kind) > t.opt.MaxFileBytes || !fits && !r.full) {
		gap, err := trajectory.Encode(trajectory.Event{Kind: trajectory.Gap, Time: e.Time, RunID: e.RunID, Session: e.Session, ParentCallID: e.ParentCallID, Missed: r.missed})
		if err != nil {
			return nil, nil, err
		}
		lines, r.missed, r.full = append(lines, gap), 0, true
	}
	if fits {
		lines = append(lines, line)
	}
	for _, l := range lines {
		r.size += int64(len(l))
	}
	if e.Kind == trajectory.RunSuspended || e.Kind == trajectory.RunEnded {
		delete(t.runs, e.RunID)
	}
	return lines, r, nil
}

// known returns what is known of a run, and adds the run to the file. The caller holds mu.
func (t *Trajectory) known(e trajectory.Event) (*recorded, error) {
	if r := t.runs[e.RunID]; r != nil {
		return r, nil
	}
	session, err := sessionKey(e.Session)
	if err != nil {
		return nil, err
	}
	if len(t.runs) >= maxRecorded {
		clear(t.runs)
	}
	r, fresh := &recorded{}, false
	err = t.writeLazily(context.Background(), 0, func(x *tx) error {
		err := x.row(`SELECT n, bytes FROM runs WHERE run = ?`, []any{e.RunID}, &r.n, &r.size)
		if !isMissing(err) {
			return err
		}
		fresh = true
		return x.row(`INSERT INTO runs (run, session, last) VALUES (?, ?, ?) RETURNING n`, []any{e.RunID, session, now()}, &r.n)
	})
	if err != nil {
		return nil, err
	}
	t.runs[e.RunID] = r
	if fresh {
		t.created++
		t.maybeSweep()
	}
	return r, nil
}

// sessionKey finds the runs of a session.
func sessionKey(s codemode.Session) (string, error) {
	s.TurnID = ""
	b, err := json.Marshal(s)
	return string(b), err
}

// maybeSweep sweeps in the background once there is reason to. The caller holds mu.
func (t *Trajectory) maybeSweep() {
	if t.sweeping || time.Since(t.swept) < sweepEvery && t.created < sweepAfter {
		return
	}
	t.sweeping, t.created = true, 0
	t.done.Go(func() {
		err := t.Sweep(time.Now()) // the next sweep removes what this one cannot
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sweeping, t.swept, t.unswept = false, time.Now(), err
	})
}

// Sweep removes the trajectories beyond the bounds, those with the oldest last event first. A
// Trajectory does so by itself from time to time.
func (t *Trajectory) Sweep(at time.Time) error {
	for more := true; more; {
		err := t.writeLazily(context.Background(), maxWriteBytes, func(x *tx) error {
			old, err := x.superfluous(at, t.opt)
			for _, n := range old {
				for _, statement := range []string{`DELETE FROM events WHERE run = ?`, `DELETE FROM runs WHERE n = ?`} {
					if _, err := x.exec(statement, n); err != nil {
						return err
					}
				}
			}
			more = len(old) == sweepRows
			return err
		})
		if err != nil {
			return err
		}
	}
	return t.vacuum()
}

// superfluous returns some of the trajectories beyond the bounds.
func (t *tx) superfluous(at time.Time, o trajectory.DirOptions) (old []int64, err error) {
	err = t.rows(`SELECT n FROM (
			SELECT n, last, sum(bytes) OVER newest AS total, row_number() OVER newest AS place FROM runs WINDOW newest AS (ORDER BY last DESC, n DESC)
		) WHERE last < ? OR total > ? OR place > ? ORDER BY last, n LIMIT ?`, []any{micros(at.Add(-o.MaxAge)), o.MaxTotalBytes, o.MaxRuns, sweepRows},
		func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			old = append(old, n)
			return err
		})
	return old, err
}

// Read returns the trajectory of a run of that session. The turn of the agent does not count: a
// session may read what it did in earlier turns.
func (t *Trajectory) Read(s codemode.Session, runID string) (*trajectory.Run, error) {
	r, err := t.Find(runID)
	if err != nil {
		return nil, err
	}
	if !s.Owns(r.Session) {
		return nil, trajectory.ErrWrongSession
	}
	return r, nil
}

// Find is Read without a check of the session, for callers that may see all runs.
func (t *Trajectory) Find(runID string) (*trajectory.Run, error) {
	if err := checkID(runID); err != nil {
		return nil, err
	}
	var lines strings.Builder
	full := errors.New("enough")
	err := t.read(context.Background(), func(q querier) error {
		return q.rows(`SELECT line FROM events WHERE run = (SELECT n FROM runs WHERE run = ?) ORDER BY n`, []any{runID}, func(scan func(...any) error) error {
			var line string
			if err := scan(&line); err != nil {
				return err
			}
			if lines.WriteString(line); lines.Len() > maxTrajectory {
				return full
			}
			return nil
		})
	})
	switch {
	case err != nil && !errors.Is(err, full):
		return nil, err
	case lines.Len() == 0:
		return nil, fmt.Errorf("%w: %s", trajectory.ErrUnknownRun, runID)
	}
	return trajectory.Decode(strings.NewReader(lines.String()), runID)
}

// List returns summaries of the newest runs of a session, the newest first, at most 100. What
// cannot be read is left out.
func (t *Trajectory) List(s codemode.Session) (out []trajectory.Summary, err error) {
	session, err := sessionKey(s)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = t.read(context.Background(), func(q querier) error {
		return q.rows(`SELECT run FROM runs WHERE session = ? ORDER BY last DESC LIMIT ?`, []any{session, maxListed}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if r, err := t.Read(s, id); err == nil {
			out = append(out, r.Summary())
		}
	}
	slices.SortStableFunc(out, func(a, b trajectory.Summary) int { return b.Start.Compare(a.Start) })
	return out, nil
}

// importTrajectory adds a trajectory. Last is when its newest event was recorded.
func importTrajectory(t *tx, r *trajectory.Run, last time.Time) error {
	session, err := sessionKey(r.Session)
	if err != nil {
		return err
	}
	var n int64
	if err := t.row(`INSERT INTO runs (run, session, last) VALUES (?, ?, ?) RETURNING n`, []any{r.ID, session, micros(last)}, &n); err != nil {
		return err
	}
	for _, e := range r.Events {
		line, err := trajectory.Encode(e)
		if err == nil {
			_, err = t.exec(`INSERT INTO events (run, line) VALUES (?, ?)`, n, string(line))
		}
		if err != nil {
			return err
		}
	}
	_, err = t.exec(`UPDATE runs SET bytes = (SELECT coalesce(sum(length(line)), 0) FROM events WHERE run = ?1) WHERE n = ?1`, n)
	return err
}
